"""What became of chains, as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import bpy

from .parts import ChainResults, Part, is_reached

FORMAT = 1


def text_of(parts: Sequence[Part]) -> str:
    """Return the report of what chains did at the same frames."""
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


def _record(armature: str, chain: ChainResults) -> dict[str, Any]:
    return {
        "armature": armature,
        "chain": chain.name,
        "bones": chain.bones,
        "results": [dataclasses.asdict(result) for result in chain.results],
    }
