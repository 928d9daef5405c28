"""Joints that bones have by their own settings: locks, limits, stiffness."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import bpy
import numpy as np

from ...core import JointKind
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.kinematics.joint_limits import FREE
from .batch_record import BatchRecord
from .channels import read_flags, read_floats

AXES = "xyz"
# Blender's own solver never lets a bone be stiffer than this.
MAX_STIFFNESS = 0.99
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])
# Joint kinds by their free axes, X first.
KINDS = {free: kind for kind, free in FREE.items()}


@dataclass(frozen=True)
class BoneJoints(BatchRecord):
    """Joints of n bones.

    Attributes:
        is_locked: Locked axes X, Y and Z, shape (n, 3).
        low: Least turns in radians, -inf for no limit, shape (n, 3).
        high: Greatest turns, shape (n, 3).
        stiffness: From 0 to 0.99, shape (n, 3).
        zero_wxyz: Local rotations that count as no turn, shape (n, 4); None for rest.
        slides: Least and greatest slides along the bones' Y axes at rest, in the unit of their
            location channels, shape (n, 2); None for none.
    """

    is_locked: Flags
    low: Array
    high: Array
    stiffness: Array
    zero_wxyz: Array | None = None
    slides: Array | None = None

    @cached_property
    def is_free(self) -> bool:
        """Whether all bones turn as if they had no joints, and none slides."""
        has_limit = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        has_hold = bool(self.is_locked.any() or self.stiffness.any() or self.slides is not None)
        return not (has_limit or has_hold)

    def turns_of(self, local_wxyz: Array) -> Array:
        """Return the turns (..., n, 4) of joints by local rotations (..., n, 4)."""
        if self.zero_wxyz is None:
            return local_wxyz
        return rotation.multiply(rotation.conjugate(self.zero_wxyz), local_wxyz)

    @property
    def kinds(self) -> tuple[JointKind, ...]:
        """The kind of each joint."""
        return tuple(KINDS[tuple(free)] for free in (~self.is_locked).tolist())


def free_bones(count: int) -> BoneJoints:
    """Return the joints of ``count`` bones that all turn freely."""
    return BoneJoints(
        is_locked=np.zeros((count, 3), dtype=np.bool_),
        low=np.full((count, 3), -np.inf),
        high=np.full((count, 3), np.inf),
        stiffness=np.zeros((count, 3)),
    )


def has_joint(bone: bpy.types.PoseBone) -> bool:
    """Return whether a bone's own settings have an IK lock, limit or stiffness."""
    names = ("use_ik_limit", "lock_ik", "ik_stiffness")
    return any(getattr(bone, f"{name}_{axis}") for name in names for axis in AXES)


def read_joints(armature_object: bpy.types.Object) -> BoneJoints:
    """Return the joints of all bones of an armature object, in their order."""
    bones = armature_object.pose.bones

    def numbers(name: str) -> Array:
        return np.array([read_floats(bones, f"{name}_{axis}", 1) for axis in AXES], np.float64).T

    def flags(name: str) -> Flags:
        return np.array([read_flags(bones, f"{name}_{axis}") for axis in AXES]).T

    joints, has_limit = free_bones(len(bones)), flags("use_ik_limit")
    if has_limit.any():
        joints.low[has_limit] = numbers("ik_min")[has_limit]
        joints.high[has_limit] = numbers("ik_max")[has_limit]
    joints.is_locked[:] = flags("lock_ik")
    np.minimum(numbers("ik_stiffness"), MAX_STIFFNESS, out=joints.stiffness)
    return joints
