"""The start poses of chains of rigid bones, in the spaces that their root bones turn in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core import Joints
from ..core.algebra import rotation
from .limb import Limb, RigidBones

Array = npt.NDArray[np.float64]

NOT_TURNED = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class RigidStart:
    """B chains of k written bones, of which the first m have a segment.

    Attributes:
        local: Local rotations wxyz, shape (B, k, 4).
        rest: Rotations of the frames that those act in, shape (B, k, 4).
        tip: Rotations of the tip bones, shape (B, 4).
        joints: Heads and effectors, shape (B, m + 1, 3).
        hints: Where straight chains bend, shape (B, 3).
    """

    local: Array
    rest: Array
    tip: Array
    joints: Array
    hints: Array


def posed_start(bones: Sequence[RigidBones]) -> RigidStart:
    """Return the start poses of chains alike."""
    chain = RigidChain.of(bones)
    local = np.array([each.local_wxyz for each in bones])
    laid = chain.laid(local)
    hints = rotation.rotate(laid.posed[:, 0], np.array([each.hint for each in bones]))
    return RigidStart(local, laid.rest, laid.posed[:, -1], laid.joints, hints)


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

    @classmethod
    def of(cls, bones: Sequence[RigidBones]) -> RigidChain:
        """Return chains alike as one record."""
        return cls(
            np.array([each.offsets_wxyz for each in bones]),
            np.array([each.segments for each in bones]),
            np.array([each.sizes for each in bones]),
        )

    def take(self, rows: npt.NDArray[np.int64]) -> RigidChain:
        """Return some of the chains."""
        return RigidChain(self.offsets[rows], self.segments[rows], self.sizes[rows])

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


def rigid_joints(limbs: Sequence[Limb]) -> Joints | None:
    """Return the joints of chains alike, in the spaces of their bases; None for free ones."""
    bones = [limb.rigid for limb in limbs if limb.rigid is not None]
    joints = [limb.joints for limb in limbs if limb.joints is not None]
    if not joints:
        return None
    offsets = rotation.matrix_from_quaternion(np.array([each.offsets_wxyz for each in bones]))
    sizes = np.array([each.sizes for each in bones])
    # A base is the space that the root turns in: nothing is left of its own offset.
    offsets[:, 0] = np.eye(3)
    offsets[:, 1:] *= sizes[:, :-1, None, None]
    local = np.array([each.local_wxyz for each in bones])
    zero = rigid_zeros(limbs)
    if zero is not None:
        offsets = offsets @ rotation.matrix_from_quaternion(zero)
        local = rotation.multiply(rotation.conjugate(zero), local)
    nothing = np.zeros(sizes.shape)
    return Joints(
        kinds=joints[0].kinds,
        offsets=offsets,
        start_wxyz=local,
        low=np.array([each.low for each in joints]),
        high=np.array([each.high for each in joints]),
        mobility=1.0 - np.array([each.stiffness for each in joints]),
        slide_low=nothing,
        slide_high=nothing,
    )


def rigid_zeros(limbs: Sequence[Limb]) -> Array | None:
    """Return the local rotations that count as no turn, wxyz (B, k, 4); None where all are rest."""
    zeros = [None if limb.joints is None else limb.joints.zero_wxyz for limb in limbs]
    if all(zero is None for zero in zeros):
        return None
    rest = np.tile(NOT_TURNED, (len(limbs[0].modes), 1))
    return np.array([rest if zero is None else zero for zero in zeros])
