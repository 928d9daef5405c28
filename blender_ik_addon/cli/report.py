"""The report on the results of chains, as JSON, and its summary in words."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

import bpy

from .frames import in_words
from .rig_results import ChainResults, RigResults, is_reached

FORMAT = 1


def to_json(parts: Sequence[RigResults]) -> str:
    """Return the report on results at the same frames."""
    record = {
        "format": FORMAT,
        "file": bpy.data.filepath,
        "blender": bpy.app.version_string,
        "scene": bpy.context.scene.name,
        "frames": list(parts[0].frames),
        "all_reached": is_reached(parts),
        "chains": [_record(part.armature, chain) for part in parts for chain in part.chains],
    }
    return json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n"


def print_summary(
    verb: str, parts: Sequence[RigResults], frames: Sequence[int], place: object
) -> None:
    """Print a summary of a command to stderr.

    The verb is its first word, for example "Baked". ``place`` is the file that was written; None
    without one.
    """
    chains = [chain for part in parts for chain in part.chains]
    missed = sum(any(result.reached is False for result in chain.results) for chain in chains)
    counted = f"{len(chains)} chains" if len(chains) != 1 else "1 chain"
    when = in_words(frames)
    where = "" if place is None else f" into {place}"
    text = f"{verb} {counted} at {when[0].lower()}{when[1:]}{where}."
    if missed:
        text = f"{text} Chains that missed their targets: {missed} of {len(chains)}."
    print(text, file=sys.stderr, flush=True)


def _record(armature: str, chain: ChainResults) -> dict[str, Any]:
    clip = {} if chain.jumps is None else {"jumps": chain.jumps, "frame_by_frame": chain.left}
    return {
        "armature": armature,
        "chain": chain.name,
        "bones": chain.bones,
        **clip,
        "results": [dataclasses.asdict(result) for result in chain.results],
    }
