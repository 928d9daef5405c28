"""The joints of chains alike, as the core takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import JointKind, Joints
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.kinematics.joint_limits import clamp_rotations
from ..reading.bone_joints import NOT_TURNED, BoneJoints
from ..reading.rows import Alike


@dataclass(frozen=True)
class ChainJoints(Alike):
    """The joints of B chains alike of k bones.

    Attributes:
        kinds: One a bone.
        zero: Local rotations that count as no turn wxyz, shape (B, k, 4); None where all are rest.
        low: Least turns in radians, shape (B, k, 3).
        high: Greatest turns.
        mobility: Shape (B, k, 3).
    """

    kinds: tuple[JointKind, ...]
    zero: Array | None
    low: Array
    high: Array
    mobility: Array

    @classmethod
    def of(cls, each: Sequence[BoneJoints | None]) -> ChainJoints | None:
        """Return the joints of chains alike; None for free ones."""
        joints = [own for own in each if own is not None]
        if not joints:
            return None
        zero = None
        if any(own.zero_wxyz is not None for own in joints):
            rest = np.tile(NOT_TURNED, (len(joints[0].low), 1))
            zero = np.array([rest if own.zero_wxyz is None else own.zero_wxyz for own in joints])
        return cls(
            joints[0].kinds,
            zero,
            np.array([own.low for own in joints]),
            np.array([own.high for own in joints]),
            1.0 - np.array([own.stiffness for own in joints]),
        )

    def turns_of(self, local: Array) -> Array:
        """Return the turns (B, n, 4) of the first n joints that local rotations wxyz make."""
        if self.zero is None:
            return local
        return rotation.multiply(rotation.conjugate(self.zero[:, : local.shape[1]]), local)

    def local_of(self, turns: Array) -> Array:
        """Return the local rotations wxyz (B, n, 4) that turns of the first n joints make."""
        if self.zero is None:
            return turns
        return rotation.multiply(self.zero[:, : turns.shape[1]], turns)

    def clamped(self, local: Array) -> Array:
        """Return the local rotations wxyz (B, n, 4) of the first n bones brought inside ranges."""
        return self.local_of(self.clamped_turns(self.turns_of(local)))

    def clamped_turns(self, turns: Array) -> Array:
        """Return turns of the first n joints wxyz (B, n, 4) brought inside the ranges."""
        return clamp_rotations(self.kinds[: turns.shape[1]], turns, self.low, self.high)

    def for_core(
        self,
        offsets: Array,
        local: Array,
        slides: tuple[Array, Array, Array] | None = None,
        unturned: tuple[int, ...] = (),
    ) -> Joints:
        """Return the joints of the first m bones for the core.

        Args:
            offsets: As ``core.Joints`` counts them from rest, shape (B, m, 3, 3).
            local: Local rotations wxyz that the chains start from, shape (B, n, 4), n >= m.
            slides: Least and greatest slides, (B, m) each, and their axes; None for none.
            unturned: Bones that their parents do not turn.
        """
        count = offsets.shape[1]
        if self.zero is not None:
            offsets = offsets @ rotation.matrix_from_quaternion(self.zero[:, :count])
        nothing = np.zeros(offsets.shape[:2])
        low, high, axes = (nothing, nothing, None) if slides is None else slides
        return Joints(
            kinds=self.kinds[:count],
            offsets=offsets,
            start_wxyz=self.turns_of(local[:, :count]),
            low=self.low[:, :count],
            high=self.high[:, :count],
            mobility=self.mobility[:, :count],
            slide_low=low,
            slide_high=high,
            unturned=unturned,
            **({} if axes is None else {"slide_axes": axes}),
        )
