"""Edits of names: bones, objects and chains are renamed, there and back."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
from hypothesis import strategies as st

from tests.blender.edits.kinds.random_round_trips import round_trip
from tests.blender.edits.random_scene import (
    THING,
    any_object,
    armature,
    bone_of,
    chain_of,
    edit,
    enter,
)

TIMES = st.integers(1, 2)
MODES = st.sampled_from(("OBJECT", "POSE", "EDIT"))
MEANWHILE = st.sampled_from(("", "mute", "rest", "without target"))
LONG = "Renamed"


def named_bones(ob: bpy.types.Object) -> Iterator[tuple[bpy.types.bpy_struct, str]]:
    """Yield all that names a bone of the armature of an object: the owner and its property."""
    for other in bpy.data.objects:
        for chain in other.chain_ik.chains:
            if other.data == ob.data:
                yield chain, "bone"
                yield from ((joint, "bone") for joint in chain.joints)
            for end in ("target", "pole_target"):
                aim = getattr(chain, end)
                if aim is not None and aim.data == ob.data:
                    yield chain, f"{end.removesuffix('target')}subtarget"


def names_told(ob: bpy.types.Object) -> list[str]:
    """Return the names of bones of an object that chains tell, in order."""
    return [getattr(owner, name) for owner, name in named_bones(ob)]


def rename(ob: bpy.types.Object, former: str, name: str, mode: str) -> str:
    """Rename a bone in a mode, and return the name that it has got."""
    if mode == "EDIT":
        bone = ob.data.edit_bones[former]
    else:
        bone = ob.data.bones[former]
    bone.name = name
    found: str = bone.name
    return found


class NameEdits:
    """What is renamed keeps its chains, and chains keep what they name."""

    @edit(i=THING, bone=THING, times=TIMES, mode=MODES, meanwhile=MEANWHILE)
    def rename_bone_there_and_back(self, i, bone, times, mode, meanwhile):
        ob = armature(i)
        pose_bone = bone_of(ob, bone)
        if pose_bone is None or not ob.data.is_editable or not ob.is_editable:
            return
        former = pose_bone.name
        self.leave_modes()
        what = f"renaming bone '{former}' there and back {times} times in {mode}"
        with round_trip(what, is_given_back=meanwhile == "mute"):
            if not enter(ob, mode):
                return
            undo = begin(ob, meanwhile)
            for _ in range(times):
                self._rename(ob, former, LONG, mode)
                self._rename(ob, LONG, former, mode)
            undo()
            self.leave_modes()

    def _rename(self, ob, former, name, mode):
        """Rename a bone, update, and check that all that named it names it still."""
        told = names_told(ob)
        found = rename(ob, former, name, mode)
        assert found == name, f"{former} has become {found}"
        if mode == "EDIT":
            bpy.ops.object.mode_set(mode="POSE")
        bpy.context.view_layer.update()
        expected = [name if each == former else each for each in told]
        assert names_told(ob) == expected, (
            f"bone '{former}' renamed to '{name}': chains tell {names_told(ob)}, not {expected}"
        )
        if mode == "EDIT":
            bpy.ops.object.mode_set(mode="EDIT")

    @edit(i=THING, times=TIMES)
    def rename_object_there_and_back(self, i, times):
        ob = any_object(i)
        if ob is None or not ob.is_editable:
            return
        former = ob.name
        with round_trip(f"renaming object '{former}' there and back"):
            for _ in range(times):
                for name in (LONG, former):
                    ob.name = name
                    bpy.context.view_layer.update()

    @edit(i=THING, chain=THING, times=TIMES)
    def rename_chain_there_and_back(self, i, chain, times):
        settings = chain_of(armature(i), chain)
        if settings is None:
            return
        former = settings.name
        with round_trip(f"renaming chain '{former}' there and back"):
            for _ in range(times):
                for name in (LONG, former):
                    settings.name = name
                    bpy.context.view_layer.update()


def begin(ob: bpy.types.Object, meanwhile: str):
    """Begin what lasts while bones are renamed; return what ends it."""
    chains = list(ob.chain_ik.chains)
    if meanwhile == "rest":
        former, ob.data.pose_position = ob.data.pose_position, "REST"
        ending = [(ob.data, "pose_position", former)]
    elif meanwhile == "mute":
        ending = [(chain, "mute", chain.mute) for chain in chains]
        for chain in chains:
            chain.mute = True
    elif meanwhile == "without target":
        ending = [(chain, "target", chain.target) for chain in chains]
        for chain in chains:
            chain.target = None
    else:
        ending = []
    bpy.context.view_layer.update()

    def end() -> None:
        for owner, name, value in ending:
            setattr(owner, name, value)

    return end
