"""The joints of similar chains, as arrays for the core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...core import JointKind, Joints
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.kinematics.joint_limits import clamp_rotations
from ..reading.batch_record import BatchRecord
from ..reading.bone_joints import NOT_TURNED, BoneJoints


@dataclass(frozen=True)
class ChainJoints(BatchRecord):
    """The joints of B similar chains of k bones.

    Attributes:
        kinds: Kinds of the joints, shape (k,).
        zero: Local rotations that count as no turn wxyz, shape (B, k, 4); None for rest rotations.
        low: Least turns in radians, shape (B, k, 3).
        high: Greatest turns in radians, shape (B, k, 3).
        mobility: One minus stiffness, shape (B, k, 3).
        is_free: Whether they are joints of a tree whose bones all turn freely.
    """

    kinds: tuple[JointKind, ...]
    zero: Array | None
    low: Array
    high: Array
    mobility: Array
    is_free: bool = False

    @classmethod
    def of(
        cls, of_chains: Sequence[BoneJoints | None], *, is_free: bool = False
    ) -> ChainJoints | None:
        """Return the joints of similar chains; None for free ones."""
        joints = [chain for chain in of_chains if chain is not None]
        if not joints:
            return None
        zero = None
        if any(one.zero_wxyz is not None for one in joints):
            rest = np.tile(NOT_TURNED, (len(joints[0].low), 1))
            zero = np.array([rest if one.zero_wxyz is None else one.zero_wxyz for one in joints])
        return cls(
            joints[0].kinds,
            zero,
            np.array([one.low for one in joints]),
            np.array([one.high for one in joints]),
            1.0 - np.array([one.stiffness for one in joints]),
            is_free,
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
        """Return the local rotations wxyz (B, n, 4) of the first n bones clamped to the ranges."""
        return self.local_of(self.clamped_turns(self.turns_of(local)))

    def clamped_turns(self, turns: Array) -> Array:
        """Return the turns of the first n joints wxyz (B, n, 4) clamped to the ranges."""
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
            offsets: ``offsets`` of ``core.Joints`` for rest rotations, shape (B, m, 3, 3).
            local: Local rotations wxyz of the start pose, shape (B, n, 4), n >= m.
            slides: Least and greatest slides, both (B, m), and their axes; None without slides.
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
