"""Poses of bones with the chains first, as ``algebra.chains_first`` lays arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, choose_first, skew
from ..algebra.nested import Nested, transform_leaves


@dataclass(frozen=True)
class PosedRows:
    """The poses of the bones of B trees.

    Attributes:
        turn: Turns of the joints, shape (B, n, 4).
        turn_matrices: The turns as matrices, shape (B, n, 3, 3).
        frames: Frames in which the turns act, shape (B, n, 3, 3).
        inverse: Inverses of the frames, shape (B, n, 3, 3).
        points: Heads and then effectors, shape (B, n + E, 3).
        place: Movement of the first bone, in lengths of the reach, shape (B, 3); None where it does
            not float.
    """

    turn: Array
    turn_matrices: Array
    frames: Array
    inverse: Array
    points: Array
    place: Array | None = None

    def move_by_turns(self, levers: Array) -> Array:
        """Return the derivatives of ends of levers (B, q, n, 3) by turns, shape (B, q, n, 3, 3).

        The last axis is the axis of the turn, in the frame of the joint.
        """
        local = apply(self.inverse[:, None], levers)
        moved: Array = self.frames[:, None] @ skew(-local)
        return moved

    def to_chains_last(self) -> Nested:
        """Return the same with the chains as the last axis, as ``iterate`` takes its state."""
        last: Nested = transform_leaves(lambda part: np.moveaxis(part, 0, -1), self._arrays)
        return last

    def choose(self, rows: Flags, other: PosedRows) -> PosedRows:
        """Return these poses where flagged (B,), otherwise those of the other."""
        return PosedRows(*choose_first(rows, self._arrays, other._arrays))

    @property
    def _arrays(self) -> tuple[Array | None, ...]:
        return self.turn, self.turn_matrices, self.frames, self.inverse, self.points, self.place


def from_chains_last(state: Nested) -> PosedRows:
    """Return the poses of a state of ``iterate``, which has the chains as the last axis."""
    return PosedRows(*transform_leaves(lambda part: np.moveaxis(part, -1, 0), state))
