"""The joints that bones have by their own settings: locks, limits, stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from ..core import JointKind

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

AXES = "xyz"
# Blender's own solver never lets a bone be stiffer than this.
MOST_STIFFNESS = 0.99
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
    """

    is_locked: npt.NDArray[np.bool_]
    low: Array
    high: Array
    stiffness: Array

    def take(self, bones: Indices) -> BoneJoints | None:
        """Return the joints of some of the bones; None where all of them turn freely."""
        taken = BoneJoints(
            self.is_locked[bones], self.low[bones], self.high[bones], self.stiffness[bones]
        )
        is_free = not taken.is_locked.any() and not taken.stiffness.any()
        has_no_limit = not (np.isfinite(taken.low).any() or np.isfinite(taken.high).any())
        return None if is_free and has_no_limit else taken

    @property
    def kinds(self) -> tuple[JointKind, ...]:
        """Return what each joint is."""
        return tuple(KINDS[tuple(free)] for free in (~self.is_locked).tolist())

    def is_same(self, other: BoneJoints | None) -> bool:
        """Tell whether another record says the same."""
        return other is not None and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in vars(self)
        )


def read_joints(armature_object: bpy.types.Object) -> BoneJoints:
    """Return the joints of all bones of an armature object, in the order of its bones."""
    bones = armature_object.pose.bones
    has_limit = _flags(bones, "use_ik_limit")
    return BoneJoints(
        is_locked=_flags(bones, "lock_ik"),
        low=np.where(has_limit, _numbers(bones, "ik_min"), -np.inf),
        high=np.where(has_limit, _numbers(bones, "ik_max"), np.inf),
        stiffness=np.minimum(_numbers(bones, "ik_stiffness"), MOST_STIFFNESS),
    )


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
