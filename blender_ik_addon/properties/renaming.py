"""Chains follow bones that were renamed: tips, and those that are targets and poles."""

from __future__ import annotations

from typing import cast

import bpy

from ..rig.live.renames import renames
from .chains import ChainGroup, chains_of, owner_of


def follow_renamed(armature_object: bpy.types.Object) -> None:
    """Give the chains of an object the present names of their bones."""
    for settings in chains_of(armature_object):
        _follow_tip(settings)
        for name in ("target", "pole_target"):
            _follow_anchor(settings, name, name.replace("target", "subtarget"))


def _follow_tip(settings: ChainGroup) -> None:
    bone = _present(owner_of(settings), settings.bone)
    if bone == settings.bone:
        return
    stored = settings.stored_pose
    # Else its bones were given their pose back, as if the chain took others now.
    settings.stored_pose = ""
    settings.bone, settings.stored_pose = bone, stored


def _follow_anchor(settings: ChainGroup, target: str, subtarget: str) -> None:
    # Reading a pointer that was never set has Blender store an empty one.
    followed = getattr(settings, target) if settings.is_property_set(target) else None
    if followed is None or followed.type != "ARMATURE":
        return
    former = getattr(settings, subtarget)
    bone = _present(followed, former)
    if bone != former:
        setattr(settings, subtarget, bone)


def _present(armature_object: bpy.types.Object, name: str) -> str:
    armature = cast(bpy.types.Armature, armature_object.data)
    renames.meet(armature)
    return renames.present(armature, name)
