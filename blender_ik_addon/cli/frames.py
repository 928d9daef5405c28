"""Frames as they are written on the command line: ``1-250`` or ``10,20,30-40``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..rig.keying.baking import select_frames
from ..rig.keying.playing import MAX_FRAME

_PART = re.compile(r"\s*(-?\d+)(?:\s*-\s*(-?\d+))?\s*")


def frames_of(text: str) -> tuple[int, ...]:
    """Return the frames of a text in rising order, without repetitions.

    Raises:
        argparse.ArgumentTypeError: If a part of the text is no frame and no range.
    """
    frames: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise argparse.ArgumentTypeError(
                f"'{part}' is not a frame or a range: write 7, 1-250 or 10,20,30-40"
            )
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if first > last:
            raise argparse.ArgumentTypeError(f"{first} is after {last}: swap the two")
        if max(abs(first), abs(last)) > MAX_FRAME:
            raise argparse.ArgumentTypeError(
                f"'{part}' is too far: Blender's frames end at {MAX_FRAME}"
            )
        frames.update(range(first, last + 1))
    return tuple(sorted(frames))


def frame_list(frames: Iterable[int]) -> str:
    """Return frames in rising order as a short text that ``frames_of`` reads."""
    runs = select_frames(frames, 1)
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def in_words(frames: Sequence[int]) -> str:
    """Return frames as the beginning of a sentence."""
    name = "Frame" if len(frames) == 1 else "Frames"
    return f"{name} {frame_list(frames).replace(',', ', ')}"


def split(frames: Sequence[int], count: int) -> list[Sequence[int]]:
    """Split frames into parts of similar size: this number, or one for each frame if fewer."""
    count = min(count, len(frames))
    ends = [len(frames) * i // count for i in range(count + 1)]
    return [frames[a:b] for a, b in pairwise(ends)]
