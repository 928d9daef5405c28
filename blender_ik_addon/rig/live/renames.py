"""Renamed bones and new rest poses: a record of names and rest poses tells what has changed.

Blender updates the name of a bone in constraints, and reports the new name in no other way. It does
not report a new rest pose either. The record is stored with the settings that hold names and poses,
so undo, redo and files keep them in step.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..reading.channels import read_floats

RenamedBones = dict[str, dict[str, str]]
"""Present names of renamed bones by their former names, by name of the armature."""

# The end of edit mode computes rest poses again through their parents, with other roundings: axes
# of 250 bones turn by 2e-5, heads move by 5e-7 of the size. Ten times larger, another bone passes
# for a missing one that was beside it.
MAX_ROUNDING_OF_AXES = 1e-3
MAX_ROUNDING_OF_HEADS = 1e-5
"""As a share of the largest coordinate of the armature."""

Rests = npt.NDArray[np.float32]


class _Bones(NamedTuple):
    """The bones of an armature.

    Attributes:
        names: Their names, in their order.
        rests: X, Y and Z axis and head of each in armature space, shape (n, 4, 3).
        is_in_edit_mode: Whether the armature is in edit mode; its changes arrive when it ends.
    """

    names: list[str]
    rests: Rests
    is_in_edit_mode: bool

    @property
    def by_name(self) -> dict[str, Rests]:
        """The rest pose of each bone, shape (4, 3)."""
        return dict(zip(self.names, self.rests, strict=True))


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
    former = before.by_name
    rests = after.by_name.items()
    return frozenset([name for name, rest in rests if (former.get(name, rest) != rest).any()])


def _read(armature: bpy.types.Armature) -> tuple[list[str], str, bool]:
    rests = read_floats(armature.bones, "matrix_local", 16).reshape(-1, 4, 4)[:, :, :3]
    return armature.bones.keys(), b64encode(rests.tobytes()).decode(), armature.is_editmode


def _bones_of_text(text: str) -> dict[str, _Bones]:
    try:
        armatures = json.loads(text or "{}").items()
        return {
            name: _Bones(
                names,
                np.frombuffer(b64decode(rests), np.float32).reshape(len(names), 4, 3),
                is_in_edit_mode,
            )
            for name, (names, rests, is_in_edit_mode) in armatures
        }
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _find_new_names(before: _Bones, after: _Bones) -> dict[str, str]:
    """Return the new names of bones by their former ones; in order if bones have one rest pose.

    A bone with the same name and rest pose as before, up to rounding, is the same bone. A name that
    is gone meant the bone that has its rest pose now. If all names are in the same order, none has
    changed, whatever has moved the bones: a mirrored rig whose scale is applied exchanges its
    sides.
    """
    if before.names == after.names:
        return {}
    former, present = before.by_name, after.by_name
    size = max(float(np.abs(rests[:, 3]).max(initial=0)) for rests in (before.rests, after.rests))
    max_rounding = np.array([[MAX_ROUNDING_OF_AXES]] * 3 + [[MAX_ROUNDING_OF_HEADS * size]])
    same = {
        name
        for name in former.keys() & present.keys()
        if (np.abs(former[name] - present[name]) <= max_rounding).all()
    }
    candidates = [name for name in after.names if name not in same]
    rests = np.array([present[name] for name in candidates]).reshape(-1, 4, 3)
    new_names: dict[str, str] = {}
    for name in [name for name in before.names if name not in same]:
        is_near = (np.abs(rests - former[name]) <= max_rounding).all(axis=(1, 2))
        if (rows := np.flatnonzero(is_near)).size:
            new_names[name] = candidates[rows[0]]
            rests[rows[0]] = np.nan  # No other bone was renamed to it.
    # A name that still exists means another bone only if that bone was renamed to it. Otherwise the
    # bone of the name was moved, and another one now has its former rest pose.
    while moved := new_names.keys() & (present.keys() - set(new_names.values())):
        new_names = {name: new for name, new in new_names.items() if name not in moved}
    return new_names
