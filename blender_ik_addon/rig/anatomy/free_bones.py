"""Bones that chains may drive: those that nothing else rotates."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.algebra.arithmetic import Flags
from ..reading.anchors import SPACE
from ..reading.animation import driven_bones
from ..reading.skeleton import Skeleton

# Constraints that only limit a bone, and do not move it within the limits.
LIMITS = frozenset(("LIMIT_ROTATION", "LIMIT_LOCATION", "LIMIT_SCALE"))


def free_bones(armature_object: bpy.types.Object, skeleton: Skeleton) -> Flags:
    """Return which bones are rotated by no constraint and no driver, shape (n,)."""
    driven, bones = driven_bones(armature_object, "rotation"), armature_object.pose.bones
    return np.array(
        [
            name not in driven
            # A space carries a bone, but leaves its rotation free.
            and all(
                constraint.mute or constraint.type in LIMITS or constraint.name.startswith(SPACE)
                for constraint in bones[name].constraints
            )
            for name in skeleton.names
        ],
        dtype=bool,
    )
