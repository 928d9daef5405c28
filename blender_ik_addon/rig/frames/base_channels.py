"""Local rotations of rigid bones from the turns that their chains have taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Indices
from ..reading.bone_joints import NOT_TURNED

# What takes the products of the numbers of two quaternions p and q to p^-1 q.
BEYOND_PARENT = np.array(
    [rotation.multiply(rotation.conjugate(p), q) for p in np.eye(4) for q in np.eye(4)]
).T


@dataclass(frozen=True)
class BaseChannels:
    """The n written bones of b chains alike, without twist bones, in the poses they start from.

    Attributes:
        local: Local rotations wxyz, shape (b, n, 4).
        rest: Rotations of the frames that those act in, in the space of the base, shape (b, n, 4).
    """

    local: Array
    rest: Array

    def take(self, rows: slice | Indices) -> BaseChannels:
        """Return the bones of some of the chains."""
        if isinstance(rows, slice):
            return self
        some = BaseChannels(self.local[rows], self.rest[rows])
        some.__dict__["into_local"] = self.into_local[rows]
        return some

    @cached_property
    def into_local(self) -> Array:
        """Matrices that take the turns of a bone's parent and of the bone to its local rotation.

        With turns p and q, in the space of the base, that is R^-1 p^-1 q R L: linear in the 16
        products of their numbers, with R the frame that the bone acts in (none for the first one)
        and L its local rotation. Shape (b, n, 4, 16).
        """
        frame = self.rest.copy()
        frame[:, 0] = NOT_TURNED
        back, after = rotation.conjugate(frame), rotation.multiply(frame, self.local)
        columns = [
            rotation.multiply(rotation.multiply(back, np.broadcast_to(unit, back.shape)), after)
            for unit in np.eye(4)
        ]
        into: Array = np.stack(columns, axis=-1) @ BEYOND_PARENT
        return into

    def with_tips(self, turns: Array, tips: Array | None) -> Array:
        """Return turns of all bones of a limb: a tip beyond the effector turns, or goes along.

        Args:
            turns: Of the bones with a segment, shape (b, m, 4).
            tips: Turns of the tips, shape (b, 4), or None.
        """
        if self.local.shape[1] == turns.shape[1]:
            return turns
        last = turns[:, -1] if tips is None else tips
        return np.concatenate((turns, last[:, None]), axis=1)

    def turned(self, turns: Array) -> Array:
        """Return the local rotations wxyz (b, n, 4) of bones after their turns (b, n, 4)."""
        parents = np.empty_like(turns)
        parents[:, 0], parents[:, 1:] = NOT_TURNED, turns[:, :-1]
        products = (parents[..., :, None] * turns[..., None, :]).reshape(*turns.shape[:2], 16)
        local: Array = np.einsum("bkij,bkj->bki", self.into_local, products)
        return local
