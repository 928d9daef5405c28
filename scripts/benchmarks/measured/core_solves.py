"""Measure this project's core. A worker: one process, one thread.

    python -m benchmarks.measured.core_solves CASES      any Python with NumPy

Models are built outside of the clock, as the rivals' are; goals are made within.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from benchmarks import answering
from benchmarks.clocks import round_clocks
from benchmarks.core_clocks import Clock, judged
from benchmarks.scenes.cases import Array
from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    Solution,
    Solutions,
    SolveOptions,
    Solver,
    solve,
    solve_batch,
)

# The cap that every rival with one has.
ITERATIONS = 500


def options_for(bones: int, tolerance: float) -> SolveOptions:
    """Return the options, with a tolerance in units of length."""
    solver = Solver.TWO_BONE if bones == 2 else Solver.NEWTON
    return SolveOptions(solver=solver, tolerance=tolerance, iterations=ITERATIONS)


class OurSolver:
    """One chain and `solve`, as `core_clocks.Solver` wants them."""

    def __init__(self, initial: Array) -> None:
        """Build the chain."""
        self.chain = Chain(initial)
        # By tolerance: settings are no part of a solve.
        self.options: dict[float, SolveOptions] = {}
        self.solution: Solution | None = None

    def solve(self, target: Array, tolerance: float) -> None:
        """Solve from the start pose."""
        if tolerance not in self.options:
            bones = len(self.chain.joint_positions) - 1
            self.options[tolerance] = options_for(bones, tolerance)
        self.solution = solve(self.chain, Goal(target), self.options[tolerance])

    def joints(self) -> Array:
        """Return the joints of the last solution."""
        assert self.solution is not None
        return self.solution.joint_positions


class OurClock(Clock):
    """The tasks, with one call for a whole batch."""

    def batch(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the times of solving all targets in one call, in milliseconds."""
        chains, targets, options = self._batch_of(case, tolerance)

        def solve_all() -> None:
            solve_batch(chains, Goals(targets), options)

        return round_clocks(lambda: None, solve_all)

    def check_batch(self, case: str, tolerance: float) -> dict[str, float]:
        """Tell how good the batch's solutions are, by the same rule as those of single solves."""
        chains, targets, options = self._batch_of(case, tolerance)
        solutions: Solutions = solve_batch(chains, Goals(targets), options)
        return judged(self.cases[case], solutions.joint_positions, tolerance)

    def _batch_of(self, case: str, tolerance: float) -> tuple[Chains, Array, SolveOptions]:
        subject = self.cases[case]
        starts = np.repeat(subject.initial[None], len(subject.targets), axis=0)
        options = options_for(subject.bones, tolerance * subject.bones)
        return Chains(starts), subject.targets, options


if __name__ == "__main__":
    answering.serve(OurClock(OurSolver, Path(sys.argv[1]), ""))
