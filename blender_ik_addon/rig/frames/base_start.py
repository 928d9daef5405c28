"""Poses of rigid chains in the spaces that their root bones turn in.

Local rotations give poses, and the turns of a solve give local rotations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core import Chains
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.model.options import SolveOptions
from ..reading.batch_record import BatchRecord
from ..reading.bone_joints import NOT_TURNED
from ..trees.driven import Driven
from .carried_sides import CarriedSides
from .framing import rest_sides

# The matrix that takes the 16 products of the numbers of two quaternions p and q to p^-1 q.
BEYOND_PARENT = np.array(
    [rotation.multiply(rotation.conjugate(p), q) for p in np.eye(4) for q in np.eye(4)]
).T


class BasePoses(NamedTuple):
    """Poses of chains whose root heads are at the origin of their bases.

    Attributes:
        rest: Rotations of the frames that bones turn in, wxyz, shape (B, n, 4).
        posed: Rotations of the bones, shape (B, n, 4).
        joints: Heads and effectors, shape (B, m + 1, 3).
    """

    rest: Array
    posed: Array
    joints: Array


@dataclass(frozen=True)
class BaseChain(BatchRecord):
    """The constants of B similar chains of n bones, twist bones left out, while the bones turn.

    Attributes:
        offsets: Rest rotations relative to the parents wxyz, shape (B, n, 4).
        segments: Vectors from head to next joint in the space of the posed bone, including the
            scale of that bone, shape (B, m, 3).
        sizes: Local scales along Y, shape (B, n).
        hints: Bend directions of straight chains, in the spaces of the posed root bones, (B, 3).
    """

    offsets: Array
    segments: Array
    sizes: Array
    hints: Array

    @classmethod
    def of(cls, driven: Sequence[Driven]) -> BaseChain:
        """Return the record of similar chains."""
        limb = slice(driven[0].live_chains[0].plan.tip_row + 1)
        scale = np.array([chain.scale[limb] for chain in driven])
        return cls(
            np.array([chain.skeleton.offsets_wxyz[chain.bones[limb]] for chain in driven]),
            np.array([chain.segments for chain in driven]) * scale[:, : driven[0].hanging.count],
            scale[:, :, 1],
            rest_sides(driven)[0][:, 0],
        )

    def pose(self, local: Array) -> BasePoses:
        """Return the poses that local rotations wxyz (B, k, 4) give, from the root outward."""
        local = local[:, : self.offsets.shape[1]]
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
        return BasePoses(rest, posed, np.stack(joints, axis=1))

    def core_offsets(self) -> Array:
        """Return the frames of bones that have a segment, as ``offsets`` of ``core.Joints``.

        The offset of the root is the identity: a base is the very space that the root turns in.
        """
        count = self.segments.shape[1]
        offsets = rotation.matrix_from_quaternion(self.offsets[:, :count])
        offsets[:, 0] = np.eye(3)
        offsets[:, 1:] *= self.sizes[:, : count - 1, None, None]
        return offsets


@dataclass(frozen=True)
class BaseStart(BatchRecord):
    """The start poses of b similar chains.

    Attributes:
        local: Local rotations of the n bones without twist bones wxyz, shape (b, n, 4).
        helpers: Local rotations of the twist bones, which the solve leaves out.
        near: Rotation channels to stay near; locked channels keep them, shape (b, k, 4).
        tip: Rotations of the last bones of the limbs wxyz, shape (b, 4).
        options: Solver options, with tolerance and soft distance in scene units.
        pole_angle: Pole angles in radians, shape (b,).
        carried: Bend sides that follow root and target; None where the chains have none.
        chains: The chains as the core takes them.
        into_local: Matrices that take the turns of a bone's parent and of the bone to its local
            rotation, shape (b, n, 4, 16); None for chains with joints.
    """

    local: Array
    helpers: Array
    near: Array
    tip: Array
    options: SolveOptions
    pole_angle: Array
    carried: CarriedSides | None
    chains: Chains
    into_local: Array | None

    def turned(self, turns: Array, tips: Array | None) -> Array:
        """Return the local rotations wxyz (b, n, 4) of bones without joints after their turns.

        Args:
            turns: Turns of the bones with a segment, shape (b, m, 4).
            tips: Turns of tips beyond effectors, shape (b, 4); None to turn with the last segment.
        """
        assert self.into_local is not None
        if self.local.shape[1] > turns.shape[1]:
            last = turns[:, -1] if tips is None else tips
            turns = np.concatenate((turns, last[:, None]), axis=1)
        parents = np.empty_like(turns)
        parents[:, 0], parents[:, 1:] = NOT_TURNED, turns[:, :-1]
        products = (parents[..., :, None] * turns[..., None, :]).reshape(*turns.shape[:2], 16)
        local: Array = np.einsum("bkij,bkj->bki", self.into_local, products)
        return local


def into_local(local: Array, rest: Array) -> Array:
    """Return the matrices ``BaseStart.into_local`` from turns of bones to local rotations.

    Turns p of the parent and q of the bone, in the space of the base, give R^-1 p^-1 q R L: linear
    in the 16 products of their numbers. R is the frame that the bone turns in, L its local
    rotation.

    Args:
        local: Local rotations of the start pose wxyz, shape (b, n, 4).
        rest: Rotations of the frames that those act in, as ``BasePoses.rest``, shape (b, n, 4).
    """
    inverse, after = rotation.conjugate(rest), rotation.multiply(rest, local)
    # Basis quaternions between both give one row for each number of p^-1 q.
    rows = rotation.multiply(rotation.multiply(inverse[:, :, None], np.eye(4)), after[:, :, None])
    into: Array = rows.swapaxes(-1, -2) @ BEYOND_PARENT
    return into
