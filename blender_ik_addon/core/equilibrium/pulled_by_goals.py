"""Poses near to their start that goals pull at: softly, or as far as a force lets go of them.

A soft goal pulls as a spring does. One that is let go of pulls with its strength and, the farther
it is off, with more: it gives way no sooner than where a goal that is held would ask for more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..solvers.constrained_step import Curve
from ..solvers.posed_rows import BoneRows, PosedRows, apply, chains_first
from .near_start import NearStartAt, measure_nearness
from .potential_energy import PotentialEnergy

# Nearer than this share of the reach the direction of a pull is that of before.
NO_DIRECTION = 1e-3


@dataclass(frozen=True)
class Pulls:
    """How goals pull.

    Attributes:
        soft: The springs of each row of the output, shape (rows,); zero where none pulls so.
        let_go: Rows of what is let go of, one goal each.
        strengths: Their strengths.
        spring: What each of them pulls with beside it, for a distance of one.
    """

    soft: Array
    let_go: tuple[Counts, ...] = ()
    strengths: tuple[float, ...] = ()
    spring: float = 0.0


class Pulling(NamedTuple):
    """What acts on B trees.

    Attributes:
        near: Springs to the start.
        moved: How far first bones have moved before, shape (3, B).
        target: Of all outputs, shape (rows, B).
        toward: Where they are pulled that have no way to go, unit vectors by goal, shape (rows, B).
    """

    near: PotentialEnergy
    moved: Array
    target: Array
    toward: Array


class PulledByGoalsAt:
    """The energy of B trees at one pose."""

    def __init__(
        self, pulls: Pulls, near: NearStartAt, bones: BoneRows, posed: PosedRows, off: Array
    ) -> None:
        """Take how goals pull, the springs to the start, and what outputs are off, (B, rows).

        In the second half of ``off`` is where outputs are pulled that are not off at all.
        """
        self._near, self._bones, self._posed = near, bones, posed
        error, toward = np.split(off, 2, axis=1)
        self._force = error * pulls.soft
        self.total: Array = near.total + 0.5 * (error * self._force).sum(axis=1)
        self._soft, self._curves = pulls.soft, list[tuple[Counts, Array]]()
        for rows, strength in zip(pulls.let_go, pulls.strengths, strict=True):
            gap = error[:, rows]
            away = np.sqrt((gap * gap).sum(axis=1, keepdims=True))
            has_way = away > NO_DIRECTION
            way = np.where(has_way, gap / np.where(has_way, away, 1.0), toward[:, rows])
            self.total += strength * away[:, 0] + 0.5 * pulls.spring * (away * away)[:, 0]
            self._force[:, rows] = strength * way + pulls.spring * gap
            across = np.eye(len(rows)) - way[:, :, None] * way[:, None]
            steep = (strength / np.maximum(away, NO_DIRECTION))[..., None] * across
            self._curves.append((rows, steep + pulls.spring * np.eye(len(rows))))
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
            whole = curve(pulls) + (jacobian.swapaxes(1, 2) * self._soft) @ jacobian
            for rows, steep in self._curves:
                own = jacobian[:, rows]
                whole += own.swapaxes(1, 2) @ steep @ own
            return whole

        return slope, curve_all

    def foresee(self, move: Array) -> bool:
        """Derive from now on as springs act after moves (B, n, 3); tell if any act otherwise."""
        return self._near.foresee(move)


def measure_pulls(
    bones: BoneRows, acting: Pulling, pulls: Pulls
) -> Callable[[PosedRows, Array], PulledByGoalsAt]:
    """Return the function that measures the energy of poses."""
    near = measure_nearness(bones, (acting.near, acting.moved))
    target, toward = chains_first(acting.target), chains_first(acting.toward)

    def measure(posed: PosedRows, output: Array) -> PulledByGoalsAt:
        off = np.concatenate((target - output, toward), axis=1)
        return PulledByGoalsAt(pulls, near(posed, output), bones, posed, off)

    return measure
