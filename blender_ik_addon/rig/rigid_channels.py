"""Rotation channels of rigid bones from the turns that their chains have taken."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.algebra import rotation
from .bone_channels import rotation_channels

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RigidChannels:
    """The k written bones of b chains alike.

    Attributes:
        local: Local rotations of the start pose wxyz, shape (b, k, 4).
        rest: Rotations of the frames that those act in, as they stand in the start pose, in the
            space of the base, shape (b, k, 4).
        near: Rotation channels to stay near, so that curves do not flip, shape (b, k, 4).
        modes: Rotation modes, shape (k,).
    """

    local: Array
    rest: Array
    near: Array
    modes: npt.NDArray[np.int32]

    def take(self, rows: slice | npt.NDArray[np.int64]) -> RigidChannels:
        """Return the bones of some of the chains."""
        if isinstance(rows, slice):
            return self
        some = RigidChannels(self.local[rows], self.rest[rows], self.near[rows], self.modes)
        some.__dict__["into_local"] = self.into_local[rows]
        return some

    @cached_property
    def into_local(self) -> Array:
        """Matrices that take the turn of a bone beyond its parent to its local rotation.

        The turn q, in the space of the base, becomes R^-1 q R L, linear in q, with R the frame
        that the bone acts in (none for the first one) and L its local rotation. (b, k, 4, 4).
        """
        frame = self.rest.copy()
        frame[:, 0] = (1.0, 0.0, 0.0, 0.0)
        back, after = rotation.conjugate(frame), rotation.multiply(frame, self.local)
        columns = [
            rotation.multiply(rotation.multiply(back, np.broadcast_to(unit, back.shape)), after)
            for unit in np.eye(4)
        ]
        return np.stack(columns, axis=-1)

    def with_tips(self, turns: Array, tips: Array | None) -> Array:
        """Return turns of all written bones: a tip beyond the effector turns, or goes along.

        Args:
            turns: Of the bones with a segment, shape (b, m, 4).
            tips: Turns of the tips, shape (b, 4), or None.
        """
        if self.local.shape[1] == turns.shape[1]:
            return turns
        last = turns[:, -1] if tips is None else tips
        return np.concatenate((turns, last[:, None]), axis=1)

    def channels(self, turns: Array) -> Array:
        """Return the rotation channels (b, k, 4) of bones after their turns (b, k, 4)."""
        return self.written(self.turned(turns))

    def turned(self, turns: Array) -> Array:
        """Return the local rotations wxyz (b, k, 4) of bones after their turns (b, k, 4)."""
        own = turns.copy()
        if own.shape[1] > 1:
            own[:, 1:] = rotation.multiply(rotation.conjugate(turns[:, :-1]), turns[:, 1:])
        local: Array = np.einsum("bkij,bkj->bki", self.into_local, own)
        return local

    def written(self, local: Array) -> Array:
        """Return the rotation channels (b, k, 4) of local rotations wxyz (b, k, 4)."""
        return rotation_channels(local, self.near, self.modes)
