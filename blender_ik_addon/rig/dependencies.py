"""Which bones move a thing: through parents, bone parents, constraints and drivers."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from .spec import Anchor

Point = tuple[int, str]
"""A bone: its armature object's session uid, and its name."""


def bones_moving_anchor(anchor: Anchor) -> Iterator[Point]:
    """Yield the bones that move a target or pole, itself included where it is a bone."""
    yield from _above_object(anchor.object, anchor.bone, set())


def bones_moving_chain(armature_object: bpy.types.Object, parent: str) -> Iterator[Point]:
    """Yield the bones that move a chain: those above its root, and those above its object.

    Args:
        armature_object: The chain's.
        parent: Name of the bone above the chain's root, empty without.
    """
    seen: set[object] = set()
    if parent:
        yield from _above_bone(armature_object, parent, seen)
    yield from _above_object(armature_object.parent, armature_object.parent_bone, seen)
    yield from _through_constraints(armature_object, seen)
    yield from _through_drivers(armature_object, seen)


def _above_object(owner: bpy.types.Object | None, bone: str, seen: set[object]) -> Iterator[Point]:
    while owner is not None:
        if owner.type == "ARMATURE" and bone:
            yield from _above_bone(owner, bone, seen)
        if owner.session_uid in seen:
            return
        seen.add(owner.session_uid)
        yield from _through_constraints(owner, seen)
        yield from _through_drivers(owner, seen)
        owner, bone = owner.parent, owner.parent_bone


def _above_bone(owner: bpy.types.Object, bone: str, seen: set[object]) -> Iterator[Point]:
    pose_bone = owner.pose.bones.get(bone)
    while pose_bone is not None:
        point = (owner.session_uid, pose_bone.name)
        if point in seen:
            return
        seen.add(point)
        yield point
        yield from _through_constraints(pose_bone, seen)
        pose_bone = pose_bone.parent


def _through_constraints(
    owner: bpy.types.Object | bpy.types.PoseBone, seen: set[object]
) -> Iterator[Point]:
    for constraint in owner.constraints:
        if constraint.mute:
            continue
        # The Armature constraint has a list of targets, all others have one or none.
        for holder in getattr(constraint, "targets", (constraint,)):
            target = getattr(holder, "target", None)
            if target is not None:
                yield from _above_object(target, getattr(holder, "subtarget", ""), seen)


def _through_drivers(owner: bpy.types.Object, seen: set[object]) -> Iterator[Point]:
    data = owner.animation_data
    for curve in data.drivers if data is not None else ():
        for variable in curve.driver.variables if not curve.mute else ():
            for source in variable.targets:
                if isinstance(source.id, bpy.types.Object):
                    yield from _above_object(source.id, source.bone_target, seen)
