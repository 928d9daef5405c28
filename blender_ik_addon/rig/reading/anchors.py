"""Anchors: muted constraints that keep hidden targets evaluated, as a property cannot.

Blender's dependency graph does not follow pointer properties. A target that is hidden from
viewports or renders, or in an excluded collection, would not be evaluated there, and its matrix
would be stale. A muted constraint with that target makes the graph evaluate it, before the bone.
The constraint is on the first bone of the chain: of a hidden rig Blender evaluates only bones that
something shown depends on. The same relation evaluates the whole pose whenever the target moves,
once more than needed, so objects that are shown everywhere get no anchor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import bpy

from .channels import read_flags, read_integers
from .spec import Anchor

NAME = "Chain IK Anchor"
SPACE = "Chain IK Space"
"""Prefix of the names of the constraints that give a control its space."""


def space_of(constraint: bpy.types.Constraint) -> Anchor | None:
    """Return the object or bone of a space; None if the object is gone. The bone may be gone."""
    owner: Any = constraint
    if constraint.type == "ARMATURE":
        owner = constraint.targets[0] if constraint.targets else None
    target = None if owner is None else owner.target
    # A control cannot move with its own armature: Blender has deleted the bone, and its name here.
    if target is None or (target == constraint.id_data and not owner.subtarget):
        return None
    return Anchor(target, owner.subtarget)


def keep_evaluated(
    armature_object: bpy.types.Object, targets: Iterable[tuple[str, Anchor]], shown: Collection[int]
) -> bool:
    """Keep one anchor on bones for each hidden target; return whether any was added or removed.

    The targets come with the first bones of their chains. Missing bones get no anchor, nor do
    objects in ``shown``, from ``shown_everywhere``.
    """
    if armature_object.pose is None:
        # Not an armature, or a new one: its first update calls this again.
        return False
    missing = {
        (bone, anchor.object, _existing_bone(anchor))
        for bone, anchor in targets
        if anchor.object.session_uid not in shown
        # The status names a target that was removed from all scenes.
        and anchor.object.users_scene
        # A rig that follows itself is refused.
        and (_existing_bone(anchor) or anchor.object != armature_object)
    }
    has_changed = False
    for pose_bone in armature_object.pose.bones:
        for constraint in list(pose_bone.constraints):
            if not constraint.name.startswith(NAME):
                continue
            key = (pose_bone.name, constraint.target, constraint.subtarget)
            if key in missing:
                missing.remove(key)
            else:
                pose_bone.constraints.remove(constraint)
                has_changed = True
    for bone, target, subtarget in missing:
        owner = armature_object.pose.bones.get(bone)
        if owner is None:
            continue
        constraint = owner.constraints.new("COPY_LOCATION")
        constraint.name = NAME
        constraint.mute = True
        constraint.target = target
        if subtarget:
            constraint.subtarget = subtarget
        has_changed = True
    return has_changed


def _existing_bone(anchor: Anchor) -> str:
    """Return the bone of a target; empty if it is gone: a graph reports constraints to it."""
    pose = anchor.object.pose
    return anchor.bone if pose is not None and anchor.bone in pose.bones else ""


def shown_everywhere() -> frozenset[int]:
    """Return the session uids of objects that viewports and renders of all their scenes evaluate.

    Blender also evaluates objects that are hidden by the eye.
    """
    present, missing = set[int](), set[int]()
    for scene in bpy.data.scenes:
        members = _uids(scene.objects)
        present.update(members)
        missing.update(_uids(scene.objects, "hide_viewport"), _uids(scene.objects, "hide_render"))
        for view_layer in scene.view_layers:
            covered = list(_list_shown(view_layer.layer_collection))
            if None in covered:
                shown = {uid for one in covered if one is not None for uid in _uids(one.objects)}
                missing.update(uid for uid in members if uid not in shown)
    return frozenset(present - missing)


def _list_shown(layer: bpy.types.LayerCollection) -> Iterator[bpy.types.Collection | None]:
    """Yield the collections below a layer that viewports and renders show; None for others."""
    collection = layer.collection
    if layer.exclude or collection.hide_viewport or collection.hide_render:
        yield None
        return
    yield collection
    for child in layer.children:
        yield from _list_shown(child)


def _uids(objects: Any, flag: str = "") -> list[int]:
    """Return the session uids of objects: of all, or of those with a flag."""
    uids = read_integers(objects, "session_uid")
    members: list[int] = (uids[read_flags(objects, flag)] if flag else uids).tolist()
    return members
