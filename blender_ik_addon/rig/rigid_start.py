"""Chains of rigid bones in the spaces that their root bones turn in: where rotations put them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import JointKind, Joints
from ..core.algebra import rotation
from ..core.kinematics.joint_limits import clamp_rotations
from .limb import Limb, RigidBones

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64] | slice

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


class Laid(NamedTuple):
    """Where local rotations put chains, root heads at the origin.

    Attributes:
        rest: Rotations of the frames that bones turn in, wxyz, shape (B, k, 4).
        posed: Rotations of the bones, shape (B, k, 4).
        joints: Heads and effectors, shape (B, m + 1, 3).
    """

    rest: Array
    posed: Array
    joints: Array


@dataclass(frozen=True)
class RigidChain:
    """What of the bones of B chains stays while they turn; as ``RigidBones``, one chain a row."""

    offsets: Array
    segments: Array
    sizes: Array
    hints: Array

    @classmethod
    def of(cls, bones: Sequence[RigidBones]) -> RigidChain:
        """Return chains alike as one record."""
        return cls(
            np.array([each.offsets_wxyz for each in bones]),
            np.array([each.segments for each in bones]),
            np.array([each.sizes for each in bones]),
            np.array([each.hint for each in bones]),
        )

    def take(self, rows: Rows) -> RigidChain:
        """Return some of the chains."""
        return RigidChain(*(values[rows] for values in vars(self).values()))

    def laid(self, local: Array) -> Laid:
        """Return where local rotations (B, k, 4) put the bones: each after the one it hangs on."""
        rest, posed = np.empty_like(local), np.empty_like(local)
        rest[:, 0] = NOT_TURNED
        size, head = np.ones(len(local)), np.zeros((len(local), 3))
        joints = [head]
        for i in range(local.shape[1]):
            if i:
                rest[:, i] = rotation.multiply(posed[:, i - 1], self.offsets[:, i])
            posed[:, i] = rotation.multiply(rest[:, i], local[:, i])
            if i < self.segments.shape[1]:
                head = head + size[:, None] * rotation.rotate(posed[:, i], self.segments[:, i])
                joints.append(head)
            size = size * self.sizes[:, i]
        return Laid(rest, posed, np.stack(joints, axis=1))


@dataclass(frozen=True)
class RigidJoints:
    """The joints of B chains alike of k bones; bones turn in the spaces that the roots turn in.

    Attributes:
        kinds: One a bone.
        offsets: As ``core.Joints`` takes them, shape (B, k, 3, 3).
        zero: Local rotations that count as no turn wxyz, shape (B, k, 4); None where all are rest.
        low: Shape (B, k, 3).
        high: Shape (B, k, 3).
        mobility: Shape (B, k, 3).
    """

    kinds: tuple[JointKind, ...]
    offsets: Array
    zero: Array | None
    low: Array
    high: Array
    mobility: Array

    @classmethod
    def of(cls, limbs: Sequence[Limb]) -> RigidJoints | None:
        """Return the joints of chains alike; None for free ones."""
        chain = RigidChain.of([limb.rigid for limb in limbs if limb.rigid is not None])
        joints = [limb.joints for limb in limbs if limb.joints is not None]
        if not joints:
            return None
        offsets = rotation.matrix_from_quaternion(chain.offsets)
        # A base is the space that the root turns in: nothing is left of its own offset.
        offsets[:, 0] = np.eye(3)
        offsets[:, 1:] *= chain.sizes[:, :-1, None, None]
        zero = None
        if any(each.zero_wxyz is not None for each in joints):
            rest = np.tile(NOT_TURNED, (offsets.shape[1], 1))
            zero = np.array([rest if j.zero_wxyz is None else j.zero_wxyz for j in joints])
            offsets = offsets @ rotation.matrix_from_quaternion(zero)
        return cls(
            joints[0].kinds,
            offsets,
            zero,
            np.array([each.low for each in joints]),
            np.array([each.high for each in joints]),
            1.0 - np.array([each.stiffness for each in joints]),
        )

    def take(self, rows: Rows) -> RigidJoints:
        """Return the joints of some of the chains."""
        return RigidJoints(
            self.kinds,
            self.offsets[rows],
            None if self.zero is None else self.zero[rows],
            self.low[rows],
            self.high[rows],
            self.mobility[rows],
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
        """Return local rotations wxyz (B, k, 4) brought inside the ranges."""
        turned = self.turns_of(local)
        return self.local_of(clamp_rotations(self.kinds, turned, self.low, self.high))

    def for_core(self, local: Array, count: int) -> Joints:
        """Return the joints of the first bones for the core, started from local rotations."""
        nothing = np.zeros((len(local), count))
        return Joints(
            kinds=self.kinds[:count],
            offsets=self.offsets[:, :count],
            start_wxyz=self.turns_of(local[:, :count]),
            low=self.low[:, :count],
            high=self.high[:, :count],
            mobility=self.mobility[:, :count],
            slide_low=nothing,
            slide_high=nothing,
        )
