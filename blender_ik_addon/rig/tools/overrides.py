"""Library overrides: items of the library, settings that are saved, and poses that are given back.

Blender saves the solved pose with an override, but its stored pose only where it differs from the
library's. If the library gives bones back, because it mutes, shortens or removes a chain, the
override would keep the solved pose of the frame at which it was saved. So it records the bones.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import bpy

from ..keying.library_changes import is_override, override_depth, reference_of
from ..planning.known_skeletons import skeleton_of
from ..planning.start_channels import UnsolvedChannels, stored_bone
from ..planning.stored_text import bones_of_text, stored_by_name, text_of_bones
from ..reading.channels import read_pose
from ..reading.refusals import RigError
from ..reading.spec import StoredBone
from .restoring import restore_pose


def has_linked(armature_object: bpy.types.Object, items: Any, indices: Iterable[int]) -> bool:
    """Return whether any of the items at indices of a collection come from the library.

    Blender has no property for that. Names can be changed here, the library may get more items, and
    the override lists some linked items as inserted. But only local items can be moved, so each
    item is moved to a new last place and back. References to items are invalid afterwards.
    """
    if armature_object.override_library is None:
        return False
    items.add()
    last = len(items) - 1
    try:
        for index in indices:
            items.move(index, last)
            items.move(last, index)
    except TypeError:
        return True
    finally:
        items.remove(last)
    return False


def create_setting_groups(owner: bpy.types.Object) -> None:
    """Create all groups of settings of an override, so that Blender saves its changes correctly.

    To be called before each save. If only the override or only the library's object has used a
    group, 5.2 saves it as replaced as a whole, cannot read that again and reports an error. Reading
    a group creates it. Other original objects are ignored.
    """
    library = owner.override_library
    if library is not None and library.reference is not None:
        for settings in (owner.chain_ik, library.reference.chain_ik):
            _groups = (settings.body, *(chain.force for chain in settings.chains))


def record_poses(objects: Iterable[bpy.types.Object]) -> None:
    """Record the bones that chains of overrides have stored, and their library's chains as well.

    The record has two texts: the stored poses that differ from the library's, and the others.
    Objects that are no overrides any more lose it.
    """
    objects = list(objects)
    for owner in objects:
        if owner.library is None and owner.override_library is None and owner.chain_ik.seen_poses:
            owner.chain_ik.property_unset("seen_poses")
    for owner, reference in _local_overrides(objects):
        with suppress(RigError):
            library = _stored_in(reference)
            shared = [bone for bone in _stored_in(owner).values() if bone.name in library]
            own = [bone for bone in shared if bone != library[bone.name]]
            others = [bone for bone in shared if bone == library[bone.name]]
            texts = [text_of_bones(own), text_of_bones(others)]
            record = json.dumps([override_depth(owner), *texts]) if shared else ""
            if owner.chain_ik.seen_poses != record:
                owner.chain_ik.seen_poses = record


def give_back_poses(objects: Iterable[bpy.types.Object], frame: float) -> None:
    """Give recorded bones of overrides back whose stored pose the library has no more.

    They get the recorded pose if it differed from the library's, otherwise that of the library's
    object. Bones that the override alone has given back keep their pose.

    Args:
        objects: Objects, also those that are no overrides.
        frame: The present frame, with subframe, for bones with keys.
    """
    for owner, reference in _local_overrides(objects):
        with suppress(RigError):
            if bones := _find_released(owner, reference):
                restore_pose(UnsolvedChannels(owner, frame), bones)
                owner.update_tag()


def _local_overrides(
    objects: Iterable[bpy.types.Object],
) -> Iterator[tuple[bpy.types.Object, bpy.types.Object]]:
    """Yield the overrides of armatures that can be posed, with the library's objects."""
    for owner in filter(is_override, objects):
        reference = _reference(owner)
        if owner.library is None and reference is not None:
            yield owner, reference


def _reference(owner: bpy.types.Object) -> bpy.types.Object | None:
    """Return the library's object of an override; None for other objects, and if it is missing."""
    reference = reference_of(owner)
    # Blender puts an object without a pose in the place of a missing one.
    if isinstance(reference, bpy.types.Object) and reference.pose is not None:
        return reference
    return None


def _stored_in(*owners: bpy.types.Object) -> dict[str, StoredBone]:
    chains = [chain for owner in owners for chain in owner.chain_ik.chains]
    return stored_by_name([chain.stored_pose for chain in chains])


def _find_released(owner: bpy.types.Object, reference: bpy.types.Object) -> tuple[StoredBone, ...]:
    """Return the recorded bones of an override that are stored no more, with their new channels."""
    own, others = _read_record(owner)
    if not (own or others):
        return ()
    known = _stored_in(reference, owner)
    bones = [_without(bone, known.get(bone.name)) for bone in (*own, *_posed(others, reference))]
    return tuple([bone for bone in bones if bone.rotation or bone.scale or bone.location])


def _read_record(owner: bpy.types.Object) -> tuple[tuple[StoredBone, ...], tuple[StoredBone, ...]]:
    """Return the recorded bones: those with a pose of their own, and the others."""
    try:
        depth, own, others = json.loads(owner.chain_ik.seen_poses)
        bones = bones_of_text(own), bones_of_text(others)
    except (ValueError, TypeError, RecursionError, RigError):
        return (), ()
    return bones if depth == override_depth(owner) else ((), ())


def _posed(bones: Iterable[StoredBone], armature_object: bpy.types.Object) -> list[StoredBone]:
    """Return bones with the channels that they have in an object, without those that it lacks."""
    pose, skeleton = read_pose(armature_object), skeleton_of(armature_object)
    below = _reference(armature_object)
    # If the object itself is a linked override, it still has the solved pose.
    bones_of_below = () if below is None else _find_released(armature_object, below)
    released = {bone.name: bone for bone in bones_of_below}
    return [
        released.get(bone.name)
        or stored_bone(
            pose,
            skeleton,
            skeleton.index[bone.name],
            has_scale=bool(bone.scale),
            has_location=bool(bone.location),
            is_dragged=bone.is_dragged,
        )
        for bone in bones
        if bone.name in skeleton.index
    ]


def _without(bone: StoredBone, known: StoredBone | None) -> StoredBone:
    """Return a bone without the channels that are known."""
    if known is None:
        return bone
    scale, location = [() if known.scale else bone.scale, () if known.location else bone.location]
    return bone._replace(rotation=(), scale=scale, location=location)
