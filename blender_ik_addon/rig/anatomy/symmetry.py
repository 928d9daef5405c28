"""The other side of a character: what is mirrored at the middle plane of its armature, X = 0."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.spec import Anchor

MIRROR = np.diag((-1.0, 1.0, 1.0, 1.0))
# How far axes may be off each other's mirror image, radians.
MOST_OFF = 0.02


def is_mirrored(armature_object: bpy.types.Object, bone: str, other: str) -> bool:
    """Tell whether the axes of two bones at rest are each other's mirror image."""
    bones = armature_object.data.bones
    own, across = (np.array(bones[name].matrix_local, dtype=np.float64) for name in (bone, other))
    return bool(np.abs((_mirrored(own) - across)[:3, :3]).max() <= MOST_OFF)


def mirrored_place(armature_object: bpy.types.Object, anchor: Anchor) -> Array:
    """Return where an object or a bone is on the other side, world space, shape (4, 4)."""
    place = np.array(anchor.object.matrix_world, dtype=np.float64)
    if anchor.bone:
        place = place @ np.array(anchor.object.pose.bones[anchor.bone].matrix, dtype=np.float64)
    return mirrored_in_world(armature_object, place)


def mirrored_in_world(armature_object: bpy.types.Object, matrix: Array) -> Array:
    """Return a world matrix (4, 4) on the other side, its X axis turned round."""
    world = np.array(armature_object.matrix_world, dtype=np.float64)
    return world @ _mirrored(np.linalg.inv(world) @ matrix)


def _mirrored(matrix: Array) -> Array:
    """Return a matrix (4, 4) of armature space on the other side, its X axis turned round.

    So the bones of both sides have them that Blender's *Symmetrize* makes.
    """
    return MIRROR @ matrix @ MIRROR
