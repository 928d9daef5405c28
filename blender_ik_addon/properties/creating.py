"""New chains: settings from a record."""

from __future__ import annotations

from typing import cast

import bpy

from ..rig.reading.spec import Anchor, ChainSpec
from ..rig.tools.control_bones import is_control_bone
from .chains import ChainGroup, ObjectGroup, chains_of
from .records import anchors_of
from .sharing import shares_bones


def add_chain(
    armature_object: bpy.types.Object, wanted: ChainSpec, bone_count: int, solver: str = ""
) -> ChainGroup:
    """Add a chain to an armature object, the active one from now on, and return its settings.

    Its stored pose is still to be taken.

    Args:
        armature_object: The original object.
        wanted: Name, bones, rotation, target and pole.
        bone_count: How many bones bend.
        solver: Identifier of the solver; empty for Two-Bone where it fits, else Newton.
    """
    holder = cast("ObjectGroup", armature_object.chain_ik)
    settings: ChainGroup = holder.chains.add()
    holder.active_index = len(holder.chains) - 1
    settings.name = wanted.name
    settings.use_tail = wanted.use_tail
    settings.use_rotation = wanted.use_rotation
    settings.rotation_bone = wanted.rotation_bone
    settings.chain_count = wanted.chain_count
    settings.bone = wanted.bone
    if not solver:
        solver = "TWO_BONE" if bone_count == 2 and not shares_bones(settings) else "NEWTON"
    settings.solver = solver
    for anchor, name, bone in (
        (wanted.target, "target", "subtarget"),
        (wanted.pole, "pole_target", "pole_subtarget"),
    ):
        if anchor is not None:
            setattr(settings, name, anchor.object)
            setattr(settings, bone, anchor.bone)
    return settings


def own_controls(settings: ChainGroup) -> list[Anchor]:
    """Return the target and the pole of a chain that were made for it and that no other follows."""
    shared = [
        anchor
        for owner in bpy.data.objects
        if owner.type == "ARMATURE"
        for chain in chains_of(owner)
        if chain != settings
        for anchor in anchors_of(chain)
    ]
    return [each for each in anchors_of(settings) if each not in shared and _is_control(each)]


def _is_control(anchor: Anchor) -> bool:
    return is_control_bone(anchor) if anchor.bone else bool(anchor.object.chain_ik.is_control)
