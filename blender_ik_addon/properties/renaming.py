"""Chains follow bones that were renamed: by their tips, joints, stored poses, targets and poles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import bpy

from ..rig.live.renames import Renamed, renamed_since, seen_bones
from ..rig.planning.stored_text import bones_of_text, text_of_bones
from ..rig.reading.refusals import RigError
from .chains import ANCHORS, FIXED, LONGEST_NAME, ChainGroup, chains_of, object_of, owner_of

Update = Callable[[Any, bpy.types.Context], None]


def follow_listed(depsgraph: bpy.types.Depsgraph) -> None:
    """Follow with all armature objects that an evaluation has changed.

    Where a bone of one was renamed, Blender lists all of them.
    """
    if not depsgraph.id_type_updated(id_type="ARMATURE"):
        return
    for update in depsgraph.updates:
        changed = update.id.original
        if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
            follow_renamed(changed)


def follow_renamed(armature_object: bpy.types.Object) -> None:
    """Give the chains of an object the present names of their bones."""
    group = armature_object.chain_ik
    if not armature_object.is_editable or armature_object.type != "ARMATURE":
        return
    if not (group.chains or group.seen_bones):
        return
    own = cast(bpy.types.Armature, armature_object.data)
    chains = chains_of(armature_object)
    followed = (_armature(settings, target) for settings in chains for target, _ in ANCHORS)
    armatures = {each.name_full: each for each in (own, *followed) if each is not None}
    # Without chains there is no name whose meaning could be kept.
    present = seen_bones(armatures.values()) if chains else ""
    if group.seen_bones == present:
        return
    renamed = renamed_since(group.seen_bones, present)
    group.seen_bones = present
    later = renamed.get(own.name_full, {})
    # Reading settings that were never set has Blender store them, to be copied ever after.
    if later and group.body.root in later:
        _follow_root(group.body, chains, later)
    for settings in chains if renamed else ():
        _follow_own(settings, later)
        _follow_anchors(settings, renamed)


def naming(name: str, then: Update) -> dict[str, Any]:
    """Return what settings have in common that a person or a script gives the name of a bone.

    All other names follow first: the one that has just been set means a present bone.

    Args:
        name: Of the setting, of a chain or of one of its joints.
        then: What is to be done about the new bone.
    """

    def update(settings: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
        bone = getattr(settings, name)
        follow_renamed(owner_of(settings))
        if getattr(settings, name) != bone:
            setattr(settings, name, bone)
        then(settings, context)

    return FIXED | {"maxlen": LONGEST_NAME, "update": update}


def _follow_root(
    body: bpy.types.PropertyGroup, chains: Sequence[ChainGroup], later: dict[str, str]
) -> None:
    # Otherwise all bones were given their pose back, as if the body had another root now.
    stored = [settings.stored_pose for settings in chains]
    for settings in chains:
        settings.stored_pose = ""
    if body.held_root in later:
        body.held_root = later[body.held_root]
    body.root = later[body.root]
    for settings, text in zip(chains, stored, strict=True):
        settings.stored_pose = text


def _follow_own(settings: ChainGroup, later: dict[str, str]) -> None:
    stored = settings.stored_pose
    with suppress(RigError):
        bones = bones_of_text(stored)
        if any(bone.name in later for bone in bones):
            stored = text_of_bones(
                bone._replace(name=later.get(bone.name, bone.name)) for bone in bones
            )
    for joint in settings.joints:
        if joint.bone in later:
            joint.bone = later[joint.bone]
    if settings.bone in later:
        # Otherwise its bones were given their pose back, as if the chain took others now.
        settings.stored_pose = ""
        settings.bone = later[settings.bone]
    if settings.stored_pose != stored:
        settings.stored_pose = stored


def _follow_anchors(settings: ChainGroup, renamed: Renamed) -> None:
    for target, subtarget in ANCHORS:
        followed = _armature(settings, target)
        later = {} if followed is None else renamed.get(followed.name_full, {})
        if (name := getattr(settings, subtarget)) in later:
            setattr(settings, subtarget, later[name])


def _armature(settings: ChainGroup, target: str) -> bpy.types.Armature | None:
    followed = object_of(settings, target)
    is_armature = followed is not None and followed.type == "ARMATURE"
    return cast(bpy.types.Armature, followed.data) if is_armature else None
