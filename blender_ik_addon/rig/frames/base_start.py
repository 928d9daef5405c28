"""Chains of rigid bones in the spaces that their root bones turn in: where rotations put them.

And back: the local rotations that give the turns that the chains have taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ...core import Chains
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ..reading.bone_joints import NOT_TURNED
from ..reading.rows import Alike
from ..trees.driven import Driven
from .framing import rest_sides

# What takes the products of the numbers of two quaternions p and q to p^-1 q.
BEYOND_PARENT = np.array(
    [rotation.multiply(rotation.conjugate(p), q) for p in np.eye(4) for q in np.eye(4)]
).T


class Laid(NamedTuple):
    """Where local rotations put chains, root heads at the origin.

    Attributes:
        rest: Rotations of the frames that bones turn in, wxyz, shape (B, n, 4).
        posed: Rotations of the bones, shape (B, n, 4).
        joints: Heads and effectors, shape (B, m + 1, 3).
    """

    rest: Array
    posed: Array
    joints: Array


@dataclass(frozen=True)
class BaseChain(Alike):
    """What of the n bones of B chains alike stays while they turn, without twist bones.

    Attributes:
        offsets: Rest rotations seen from the parents wxyz, shape (B, n, 4).
        segments: From head to next joint in the space of the posed bone, own scale included,
            shape (B, m, 3).
        sizes: Own scales, shape (B, n).
        hints: Where straight chains bend, in the spaces of the posed root bones, shape (B, 3).
    """

    offsets: Array
    segments: Array
    sizes: Array
    hints: Array

    @classmethod
    def of(cls, driven: Sequence[Driven]) -> BaseChain:
        """Return chains alike as one record."""
        limb = slice(driven[0].live_chains[0].plan.tip_row + 1)
        scale = np.array([each.scale[limb] for each in driven])
        return cls(
            np.array([each.skeleton.offsets_wxyz[each.bones[limb]] for each in driven]),
            np.array([each.segments for each in driven]) * scale[:, : driven[0].hanging.count],
            scale[:, :, 1],
            rest_sides(driven)[0][:, 0],
        )

    def laid(self, local: Array) -> Laid:
        """Return where local rotations (B, k, 4) put the bones: each after the one it hangs on."""
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


@dataclass(frozen=True)
class BaseStart(Alike):
    """The b chains alike in the poses that they start from.

    Attributes:
        local: Local rotations of the n bones without twist bones wxyz, shape (b, n, 4).
        helpers: Those of twist bones, which are no part of the chain.
        near: Rotation channels to stay near, and that locked ones hold, shape (b, k, 4).
        tip: Rotations of the last bones of the limbs wxyz, shape (b, 4).
        use_flip: Which chains bend to the other side, shape (b,).
        chains: As the core takes them.
        into_local: Matrices that take the turns of a bone's parent and of the bone to its local
            rotation, shape (b, n, 4, 16); None for chains with joints.
    """

    local: Array
    helpers: Array
    near: Array
    tip: Array
    use_flip: Flags
    chains: Chains
    into_local: Array | None

    def turned(self, turns: Array, tips: Array | None) -> Array:
        """Return the local rotations wxyz (b, n, 4) of bones without joints after their turns.

        Args:
            turns: Of the bones with a segment, shape (b, m, 4).
            tips: Turns of tips beyond the effectors, shape (b, 4); None if these go along.
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
    """Return what takes turns of bones to their local rotations, as ``BaseStart`` has it.

    With turns p and q, in the space of the base, that is R^-1 p^-1 q R L: linear in the 16 products
    of their numbers, with R the frame that the bone acts in (none for the first one) and L its
    local rotation.

    Args:
        local: Local rotations to start from wxyz, shape (b, n, 4).
        rest: Rotations of the frames that those act in, in the space of the base, shape (b, n, 4).
    """
    frame = rest.copy()
    frame[:, 0] = NOT_TURNED
    back, after = rotation.conjugate(frame), rotation.multiply(frame, local)
    # One row for each number of what is between them.
    rows = rotation.multiply(rotation.multiply(back[:, :, None], np.eye(4)), after[:, :, None])
    into: Array = rows.swapaxes(-1, -2) @ BEYOND_PARENT
    return into
