"""Frames as they are written on the command line: ``1-250`` or ``10,20,30-40``."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from ..rig.keying.baking import stepped

# What Blender can go to, MAXFRAME.
FARTHEST = 1_048_574
_PART = re.compile(r"\s*(-?\d+)(?:\s*-\s*(-?\d+))?\s*")


def frames_of(text: str) -> tuple[int, ...]:
    """Return the frames of a text in rising order, each once.

    Raises:
        argparse.ArgumentTypeError: If it names none.
    """
    found: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        if match is None:
            raise argparse.ArgumentTypeError(
                f"'{part}' is no frame and no range: write 7, 1-250 or 10,20,30-40"
            )
        first = int(match[1])
        last = first if match[2] is None else int(match[2])
        if first > last:
            raise argparse.ArgumentTypeError(f"{first} lies after {last}: swap the two")
        if max(abs(first), abs(last)) > FARTHEST:
            raise argparse.ArgumentTypeError(f"Blender's frames end at {FARTHEST}")
        found.update(range(first, last + 1))
    return tuple(sorted(found))


def text_of(frames: Iterable[int]) -> str:
    """Return frames in rising order as ``frames_of`` reads them, in few words."""
    runs = stepped(frames, 1)
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs)


def in_words(frames: Sequence[int]) -> str:
    """Return frames as a sentence begins with them."""
    name = "Frame" if len(frames) == 1 else "Frames"
    return f"{name} {text_of(frames).replace(',', ', ')}"


def split(frames: Sequence[int], count: int) -> list[Sequence[int]]:
    """Return frames in so many parts, or as many as there are frames, alike in size."""
    count = min(count, len(frames))
    ends = [len(frames) * i // count for i in range(count + 1)]
    return [frames[a:b] for a, b in pairwise(ends)]
