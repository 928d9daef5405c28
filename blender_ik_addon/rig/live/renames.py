"""Renamed bones and new rest poses: a record of names and rest poses tells what has changed.

Blender updates the name of a bone in constraints, and reports the new name in no other way. It does
not report a new rest pose either. The record is stored with the settings that hold names and poses,
so undo, redo and files keep them in step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..reading.channels import read_floats

RenamedBones = dict[str, dict[str, str]]
"""Present names of renamed bones by their former names, by name of the armature."""

# Weights of a hash of 16 numbers: odd, of 64 bits, powers of the golden ratio's fraction.
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, i + 1, 2**64) for i in range(16)], np.uint64)


class _Bones(NamedTuple):
    """The bones of an armature.

    Attributes:
        names: Their names, in their order.
        rests: A hash of the rest pose of each.
        is_in_edit_mode: Whether the armature is in edit mode; its changes arrive when it ends.
    """

    names: list[str]
    rests: list[int]
    is_in_edit_mode: bool = False

    @property
    def pairs(self) -> list[tuple[str, int]]:
        """Name and hash of each bone."""
        return list(zip(self.names, self.rests, strict=True))


def record_bones(armatures: Iterable[bpy.types.Armature]) -> str:
    """Return the record of the present bones of armatures, as JSON."""
    return json.dumps({armature.name_full: _read(armature) for armature in armatures})


def find_renamed_bones(seen: str, present: str) -> RenamedBones:
    """Return the bones whose names differ between two records.

    Args:
        seen: The earlier record; armatures that it lacks, or that are not readable, are left out.
        present: The later record.
    """
    former, renamed = _bones_of_text(seen), {}
    for name, after in _bones_of_text(present).items():
        if name in former and (new_names := _find_new_names(former[name], after)):
            renamed[name] = new_names
    return renamed


def find_new_rests(seen: str, present: str, armature: str) -> frozenset[str]:
    """Return the bones that have another rest pose under the same name, but not by edit mode.

    Args:
        seen: As for ``find_renamed_bones``.
        present: The later record.
        armature: Full name of the armature of these bones.
    """
    before, after = (_bones_of_text(text).get(armature) for text in (seen, present))
    if before is None or after is None or before.is_in_edit_mode:
        return frozenset()
    former = dict(before.pairs)
    return frozenset([name for name, rest in after.pairs if former.get(name, rest) != rest])


def _read(armature: bpy.types.Armature) -> _Bones:
    bones = armature.bones
    # Adding zero removes the sign of zero: both signs are the same pose.
    rest = read_floats(bones, "matrix_local", 16).reshape(-1, 16) + np.float32(0.0)
    words: npt.NDArray[np.uint64] = rest.view(np.uint32).astype(np.uint64)
    rests = (words * _WEIGHTS).sum(axis=1, dtype=np.uint64).tolist()
    return _Bones(bones.keys(), rests, armature.is_editmode)


def _bones_of_text(text: str) -> dict[str, _Bones]:
    try:
        armatures = json.loads(text or "{}").items()
        return {name: _Bones(*row) for name, row in armatures}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _find_new_names(before: _Bones, after: _Bones) -> dict[str, str]:
    """Return the new names of bones by their former ones; in order if bones have one rest pose.

    A bone with the same name and rest pose as before is the same bone. A name that is gone meant
    the bone that has its rest pose now. If all names are in the same order, none has changed,
    whatever has moved the bones: a mirrored rig whose scale is applied exchanges its sides.
    """
    if before.names == after.names:
        return {}
    same = set(before.pairs).intersection(after.pairs)
    new_bones: dict[int, list[str]] = {}
    for name, rest in after.pairs:
        if (name, rest) not in same:
            new_bones.setdefault(rest, []).append(name)
    gone = [bone for bone in before.pairs if bone not in same]
    new_names = {name: new_bones[rest].pop(0) for name, rest in gone if new_bones.get(rest)}
    return _without_moved(new_names, set(after.names))


def _without_moved(new_names: dict[str, str], present: set[str]) -> dict[str, str]:
    """Return new names by former ones, without former names that still mean the same bone.

    A name that still exists means another bone only if that bone was renamed to it. Otherwise the
    bone of the name was moved, and another one now has its former rest pose.
    """
    while moved := new_names.keys() & (present - set(new_names.values())):
        new_names = {name: new for name, new in new_names.items() if name not in moved}
    return new_names
