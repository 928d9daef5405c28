"""Where bones stand, with the chains first, as ``algebra.chains_first`` lays arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, choose_first, skew
from ..algebra.nested import Nested, transform_leaves


@dataclass(frozen=True)
class PosedRows:
    """Where the bones of B trees stand.

    Attributes:
        turn: Of the joints, shape (B, n, 4).
        own: The same as matrices, shape (B, n, 3, 3).
        frames: In which they act, shape (B, n, 3, 3).
        inverse: Of the frames.
        points: Heads and then effectors, shape (B, n + E, 3).
        place: How far the first bone has moved, in lengths of the reach, shape (B, 3); None where
            it does not float.
    """

    turn: Array
    own: Array
    frames: Array
    inverse: Array
    points: Array
    place: Array | None = None

    def move_by_turns(self, levers: Array) -> Array:
        """Return how ends of levers (B, q, n, 3) move with turns, shape (B, q, n, 3, 3).

        The last axis is that of the turn, in the frame of the joint.
        """
        local = apply(self.inverse[:, None], levers)
        moved: Array = self.frames[:, None] @ skew(-local)
        return moved

    def put_last(self) -> Nested:
        """Return the same with chains as the last axis, as one loop carries it."""
        last: Nested = transform_leaves(lambda part: np.moveaxis(part, 0, -1), self._arrays)
        return last

    def choose(self, rows: Flags, other: PosedRows) -> PosedRows:
        """Return where the bones stand here where flagged (B,), otherwise those of the other."""
        return PosedRows(*choose_first(rows, self._arrays, other._arrays))

    @property
    def _arrays(self) -> tuple[Array | None, ...]:
        return self.turn, self.own, self.frames, self.inverse, self.points, self.place


def put_first(state: Nested) -> PosedRows:
    """Return what a loop carries with chains as the last axis with chains as the first."""
    return PosedRows(*transform_leaves(lambda part: np.moveaxis(part, -1, 0), state))
