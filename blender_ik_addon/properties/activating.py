"""Clicking a bone makes its chain the active one."""

from __future__ import annotations

from typing import cast

import bpy

from ..rig.reading.spec import Anchor
from .chains import ObjectGroup, chains_of
from .records import anchors_of, bones_of_chain


def activate_chain_of(armature_object: bpy.types.Object, bone: str) -> None:
    """Make a chain the active one that a bone belongs to, unless the active one is such a chain.

    A control belongs to the chain that follows it, before the chain that poses it.

    Args:
        armature_object: The original object.
        bone: Name of one of its bones.
    """
    chains = chains_of(armature_object)
    control = Anchor(armature_object, bone)
    found = [i for i, each in enumerate(chains) if control in anchors_of(each)]
    found = found or [i for i, each in enumerate(chains) if bone in bones_of_chain(each)]
    holder = cast("ObjectGroup", armature_object.chain_ik)
    if found and holder.active_index not in found:
        holder.active_index = found[0]
