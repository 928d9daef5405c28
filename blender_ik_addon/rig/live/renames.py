"""Bones that were renamed: a record of names and rest poses tells which bone a name meant.

Blender gives constraints the new name of a bone, and tells nobody else what became of the old one.
The record stands beside the settings that hold names, so undo, redo and files keep both in step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import bpy
import numpy as np
import numpy.typing as npt

from ..reading.channels import read_floats

Renamed = dict[str, dict[str, str]]
"""By name of the armature: the present names of bones that were renamed, by their former ones."""

# Sixteen odd numbers of 64 bits: powers of the golden ratio's fraction.
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, i + 1, 2**64) for i in range(16)], np.uint64)


_Bones = tuple[list[str], list[int]]
"""The names of an armature's bones in their order, and a number for each different rest pose."""


def seen_bones(armatures: Iterable[bpy.types.Armature]) -> str:
    """Return the record of the present bones of armatures, as JSON."""
    return json.dumps({armature.name_full: _read(armature) for armature in armatures})


def renamed_since(seen: str, present: str) -> Renamed:
    """Return the bones whose names differ between two records.

    Args:
        seen: The earlier record; armatures that it lacks, or that cannot be read, have nothing.
        present: The later one.
    """
    former, found = _bones_of_text(seen), {}
    for name, after in _bones_of_text(present).items():
        if name in former and (later := _renamed(former[name], after)):
            found[name] = later
    return found


def _read(armature: bpy.types.Armature) -> _Bones:
    bones = armature.bones
    # Zero has two signs, which are one pose.
    rest = read_floats(bones, "matrix_local", 16).reshape(-1, 16) + np.float32(0.0)
    words: npt.NDArray[np.uint64] = rest.view(np.uint32).astype(np.uint64)
    return bones.keys(), (words * _WEIGHTS).sum(axis=1, dtype=np.uint64).tolist()


def _bones_of_text(text: str) -> dict[str, _Bones]:
    try:
        known = json.loads(text or "{}").items()
        return {name: (names, rests) for name, (names, rests) in known}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _renamed(before: _Bones, after: _Bones) -> dict[str, str]:
    """Return the new names of bones by the former ones; of some at one place in their order.

    A bone that is called as before and rests as before is the same bone. A name that is gone means
    the bone that rests where its bone did. Names in the same order are those of the same bones,
    whatever has moved these: a mirrored rig whose scale is applied exchanges its sides.
    """
    if before[0] == after[0]:
        return {}
    same = set(zip(*before, strict=True)).intersection(zip(*after, strict=True))
    come: dict[int, list[str]] = {}
    for name, rest in zip(*after, strict=True):
        if (name, rest) not in same:
            come.setdefault(rest, []).append(name)
    gone = [bone for bone in zip(*before, strict=True) if bone not in same]
    found = {name: come[rest].pop(0) for name, rest in gone if come.get(rest)}
    return _without_moved(found, set(after[0]))


def _without_moved(found: dict[str, str], present: set[str]) -> dict[str, str]:
    """Return the renames without those of names that still mean their bones.

    A name that still exists means another bone only where that one has given up its own name. If
    not, the bone of that name was moved, and another one has come to its place.
    """
    while moved := found.keys() & (present - set(found.values())):
        found = {name: new for name, new in found.items() if name not in moved}
    return found
