"""Keep targets evaluated: a muted constraint is the relation that a property cannot be.

A pointer property tells Blender's dependency graph nothing. A target that is hidden, or in an
excluded collection, would not be evaluated and its matrix would be stale. A muted constraint with
that target makes the graph evaluate it, and evaluate it before the bone.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from .spec import Anchor

NAME = "Chain IK Anchor"


def keep_evaluated(armature_object: bpy.types.Object, wanted: Iterable[tuple[str, Anchor]]) -> None:
    """Give bones an anchor for each of their targets and remove all other anchors.

    Args:
        armature_object: The original object.
        wanted: Tip bone names and what their chains follow. Bones of the armature itself need no
            anchor; bones that do not exist get none.
    """
    missing = {
        (bone, anchor.object, anchor.bone)
        for bone, anchor in wanted
        if anchor.object != armature_object
    }
    for pose_bone in armature_object.pose.bones:
        for constraint in list(pose_bone.constraints):
            if not constraint.name.startswith(NAME):
                continue
            held = (pose_bone.name, constraint.target, constraint.subtarget)
            if held in missing:
                missing.remove(held)
            else:
                pose_bone.constraints.remove(constraint)
    for bone, target, subtarget in missing:
        pose_bone = armature_object.pose.bones.get(bone)
        if pose_bone is None:
            continue
        constraint = pose_bone.constraints.new("COPY_LOCATION")
        constraint.name = NAME
        constraint.mute = True
        constraint.target = target
        if subtarget:
            constraint.subtarget = subtarget
