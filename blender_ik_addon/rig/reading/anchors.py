"""Keep hidden targets evaluated: a muted constraint is the relation that a property cannot be.

A pointer property tells Blender's dependency graph nothing. A target that is hidden from viewports
or renders, or in an excluded collection, would not be evaluated there and its matrix would be
stale. A muted constraint with that target makes the graph evaluate it, and evaluate it before the
bone: the first one of the chain, as of a hidden rig only bones are evaluated that something shown
hangs on. The same relation has the whole pose evaluated whenever the target moves, once more than
needed, so what is shown everywhere gets none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import bpy

from .channels import read_flags, read_integers
from .spec import Anchor

NAME = "Chain IK Anchor"
SPACE = "Chain IK Space"
"""How the names of constraints begin by which a control goes along with something."""


def space_of(constraint: bpy.types.Constraint) -> Anchor | None:
    """Return what a space goes along with; None if that object is gone. The bone may be gone."""
    held: Any = constraint
    if constraint.type == "ARMATURE":
        held = constraint.targets[0] if constraint.targets else None
    target = None if held is None else held.target
    return None if target is None else Anchor(target, held.subtarget)


def keep_evaluated(
    armature_object: bpy.types.Object,
    wanted: Iterable[tuple[str, Anchor]],
    shown: Collection[int],
) -> bool:
    """Give bones an anchor for each of their hidden targets and remove all other anchors.

    Args:
        armature_object: The original object.
        wanted: First bones of chains and what these follow; bones that do not exist get no anchor.
        shown: Session uids of what needs none, as ``shown_everywhere`` tells.

    Returns:
        Whether anchors have come or gone.
    """
    if armature_object.pose is None:
        # No armature, or a new one: its first update asks again.
        return False
    missing = {
        (bone, anchor.object, anchor.bone)
        for bone, anchor in wanted
        if anchor.object.session_uid not in shown
        # A rig that follows itself is refused.
        and (anchor.bone or anchor.object != armature_object)
    }
    has_changed = False
    for pose_bone in armature_object.pose.bones:
        for constraint in list(pose_bone.constraints):
            if not constraint.name.startswith(NAME):
                continue
            held = (pose_bone.name, constraint.target, constraint.subtarget)
            if held in missing:
                missing.remove(held)
            else:
                pose_bone.constraints.remove(constraint)
                has_changed = True
    for bone, target, subtarget in missing:
        holder = armature_object.pose.bones.get(bone)
        if holder is None:
            continue
        constraint = holder.constraints.new("COPY_LOCATION")
        constraint.name = NAME
        constraint.mute = True
        constraint.target = target
        if subtarget:
            constraint.subtarget = subtarget
        has_changed = True
    return has_changed


def shown_everywhere() -> frozenset[int]:
    """Return the session uids of objects that viewports and renders of all their scenes evaluate.

    Hiding by the eye does not keep Blender from evaluating.
    """
    present, missing = set[int](), set[int]()
    for scene in bpy.data.scenes:
        members = _uids(scene.objects)
        present.update(members)
        missing.update(_uids(scene.objects, "hide_viewport"), _uids(scene.objects, "hide_render"))
        for view_layer in scene.view_layers:
            covered = list(_shown(view_layer.layer_collection))
            if None in covered:
                shown = {uid for each in covered if each is not None for uid in _uids(each.objects)}
                missing.update(uid for uid in members if uid not in shown)
    return frozenset(present - missing)


def _shown(layer: bpy.types.LayerCollection) -> Iterator[bpy.types.Collection | None]:
    """Yield the collections that viewports and renders show below a layer; None for others."""
    collection = layer.collection
    if layer.exclude or collection.hide_viewport or collection.hide_render:
        yield None
        return
    yield collection
    for child in layer.children:
        yield from _shown(child)


def _uids(objects: Any, flag: str = "") -> list[int]:
    """Return the session uids of objects, all or those that have a flag."""
    uids = read_integers(objects, "session_uid")
    found: list[int] = (uids[read_flags(objects, flag)] if flag else uids).tolist()
    return found
