"""The joints that bones have by their own settings: locks, limits, stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from ...core import JointKind
from ...core.algebra import rotation
from ...core.kinematics.joint_limits import clamp_rotations

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

AXES = "xyz"
# Blender's own solver never lets a bone be stiffer than this.
MOST_STIFFNESS = 0.99
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])
# By which axes are free, X first.
KINDS = {
    (True, True, True): JointKind.BALL,
    (True, False, True): JointKind.SWING,
    (True, True, False): JointKind.ELBOW_X,
    (False, True, True): JointKind.ELBOW_Z,
    (True, False, False): JointKind.HINGE_X,
    (False, True, False): JointKind.HINGE_Y,
    (False, False, True): JointKind.HINGE_Z,
    (False, False, False): JointKind.FIXED,
}


@dataclass(frozen=True)
class BoneJoints:
    """The joints of n bones.

    Attributes:
        is_locked: About X, Y and Z, shape (n, 3).
        low: Least turns in radians, -inf for no limit, shape (n, 3).
        high: Greatest turns, shape (n, 3).
        stiffness: From 0 to 0.99, shape (n, 3).
        zero_wxyz: The local rotations that count as no turn, shape (n, 4); None for rest.
        slides: Least and greatest slides along the bones' Y axes at rest, in the unit of their
            location channels, shape (n, 2); None for none.
    """

    is_locked: npt.NDArray[np.bool_]
    low: Array
    high: Array
    stiffness: Array
    zero_wxyz: Array | None = None
    slides: Array | None = None

    @cached_property
    def is_free(self) -> bool:
        """Tell whether all of the bones turn as if they had no joints, and none slides."""
        has_limit = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        has_own = bool(self.is_locked.any() or self.stiffness.any() or self.slides is not None)
        return not (has_limit or has_own)

    def turns_of(self, local_wxyz: Array) -> Array:
        """Return the turns (..., n, 4) of joints that local rotations (..., n, 4) make."""
        if self.zero_wxyz is None:
            return local_wxyz
        return rotation.multiply(rotation.conjugate(self.zero_wxyz), local_wxyz)

    def local_of(self, turns_wxyz: Array) -> Array:
        """Return the local rotations (..., n, 4) that turns of joints (..., n, 4) make."""
        if self.zero_wxyz is None:
            return turns_wxyz
        return rotation.multiply(self.zero_wxyz, turns_wxyz)

    def take(self, bones: Indices | slice) -> BoneJoints:
        """Return the joints of some of the bones."""
        return BoneJoints(
            self.is_locked[bones],
            self.low[bones],
            self.high[bones],
            self.stiffness[bones],
            None if self.zero_wxyz is None else self.zero_wxyz[bones],
            None if self.slides is None else self.slides[bones],
        )

    def clamped(self, rotations: Array) -> Array:
        """Return local rotation matrices (n, 3, 3) brought inside the ranges of the joints."""
        turned = self.turns_of(rotation.quaternion_from_matrix(rotations))
        held = clamp_rotations(self.kinds, turned, self.low, self.high)
        return rotation.matrix_from_quaternion(self.local_of(held))

    @property
    def kinds(self) -> tuple[JointKind, ...]:
        """Return what each joint is."""
        return tuple(KINDS[tuple(free)] for free in (~self.is_locked).tolist())

    def is_same(self, other: BoneJoints | None) -> bool:
        """Tell whether another record says the same."""
        return other is not None and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in vars(self)
        )


def free_bones(count: int) -> BoneJoints:
    """Return joints of so many bones that all turn freely."""
    return BoneJoints(
        is_locked=np.zeros((count, 3), dtype=np.bool_),
        low=np.full((count, 3), -np.inf),
        high=np.full((count, 3), np.inf),
        stiffness=np.zeros((count, 3)),
    )


def read_joints(armature_object: bpy.types.Object) -> BoneJoints:
    """Return the joints of all bones of an armature object, in the order of its bones."""
    bones = armature_object.pose.bones
    joints, has_limit = free_bones(len(bones)), _flags(bones, "use_ik_limit")
    if has_limit.any():
        joints.low[has_limit] = _numbers(bones, "ik_min")[has_limit]
        joints.high[has_limit] = _numbers(bones, "ik_max")[has_limit]
    joints.is_locked[:] = _flags(bones, "lock_ik")
    np.minimum(_numbers(bones, "ik_stiffness"), MOST_STIFFNESS, out=joints.stiffness)
    return joints


def _flags(bones: Any, name: str) -> npt.NDArray[np.bool_]:
    values = np.empty((3, len(bones)), dtype=np.bool_)
    for axis, row in zip(AXES, values, strict=True):
        bones.foreach_get(f"{name}_{axis}", row)
    return values.T


def _numbers(bones: Any, name: str) -> Array:
    values = np.empty((3, len(bones)), dtype=np.float32)
    for axis, row in zip(AXES, values, strict=True):
        bones.foreach_get(f"{name}_{axis}", row)
    return values.T.astype(np.float64)
