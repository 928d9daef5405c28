"""The floor: a plane that points of trees do not pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array
from .errors import InvalidGoalError
from .records import Record, Shape, freeze


@dataclass(frozen=True)
class Floor(Record):
    """A plane, and points of a tree's bones that stay above it.

    For many trees, all arrays have one more leading axis.

    Attributes:
        bones: Indices of the bones that carry the points, the same for all trees.
        points: Positions of the points in the start pose, shape (F, 3), armature space.
        normal: Direction up from the floor, of any length, shape (3,).
        origin: A point of the floor, shape (3,).
    """

    bones: Sequence[int]
    points: Array
    normal: Array
    origin: Array

    def __post_init__(self) -> None:
        """Copy, check and freeze the arrays."""
        freeze(self, "bones", tuple(int(bone) for bone in self.bones))
        plane: Shape = np.shape(self.normal)
        points: Shape = (*plane[:-1], len(self.bones), 3)
        self._freeze_arrays(InvalidGoalError, points=points, normal=plane, origin=plane)
        if not (np.abs(self.normal).max(axis=-1) > 0.0).all():
            raise InvalidGoalError(
                "The normal of the floor is zero: give the direction up from it."
            )
