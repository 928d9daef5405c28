"""Posed chains and trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.batch_record import BatchRecord

# Rounding of lengths by float32 matrices of parents, relative to the length of the chain.
LENGTH_ROUNDING = 1e-6


@dataclass(frozen=True)
class ChainPoses(BatchRecord):
    """Posed chains or trees.

    Attributes:
        rotations: Local rotation matrices, shape (B, k, 3, 3).
        frames: Frames that the local rotations act in, shape (B, k, 3, 3).
        matrices: Pose matrices, armature space, shape (B, k, 3, 3).
        joints: Heads of the bones that are solved together, and effectors, armature space,
            shape (B, n + E, 3).
        scale: Scale channels, shape (B, k, 3).
        slides: Distances that bones have slid, shape (B, k); None where no bone may slide.
    """

    rotations: Array
    frames: Array
    matrices: Array
    joints: Array
    scale: Array
    slides: Array | None = None


def interpolate_rotations(start: Array, end: Array, share: float | Array) -> Array:
    """Return rotation matrices (..., 3, 3) between others, as ``rotation.interpolate``."""
    if isinstance(share, float) and share == 1.0:
        return end
    one, other = rotation.quaternion_from_matrix(start), rotation.quaternion_from_matrix(end)
    return rotation.matrix_from_quaternion(rotation.interpolate(one, other, share))


def angles_between(one: Array, other: Array) -> Array:
    """Return the angles between rotations wxyz (..., 4), radians."""
    delta = rotation.multiply(rotation.conjugate(one), other)
    return 2.0 * np.arctan2(np.linalg.norm(delta[..., 1:], axis=-1), np.abs(delta[..., 0]))
