"""Bones that were renamed: the names that settings have lead to the present ones.

Blender gives constraints the new name of a bone, and tells nobody else what became of the old one.
A bone of another name that rests exactly where one is missing is taken for that bone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..reading.channels import read_floats


class Bones(NamedTuple):
    """The n bones of an armature.

    Attributes:
        names: In the order of ``Armature.bones``.
        rest: Rest matrices in armature space, shape (n, 16).
    """

    names: list[str]
    rest: npt.NDArray[np.float32]


@dataclass
class Renames:
    """What bones are and were called, by session uid of the armature; ``clear`` on load.

    It outlives an undo: a step may hold settings that did not follow yet.

    Attributes:
        bones: As they were seen last.
        later: Names that came after those that are gone.
    """

    bones: dict[int, Bones] = field(default_factory=dict)
    later: dict[int, dict[str, str]] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        self.bones.clear()
        self.later.clear()

    def meet(self, armature: bpy.types.Armature) -> None:
        """Know an armature from now on."""
        if armature.session_uid not in self.bones:
            self.bones[armature.session_uid] = _read(armature)

    def look(self, depsgraph: bpy.types.Depsgraph) -> None:
        """Look at armatures that an evaluation has changed.

        Where a bone of one was renamed Blender lists all armature objects: their chains are read.
        """
        if not self.bones or not depsgraph.id_type_updated(id_type="ARMATURE"):
            return
        for update in depsgraph.updates:
            changed = update.id.original
            if isinstance(changed, bpy.types.Armature) and changed.session_uid in self.bones:
                self._look_at(changed)

    def present(self, armature: bpy.types.Armature, name: str) -> str:
        """Return what a bone is called now; the name itself where nothing is known of another."""
        later, found = self.later.get(armature.session_uid, {}), name
        while found in later:
            found = later[found]
        return found

    def _look_at(self, armature: bpy.types.Armature) -> None:
        uid = armature.session_uid
        before, after = self.bones[uid], _read(armature)
        self.bones[uid] = after
        if before.names == after.names:
            return
        known, present = self.later.get(uid, {}) | _renamed(before, after), set(after.names)
        # Neither does a name lead elsewhere that a bone has again, so none leads in a circle.
        self.later[uid] = {name: other for name, other in known.items() if name not in present}


def _read(armature: bpy.types.Armature) -> Bones:
    bones = armature.bones
    return Bones(bones.keys(), read_floats(bones, "matrix_local", 16).reshape(-1, 16))


def _renamed(before: Bones, after: Bones) -> dict[str, str]:
    """Return the new names of bones by those that are gone; of some at one place in their order."""
    known, present = set(before.names), set(after.names)
    come: dict[bytes, list[str]] = {}
    for name, rest in zip(*after, strict=True):
        if name not in known:
            come.setdefault(rest.tobytes(), []).append(name)
    gone = [
        (name, rest.tobytes()) for name, rest in zip(*before, strict=True) if name not in present
    ]
    return {name: come[rest].pop(0) for name, rest in gone if come.get(rest)}


renames = Renames()
