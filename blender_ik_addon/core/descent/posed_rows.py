"""Where bones stand, with the chains first, as ``algebra.chains_first`` lays arrays out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, choose_first, skew
from ..algebra.nested import Nested, choose, transform_leaves
from ..kinematics.swing_twist import TurnParts, swap_axes


@dataclass(frozen=True)
class PosedRows:
    """Where the bones of B trees stand.

    Attributes:
        turn: Of the joints, shape (B, n, 4).
        own: The same as matrices, shape (B, n, 3, 3).
        frames: In which they act, shape (B, n, 3, 3).
        inverse: Of the frames.
        points: Heads and then effectors, shape (B, n + E, 3).
        parts: The turns taken apart, shape (..., B, n); None where joints have no edges.
        place: How far the first bone has moved, in lengths of the reach, shape (B, 3); None where
            it does not float.
    """

    turn: Array
    own: Array
    frames: Array
    inverse: Array
    points: Array
    parts: TurnParts | None = None
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
        arrays, parts = self._split()
        return *transform_leaves(lambda part: np.moveaxis(part, 0, -1), arrays), _swap(parts)

    def choose(self, rows: Flags, other: PosedRows) -> PosedRows:
        """Return where the bones stand here where flagged (B,), otherwise those of the other."""
        (mine, parts), (others, apart) = self._split(), other._split()
        return _join(choose_first(rows, mine, others), choose(rows[:, None], parts, apart))

    def _split(self) -> tuple[Nested, TurnParts | None]:
        """Return what has the chains first, and the rest."""
        return (self.turn, self.own, self.frames, self.inverse, self.points, self.place), self.parts


def put_first(state: Nested) -> PosedRows:
    """Return what a loop carries with chains as the last axis with chains as the first."""
    *arrays, parts = state
    first = transform_leaves(lambda part: np.moveaxis(part, -1, 0), tuple(arrays))
    return _join(first, _swap(parts))


def _join(arrays: Nested, parts: TurnParts | None) -> PosedRows:
    turn, own, frames, inverse, points, place = arrays
    return PosedRows(turn, own, frames, inverse, points, parts, place)


def _swap(parts: TurnParts | None) -> TurnParts | None:
    return None if parts is None else swap_axes(parts)
