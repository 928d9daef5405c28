"""The rolls of free bones of many rigid trees, kept from the start pose as ``tree_rolls`` tells."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ..core.algebra import rotation
from .rigid_tree import RigidTree
from .rigid_tree_start import RigidTreeStart

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Pick = slice | Indices


class _Step(NamedTuple):
    """Bones of one generation and their parents; those that swing, and those that do not."""

    rows: Indices
    above: Indices
    own: Indices
    swings: npt.NDArray[np.bool_]
    others: Indices


class RigidRolls:
    """B trees alike whose n bones that are solved together turn freely."""

    def __init__(self, trees: Sequence[RigidTree], start: RigidTreeStart) -> None:
        """Compile trees that have the same ``likeness``."""
        count = trees[0].plan.count
        levers = [tree.plan.levers for tree in trees]
        self._has_lever = [lever is not None for lever in levers[0]]
        along = start.scale[:, :count] * [
            [np.zeros(3) if lever is None else lever for lever in own] for own in levers
        ]
        length = np.linalg.norm(along, axis=2, keepdims=True)
        self._along = along / np.where(length > 0.0, length, 1.0)
        self._offsets, self._local = start.offsets[:, :count], start.local[:, :count]
        self._source = rotation.rotate(self._local, self._along)
        root = (np.zeros(1, dtype=np.int64), np.full(1, -1))
        below = ((rows[rows < count], above[rows < count]) for rows, above in start.generations)
        self._generations = [root, *(each for each in below if len(each[0]))]
        self._kept: Collection[int] = ()
        self._steps = self._steps_with(())

    def _steps_with(self, kept: Collection[int]) -> list[_Step]:
        """Return what swings and what does not, generation by generation."""
        found = []
        for rows, above in self._generations:
            swings = np.array([self._has_lever[row] and row not in kept for row in rows.tolist()])
            found.append(_Step(rows, above, rows[swings], swings, rows[~swings]))
        return found

    def rolled(self, pick: Pick, whole: Array, kept: Collection[int]) -> tuple[Array, Array]:
        """Return bones that point as they do and have no more roll than they need.

        Every bone swings, in the space of its own parent, by the shortest rotation that points it
        where it shall be.

        Args:
            pick: Which trees, b of them.
            whole: Rotations of the bones as solved wxyz, in the bases, shape (b, n, 4).
            kept: Rows of bones whose whole rotation is wanted.

        Returns:
            Local rotations, and those in the bases, both (b, n, 4).
        """
        if kept != self._kept:
            self._kept, self._steps = kept, self._steps_with(kept)
        offsets, source, start = self._offsets[pick], self._source[pick], self._local[pick]
        wanted = rotation.rotate(whole, self._along[pick])
        whole, local = whole.copy(), np.empty_like(whole)
        for rows, above, own, swings, others in self._steps:
            frame = offsets[:, rows]
            if above[0] >= 0:
                frame = rotation.multiply(whole[:, above], frame)
            back = rotation.conjugate(frame)
            if len(others):
                local[:, others] = rotation.multiply(back[:, ~swings], whole[:, others])
            if not len(own):
                continue
            if len(others):
                frame, back = frame[:, swings], back[:, swings]
            swing = rotation.between(source[:, own], rotation.rotate(back, wanted[:, own]))
            local[:, own] = turned = rotation.multiply(swing, start[:, own])
            whole[:, own] = rotation.multiply(frame, turned)
        return local, whole
