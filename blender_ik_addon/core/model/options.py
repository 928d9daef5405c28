"""How to solve: the algorithm and its settings."""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from .errors import InvalidOptionError
from .records import freeze


class Solver(enum.StrEnum):
    """The algorithms that a chain may choose from."""

    TWO_BONE = "TWO_BONE"
    FABRIK = "FABRIK"
    CCD = "CCD"
    NEWTON = "NEWTON"
    FORCE = "FORCE"
    FOLLOW = "FOLLOW"


class Lead(enum.StrEnum):
    """Which end of a chain is led to the target."""

    TIP = "TIP"
    ROOT = "ROOT"


BY_CHAIN = "iterations", "tolerance", "use_flip_bend", "soft_distance"
"""Settings that may differ from chain to chain."""


@dataclass(frozen=True, slots=True)
class SolveOptions:
    """How to solve. Where many chains are solved at once, most settings may differ by chain.

    Attributes:
        solver: The algorithm, one for all chains.
        iterations: Cap on iterations of the iterative solvers, at least 1; or shape (B,).
        tolerance: Accepted distance from effector to target, in the unit of the positions; or
            shape (B,). A tolerance finer than float64 can resolve on the chain is taken as that
            resolution.
        use_flip_bend: Bend to the other side: the solution mirrored across the chord; or (B,).
        orient_weight: Share of the goal's tip rotation that the tip takes, from 0 to 1.
        use_finish: NEWTON finishes what FABRIK and CCD are too slow for, and chains with joints
            that have not arrived start anew; else these are the bare algorithms.
        soft_distance: Targets that lie nearer than this to full reach, or beyond, are approached
            more and more slowly, so that no joint pops straight; in the unit of the positions, or
            shape (B,). No more counts than half of the way from folded to stretched.
        keeps_start: Chains with joints, and trees, stay in the start pose unless another pose is
            better by what is worth a move: for chains that start from their own last pose.
        stays_near: Of the poses that meet the goals of a tree in levels, the one is found that is
            nearest to the start, by how readily joints turn: the last level. A free chain that
            bends to both sides of its chord at first keeps that with NEWTON, which else takes it
            for a straight one.
        lead: Which end FOLLOW leads to the target.
        max_bend: Greatest angle between neighbouring segments in radians, for FOLLOW without
            joints; half a turn is none.
        use_anchor: The end that FOLLOW does not lead stays where it is.
    """

    solver: Solver = Solver.NEWTON
    iterations: int | Counts = 500
    tolerance: float | Array = 1e-5
    use_flip_bend: bool | Flags = False
    orient_weight: float = 1.0
    use_finish: bool = True
    soft_distance: float | Array = 0.0
    keeps_start: bool = False
    stays_near: bool = False
    lead: Lead = Lead.TIP
    max_bend: float = math.pi
    use_anchor: bool = False

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not isinstance(self.solver, Solver):
            if self.solver not in set(Solver):
                names = ", ".join(Solver)
                raise InvalidOptionError(
                    f"There is no solver '{self.solver}': choose from {names}."
                )
            freeze(self, "solver", Solver(self.solver))
        for values, least, sentence in (
            (self.iterations, 1, "The cap on iterations must be at least 1: raise it."),
            (self.tolerance, 0.0, "The tolerance must be zero or more: set a distance."),
            (self.soft_distance, 0.0, "The soft distance must be zero or more: set a distance."),
            (self.max_bend, 0.0, "The greatest bend must be zero or more: set an angle."),
        ):
            is_enough = values >= least
            # NaN is not.
            if not (is_enough.all() if isinstance(is_enough, np.ndarray) else is_enough):
                raise InvalidOptionError(sentence)
        if not 0.0 <= self.orient_weight <= 1.0:
            raise InvalidOptionError("The orient_weight must lie between 0 and 1: set it there.")

    def take(self, rows: Counts) -> SolveOptions:
        """Return the options of some of many chains."""
        own = {name: getattr(self, name) for name in BY_CHAIN}
        own = {name: each[rows] for name, each in own.items() if isinstance(each, np.ndarray)}
        return self._with(own) if own else self

    def per_unit(self, unit: Array) -> SolveOptions:
        """Return the options with distances in spaces of which one is so many units, (B,)."""
        names = "tolerance", "soft_distance"
        return self._with({name: getattr(self, name) / unit for name in names})

    def _with(self, values: Mapping[str, object]) -> SolveOptions:
        """Return the options with other values, which need no check."""
        some = object.__new__(SolveOptions)
        for name in self.__slots__:
            freeze(some, name, values[name] if name in values else getattr(self, name))
        return some
