"""The other side of a character: what is mirrored at the middle plane of its armature, X = 0."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.spec import Anchor
from ..reading.world import array_of, matrix_of

MIRROR = np.diag((-1.0, 1.0, 1.0, 1.0))
# How far axes may be off each other's mirror image, radians.
MOST_OFF = 0.02


def is_mirrored(armature_object: bpy.types.Object, bone: str, other: str) -> bool:
    """Return whether the axes of two bones at rest are each other's mirror image."""
    bones = armature_object.data.bones
    own, across = (array_of(bones[name].matrix_local) for name in (bone, other))
    return bool(np.abs((_mirrored(own) - across)[:3, :3]).max() <= MOST_OFF)


def mirrored_place(armature_object: bpy.types.Object, anchor: Anchor) -> Array:
    """Return where an object or a bone is on the other side, world space, shape (4, 4)."""
    return mirrored_in_world(armature_object, matrix_of(anchor))


def mirrored_in_world(armature_object: bpy.types.Object, matrix: Array) -> Array:
    """Return a world matrix (4, 4) on the other side, its X axis turned round."""
    world = array_of(armature_object.matrix_world)
    return world @ _mirrored(np.linalg.inv(world) @ matrix)


def _mirrored(matrix: Array) -> Array:
    """Return a matrix (4, 4) of armature space on the other side, its X axis turned round.

    So the bones of both sides have them that Blender's *Symmetrize* makes.
    """
    return MIRROR @ matrix @ MIRROR
