"""Symmetry of a character: mirroring at the middle plane of its armature, X = 0."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.world import array_of

MIRROR = np.diag((-1.0, 1.0, 1.0, 1.0))
# Tolerance of axes that mirror each other, in radians.
MAX_DEVIATION = 0.02


def is_mirrored(armature_object: bpy.types.Object, bone: str, other: str) -> bool:
    """Return whether the rest axes of two bones mirror each other."""
    bones = armature_object.data.bones
    matrix, other_matrix = (array_of(bones[name].matrix_local) for name in (bone, other))
    return bool(np.abs((_mirrored(matrix) - other_matrix)[:3, :3]).max() <= MAX_DEVIATION)


def mirrored_in_world(armature_object: bpy.types.Object, matrix: Array) -> Array:
    """Return the mirror image of a world matrix (4, 4), with its X axis reversed."""
    world = array_of(armature_object.matrix_world)
    return world @ _mirrored(np.linalg.inv(world) @ matrix)


def _mirrored(matrix: Array) -> Array:
    """Return the mirror image of a matrix (4, 4) in armature space, with its X axis reversed.

    These are the axes that Blender's *Symmetrize* gives to bones of the other side.
    """
    return MIRROR @ matrix @ MIRROR
