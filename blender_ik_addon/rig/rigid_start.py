"""Chains of rigid bones in the spaces that their root bones turn in: where rotations put them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.algebra import rotation
from .chain_joints import NOT_TURNED
from .limb import RigidBones

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64] | slice


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

    def core_offsets(self) -> Array:
        """Return the frames of the bones that have a segment, as ``core.Joints`` counts them.

        A base is the space that the root turns in: nothing is left of its own offset.
        """
        count = self.segments.shape[1]
        offsets = rotation.matrix_from_quaternion(self.offsets[:, :count])
        offsets[:, 0] = np.eye(3)
        offsets[:, 1:] *= self.sizes[:, : count - 1, None, None]
        return offsets
