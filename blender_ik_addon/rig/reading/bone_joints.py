"""Joints of bones: locks, limits and stiffness, by the settings of bones, and for the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import bpy
import numpy as np

from ...core import JointKind, Joints
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.kinematics.joint_limits import FREE, clamp_rotations
from .batch_record import BatchRecord, stacked
from .channels import read_flags, read_floats

AXES = "xyz"
# Blender's own solver never lets a bone be stiffer than this.
MAX_STIFFNESS = 0.99
NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])
# Joint kinds by their free axes, X first.
KINDS = {free: kind for kind, free in FREE.items()}
# Most cached kinds: one entry for each sort of chain. Solves ask for them again and again.
MAX_CACHED_KINDS = 256


@dataclass(frozen=True)
class BoneJoints(BatchRecord):
    """Joints of n bones, or of n bones of each of B similar chains.

    Attributes:
        is_locked: Locked axes X, Y and Z, shape (..., n, 3); of similar chains the same.
        low: Least turns in radians, -inf for no limit, shape (..., n, 3).
        high: Greatest turns, shape (..., n, 3).
        stiffness: From 0 to 0.99, shape (..., n, 3).
        zero_wxyz: Local rotations that count as no turn, shape (..., n, 4); None for rest.
    """

    is_locked: Flags
    low: Array
    high: Array
    stiffness: Array
    zero_wxyz: Array | None = None

    @cached_property
    def is_free(self) -> bool:
        """Whether all bones turn as if they had no joints."""
        has_limit = bool(np.isfinite(self.low).any() or np.isfinite(self.high).any())
        has_hold = bool(self.is_locked.any() or self.stiffness.any())
        return not (has_limit or has_hold)

    @classmethod
    def of_chains(cls, of_chains: Sequence[BoneJoints | None]) -> BoneJoints | None:
        """Return the joints of similar chains in one record; None if their bones turn freely."""
        joints = [chain for chain in of_chains if chain is not None]
        if any(chain.zero_wxyz is not None for chain in joints):
            joints = [replace(chain, zero_wxyz=chain.explicit_zero) for chain in joints]
        return stacked(joints)

    @property
    def kinds(self) -> tuple[JointKind, ...]:
        """The kind of each joint, shape (n,)."""
        is_locked = self.is_locked if self.is_locked.ndim == 2 else self.is_locked[:1]
        return _kinds(is_locked.tobytes())

    @property
    def explicit_zero(self) -> Array:
        """Local rotations that count as no turn, shape (n, 4)."""
        return np.tile(NOT_TURNED, (len(self.low), 1)) if self.zero_wxyz is None else self.zero_wxyz

    def turns_of(self, local: Array) -> Array:
        """Return the turns (..., m, 4) of the first m joints that local rotations wxyz make."""
        if self.zero_wxyz is None:
            return local
        zero = self.zero_wxyz[..., : local.shape[-2], :]
        return rotation.multiply(rotation.conjugate(zero), local)

    def local_of(self, turns: Array) -> Array:
        """Return the local rotations wxyz (..., m, 4) that turns of the first m joints make."""
        if self.zero_wxyz is None:
            return turns
        return rotation.multiply(self.zero_wxyz[..., : turns.shape[-2], :], turns)

    def clamped(self, local: Array) -> Array:
        """Return local rotations wxyz (..., m, 4) of the first m bones clamped to the ranges."""
        return self.local_of(self.clamped_turns(self.turns_of(local)))

    def clamped_turns(self, turns: Array) -> Array:
        """Return the turns of the first m joints wxyz (..., m, 4) clamped to the ranges."""
        return clamp_rotations(self.kinds[: turns.shape[-2]], turns, self.low, self.high)

    def for_core(
        self,
        offsets: Array,
        local: Array,
        slides: tuple[Array, Array, Array] | None = None,
        unturned: tuple[int, ...] = (),
    ) -> Joints:
        """Return the joints of the first m bones of B chains for the core.

        Args:
            offsets: ``offsets`` of ``core.Joints`` for rest rotations, shape (B, m, 3, 3).
            local: Local rotations wxyz of the start pose, shape (B, n, 4), n >= m.
            slides: Least and greatest slides, both (B, m), and their axes; None without slides.
            unturned: Bones that their parents do not turn.
        """
        count = offsets.shape[1]
        if self.zero_wxyz is not None:
            offsets = offsets @ rotation.matrix_from_quaternion(self.zero_wxyz[:, :count])
        nothing = np.zeros(offsets.shape[:2])
        low, high, axes = (nothing, nothing, None) if slides is None else slides
        return Joints(
            kinds=self.kinds[:count],
            offsets=offsets,
            start_wxyz=self.turns_of(local[:, :count]),
            low=self.low[:, :count],
            high=self.high[:, :count],
            mobility=1.0 - self.stiffness[:, :count],
            slide_low=low,
            slide_high=high,
            unturned=unturned,
            **({} if axes is None else {"slide_axes": axes}),
        )


@lru_cache(MAX_CACHED_KINDS)
def _kinds(is_locked: bytes) -> tuple[JointKind, ...]:
    rows: Flags = np.frombuffer(is_locked, np.bool_).reshape(-1, 3)
    return tuple(KINDS[tuple(free)] for free in (~rows).tolist())


def free_joints(count: int) -> BoneJoints:
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
    count = len(bones)

    def numbers(name: str) -> Array:
        axes = [read_floats(bones, f"{name}_{axis}", 1, count) for axis in AXES]
        return np.array(axes, np.float64).T

    def flags(name: str) -> Flags:
        return np.array([read_flags(bones, f"{name}_{axis}", 1, count) for axis in AXES]).T

    joints, has_limit = free_joints(count), flags("use_ik_limit")
    if has_limit.any():
        joints.low[has_limit] = numbers("ik_min")[has_limit]
        joints.high[has_limit] = numbers("ik_max")[has_limit]
    joints.is_locked[:] = flags("lock_ik")
    np.minimum(numbers("ik_stiffness"), MAX_STIFFNESS, out=joints.stiffness)
    return joints
