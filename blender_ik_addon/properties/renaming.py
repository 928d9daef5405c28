"""Updates of chains after bones were renamed, or after their pose has become their rest pose.

A new name is updated in tips, joints, stored poses, targets and poles, a new rest pose in stored
poses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, cast

import bpy

from ..rig.live.renames import RenamedBones, find_new_rests, find_renamed_bones, record_bones
from ..rig.planning.start_channels import find_bones_at_rest, with_rest_channels
from ..rig.planning.stored_text import bones_of_text, text_of_bones
from ..rig.reading.refusals import RigError
from .chains import ANCHORS, MAX_NAME_BYTES, NOT_KEYABLE, ChainGroup, chains_of, object_of, owner_of

UpdateCallback = Callable[[Any, bpy.types.Context], None]


def follow_listed(depsgraph: bpy.types.Depsgraph) -> None:
    """Update the chains of all armature objects that an evaluation has changed.

    If a bone of one of them was renamed, Blender lists them all.
    """
    if not depsgraph.id_type_updated(id_type="ARMATURE"):
        return
    for update in depsgraph.updates:
        changed = update.id.original
        if isinstance(changed, bpy.types.Object) and changed.type == "ARMATURE":
            follow_bones(changed)


def follow_bones(armature_object: bpy.types.Object) -> None:
    """Update the chains of an object after bones were renamed, or got their pose as rest pose.

    After a new name, the chains of all objects are updated. Otherwise objects of other scenes would
    lose a bone that is also moved before these scenes are shown.
    """
    if _follow(armature_object):
        for other in bpy.data.objects:
            _follow(other)


def _follow(armature_object: bpy.types.Object) -> bool:
    """Do for one object what ``follow_bones`` does; return whether bones were renamed."""
    group = armature_object.chain_ik
    if not armature_object.is_editable or armature_object.type != "ARMATURE":
        return False
    if not (group.chains or group.seen_bones):
        return False
    armature = cast(bpy.types.Armature, armature_object.data)
    chains = chains_of(armature_object)
    followed = (_armature(settings, target) for settings in chains for target, _ in ANCHORS)
    armatures = {data.name_full: data for data in (armature, *followed) if data is not None}
    # Without chains there is no bone name to update.
    present = record_bones(armatures.values()) if chains else ""
    if group.seen_bones == present:
        return False
    renamed = find_renamed_bones(group.seen_bones, present)
    applied = _find_applied_bones(armature_object, group.seen_bones, present)
    group.seen_bones = present
    new_names = renamed.get(armature.name_full, {})
    # Reading settings that were never set makes Blender store and copy them from then on.
    if new_names and group.body.root in new_names:
        _rename_root(group.body, chains, new_names)
    for settings in chains if renamed else ():
        _rename_in_chain(settings, new_names)
        _rename_in_anchors(settings, renamed)
    for settings in chains if applied else ():
        _apply_in_stored(settings, applied)
    return bool(renamed)


def bone_name_keywords(name: str, on_change: UpdateCallback) -> dict[str, Any]:
    """Return the keywords of a setting that a user or a script sets to the name of a bone.

    All other names are updated first. The name that has just been set is one of the present names.
    It is a setting of a chain or of one of its joints, and ``on_change`` then handles the new bone.
    """

    def update(settings: bpy.types.PropertyGroup, context: bpy.types.Context) -> None:
        bone = getattr(settings, name)
        follow_bones(owner_of(settings))
        if getattr(settings, name) != bone:
            setattr(settings, name, bone)
        on_change(settings, context)

    return NOT_KEYABLE | {"maxlen": MAX_NAME_BYTES, "update": update}


def _find_applied_bones(
    armature_object: bpy.types.Object, seen: str, present: str
) -> frozenset[str]:
    """Return the bones whose pose has become their rest pose, by *Apply Pose as Rest Pose*.

    Blender gives them another rest pose and resets their channels. It does so in pose mode only. If
    another object shares the armature, its bones get the rest pose, but keep their channels.
    """
    if armature_object.mode != "POSE":
        return frozenset()
    new_rests = find_new_rests(seen, present, armature_object.data.name_full)
    return new_rests and new_rests & find_bones_at_rest(armature_object)


def _apply_in_stored(settings: ChainGroup, applied: frozenset[str]) -> None:
    """Reset the stored pose of bones: it is part of the pose that has become their rest pose."""
    with suppress(RigError):
        stored = bones_of_text(settings.stored_pose)
        if not applied.isdisjoint([bone.name for bone in stored]):
            settings.stored_pose = text_of_bones(
                with_rest_channels(bone) if bone.name in applied else bone for bone in stored
            )


def _rename_root(
    body: bpy.types.PropertyGroup, chains: Sequence[ChainGroup], new_names: dict[str, str]
) -> None:
    # Otherwise all bones would get their stored pose back, as if the body had another root now.
    stored = [settings.stored_pose for settings in chains]
    for settings in chains:
        settings.stored_pose = ""
    if body.held_root in new_names:
        body.held_root = new_names[body.held_root]
    body.root = new_names[body.root]
    for settings, text in zip(chains, stored, strict=True):
        settings.stored_pose = text


def _rename_in_chain(settings: ChainGroup, new_names: dict[str, str]) -> None:
    stored = settings.stored_pose
    with suppress(RigError):
        bones = bones_of_text(stored)
        if any(bone.name in new_names for bone in bones):
            stored = text_of_bones(
                bone._replace(name=new_names.get(bone.name, bone.name)) for bone in bones
            )
    for joint in settings.joints:
        if joint.bone in new_names:
            joint.bone = new_names[joint.bone]
    if settings.bone in new_names:
        # Otherwise its bones would get their stored pose back, as if the chain drove others now.
        settings.stored_pose = ""
        settings.bone = new_names[settings.bone]
    if settings.stored_pose != stored:
        settings.stored_pose = stored


def _rename_in_anchors(settings: ChainGroup, renamed: RenamedBones) -> None:
    for target, subtarget in ANCHORS:
        followed = _armature(settings, target)
        new_names = {} if followed is None else renamed.get(followed.name_full, {})
        if (name := getattr(settings, subtarget)) in new_names:
            setattr(settings, subtarget, new_names[name])


def _armature(settings: ChainGroup, target: str) -> bpy.types.Armature | None:
    followed = object_of(settings, target)
    is_armature = followed is not None and followed.type == "ARMATURE"
    return cast(bpy.types.Armature, followed.data) if is_armature else None
