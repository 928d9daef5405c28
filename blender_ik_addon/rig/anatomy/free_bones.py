"""Which bones chains may drive: those that nothing else turns."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.algebra.arithmetic import Flags
from ..reading.anchors import SPACE
from ..reading.animation import driven_paths
from ..reading.skeleton import Skeleton

# Constraints that keep a bone where it is within bounds, and do not take it anywhere.
BOUNDS = frozenset(("LIMIT_ROTATION", "LIMIT_LOCATION", "LIMIT_SCALE"))


def free_bones(armature_object: bpy.types.Object, skeleton: Skeleton) -> Flags:
    """Return which bones no constraint and no driver turns, shape (n,)."""
    driven = {name for name, prop in driven_paths(armature_object) if prop.startswith("rotation")}
    bones = armature_object.pose.bones
    return np.array(
        [
            name not in driven
            # A space only takes a bone along.
            and all(
                each.mute or each.type in BOUNDS or each.name.startswith(SPACE)
                for each in bones[name].constraints
            )
            for name in skeleton.names
        ],
        dtype=bool,
    )
