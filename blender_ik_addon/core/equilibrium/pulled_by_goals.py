"""Poses near to their start that goals pull at, as springs do."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..solvers.constrained_step import Curve
from ..solvers.posed_rows import BoneRows, PosedRows, apply, chains_first
from .near_start import NearStartAt, measure_nearness
from .potential_energy import PotentialEnergy


class Pulling(NamedTuple):
    """What acts on B trees.

    Attributes:
        near: Springs to the start.
        moved: How far first bones have moved before, shape (3, B).
        target: Of all outputs, shape (rows, B).
    """

    near: PotentialEnergy
    moved: Array
    target: Array


class PulledByGoalsAt:
    """The energy of B trees at one pose."""

    def __init__(
        self, soft: Array, near: NearStartAt, bones: BoneRows, posed: PosedRows, off: Array
    ) -> None:
        """Take the springs of outputs (rows,), those to the start, and what is off, (B, rows)."""
        self._soft, self._near, self._bones, self._posed = soft, near, bones, posed
        self._force = off * soft
        self.total: Array = near.total + 0.5 * (off * self._force).sum(axis=1)
        # How low it can get is not known.
        self.is_least: Flags = np.zeros(len(off), dtype=np.bool_)

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        slope, curve = self._near.derive(jacobian)
        slope = slope - apply(jacobian.swapaxes(1, 2), self._force)
        places = 3 * len(self._bones.tree.ends)

        def curve_all(force: Array) -> Array:
            # Aims that are not met are curved less than they tell.
            pulls = force.copy()
            pulls[:, :places] += self._force[:, :places]
            whole: Array = curve(pulls) + (jacobian.swapaxes(1, 2) * self._soft) @ jacobian
            return whole

        return slope, curve_all

    def foresee(self, move: Array) -> bool:
        """Derive from now on as springs act after moves (B, n, 3); tell if any act otherwise."""
        return self._near.foresee(move)


def measure_pulls(
    bones: BoneRows, acting: Pulling, soft: Array
) -> Callable[[PosedRows, Array], PulledByGoalsAt]:
    """Return the function that measures the energy of poses; outputs have springs (rows,)."""
    near = measure_nearness(bones, (acting.near, acting.moved))
    target = chains_first(acting.target)

    def measure(posed: PosedRows, output: Array) -> PulledByGoalsAt:
        return PulledByGoalsAt(soft, near(posed, output), bones, posed, target - output)

    return measure
