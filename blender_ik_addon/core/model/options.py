"""Options of a solve: the algorithm and its settings."""

from __future__ import annotations

import enum
import math
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
    """The end of a chain that FOLLOW moves to the target."""

    TIP = "TIP"
    ROOT = "ROOT"


BY_CHAIN = "iterations", "tolerance", "use_flip_bend", "soft_distance"
"""Settings that may differ from chain to chain."""


@dataclass(frozen=True)
class SolveOptions:
    """Options of a solve. Those of ``BY_CHAIN`` may be arrays (B,) for B chains.

    Attributes:
        solver: The algorithm, one for all chains.
        iterations: Cap on iterations of the iterative solvers, at least 1; or shape (B,).
        tolerance: Accepted distance from effector to target, in the unit of the positions; or
            shape (B,). A tolerance finer than the resolution of float64 is raised to that.
        use_flip_bend: Whether to mirror the solution across the chord, so that it bends to the
            other side; or shape (B,).
        orient_weight: Share of the goal's tip rotation that the tip takes, from 0 to 1.
        use_finish: Whether NEWTON finishes chains for which FABRIK and CCD are too slow, and chains
            with joints that have not arrived restart. Otherwise the algorithms run alone.
        soft_distance: Distance before full reach from which targets are approached more and more
            slowly, so that no joint pops straight; in the unit of the positions, or shape (B,). It
            counts up to half of the way from folded to stretched.
        keeps_start: Whether chains with joints, and trees, stay in the start pose unless a better
            pose is worth the move. For chains that start from their last pose.
        stays_near: Whether the pose stays near to the start. The last priority of a tree is then
            the distance from the start, measured by the mobilities of the joints. A free chain that
            starts with bends to both sides of its chord keeps them with NEWTON, which otherwise
            treats it as straight.
        lead: The end that FOLLOW moves to the target.
        max_bend: Greatest angle between neighbouring segments in radians, for FOLLOW without
            joints; pi for no limit.
        use_anchor: Whether the end that FOLLOW does not lead stays in place.
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
        self._freeze_member("solver", "solver", Solver)
        self._freeze_member("lead", "end to lead", Lead)
        for name in (*BY_CHAIN, "orient_weight", "max_bend"):
            self._freeze_values(name)
        for values, minimum, sentence in (
            (self.iterations, 1, "The limit of iterations must be at least 1: raise it."),
            (self.tolerance, 0.0, "The tolerance must be zero or more: set a distance."),
            (self.soft_distance, 0.0, "The soft distance must be zero or more: set a distance."),
            (self.max_bend, 0.0, "The maximum bend must be zero or more: set an angle."),
        ):
            # NaN fails this comparison.
            if not np.all(values >= minimum):
                raise InvalidOptionError(sentence)
        if not 0.0 <= self.orient_weight <= 1.0:
            raise InvalidOptionError("The orient_weight is out of range: set it between 0 and 1.")

    def _freeze_member(self, name: str, words: str, kind: type[enum.StrEnum]) -> None:
        """Replace the name of a member of an enum by the member."""
        value = getattr(self, name)
        if not isinstance(value, kind):
            if value not in set(kind):
                raise InvalidOptionError(
                    f"There is no {words} '{value}': choose from {', '.join(kind)}."
                )
            freeze(self, name, kind(value))

    def _freeze_values(self, name: str) -> None:
        """Replace a list by an array, and check that values are numbers."""
        values = getattr(self, name)
        if isinstance(values, bool | int | float):
            return
        try:
            array = np.array(values)
        except ValueError:
            array = np.array(None)
        if array.dtype.kind not in "biuf":
            raise InvalidOptionError(f"The option {name} must be a number: give one.")
        if array.ndim > (name in BY_CHAIN):
            raise InvalidOptionError(
                f"The option {name} has {array.ndim} axes: give one number"
                f"{' for each chain, or for all' if name in BY_CHAIN else ''}."
            )
        array.setflags(write=False)
        freeze(self, name, array if array.ndim else array.item())

    def check_count(self, count: int) -> None:
        """Raise ``InvalidOptionError`` unless arrays have one value for each of some chains."""
        for name in BY_CHAIN:
            values = getattr(self, name)
            if isinstance(values, np.ndarray) and len(values) != count:
                raise InvalidOptionError(
                    f"There are {len(values)} values of {name} for {count} chains: give one for"
                    " each chain, or one number for all."
                )

    def take(self, rows: Counts) -> SolveOptions:
        """Return the options of some of the chains."""
        fields = {name: getattr(self, name) for name in BY_CHAIN}
        fields = {name: f[rows] for name, f in fields.items() if isinstance(f, np.ndarray)}
        return self._with(fields) if fields else self

    def per_unit(self, unit: Array) -> SolveOptions:
        """Return the options with distances divided by units of length (B,)."""
        names = "tolerance", "soft_distance"
        return self._with({name: getattr(self, name) / unit for name in names})

    def _with(self, values: dict[str, object]) -> SolveOptions:
        """Return the options with some values replaced, without a check."""
        options = object.__new__(SolveOptions)
        vars(options).update(vars(self), **values)
        return options
