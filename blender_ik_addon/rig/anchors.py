"""Keep hidden targets evaluated: a muted constraint is the relation that a property cannot be.

A pointer property tells Blender's dependency graph nothing. A target that is hidden from viewports
or renders, or in an excluded collection, would not be evaluated there and its matrix would be
stale. A muted constraint with that target makes the graph evaluate it, and evaluate it before the
bone. The same relation has the whole pose evaluated whenever the target moves, once more than
needed, so what is shown everywhere gets none.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from .spec import Anchor

NAME = "Chain IK Anchor"


def keep_evaluated(armature_object: bpy.types.Object, wanted: Iterable[tuple[str, Anchor]]) -> bool:
    """Give bones an anchor for each of their hidden targets and remove all other anchors.

    Args:
        armature_object: The original object.
        wanted: Tip bone names and what their chains follow. Bones of the armature itself need no
            anchor; bones that do not exist get none.

    Returns:
        Whether anchors have come or gone.
    """
    if armature_object.pose is None:
        # No armature, or a new one: its first update asks again.
        return False
    missing = {
        (bone, anchor.object, anchor.bone)
        for bone, anchor in wanted
        if anchor.object != armature_object and is_hidden_somewhere(anchor.object)
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


def is_hidden_somewhere(followed: bpy.types.Object) -> bool:
    """Tell whether some view layer's viewport or render would not evaluate an object by itself.

    Hiding by the eye does not keep Blender from evaluating.
    """
    if followed.hide_viewport or followed.hide_render or not followed.users_scene:
        return True
    holders = {collection.session_uid for collection in followed.users_collection}
    return any(
        not _is_shown(view_layer.layer_collection, holders)
        for scene in followed.users_scene
        for view_layer in scene.view_layers
    )


def _is_shown(layer: bpy.types.LayerCollection, holders: set[int]) -> bool:
    """Tell whether any of some collections is shown in viewports and renders below a layer."""
    collection = layer.collection
    if layer.exclude or collection.hide_viewport or collection.hide_render:
        return False
    return collection.session_uid in holders or any(
        _is_shown(child, holders) for child in layer.children
    )
