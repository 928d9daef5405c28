"""This project's core and its rival in Python on the cases: one loop for both. A worker.

    python -m benchmarks.core.solvers SOLVER      core or pin

Models are built outside of the clock; what one solve needs is made within.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from pathlib import Path

import numpy as np

from benchmarks.core import cases
from benchmarks.core.cases import Array, Case
from benchmarks.pages import AT_ONCE, CORE
from benchmarks.workers import round_clocks, serve

# The cap that every solver with one has.
ITERATIONS = 500
# So often all targets are solved singly in a round, unless that takes long.
MOST_PASSES = 30
# Rounding, beyond the tolerance, and of bones.
SLACK, LONGER = 1e-6, 1e-5


class Solver:
    """A model of one chain, built from the joints of its start pose."""

    def solve(self, target: Array, tolerance: float) -> None:
        """Solve from the start pose; this call is timed."""
        raise NotImplementedError

    def joints(self) -> Array:
        """Return the joints of the last solution, shape (n + 1, 3)."""
        raise NotImplementedError

    def solve_all(self, targets: Array, tolerance: float, *, is_timed: bool) -> Array:
        """Solve all and return their joints, none where it is timed."""
        found = []
        for target in targets:
            self.solve(target, tolerance)
            if not is_timed:
                found.append(self.joints())
        return np.array(found)


class Clock:
    """The tasks of a worker that measures one solver."""

    def __init__(self, name: str) -> None:
        module = importlib.import_module(f"benchmarks.core.with_{name}")
        self.case = functools.cache(Case.named)
        self.solver = functools.cache(lambda case: module.Solver(self.case(case).initial))

    def write_cases(self, path: str) -> None:
        cases.write(Path(path), [case for case, *_ in CORE])

    def check(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the share of targets reached, and the worst distance in lengths of the chain."""
        solver, subject, absolute = self._prepared(case, tolerance)
        solve_all = Solver.solve_all if tolerance < AT_ONCE else type(solver).solve_all
        joints = solve_all(solver, subject.targets, absolute, is_timed=False)
        distances = np.linalg.norm(joints[:, -1] - subject.targets, axis=1) / subject.bones
        lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
        if max(np.abs(lengths - 1.0).max(), np.abs(joints[:, 0]).max()) > LONGER * subject.bones:
            raise ValueError("It stretches bones, or its root is not where it was.")
        return {
            "reached": float(np.mean(distances <= tolerance * (1.0 + SLACK))),
            "worst": float(distances.max()),
        }

    def single(self, case: str, tolerance: float) -> dict[str, float]:
        solver, subject, absolute = self._prepared(case, tolerance)
        targets = itertools.cycle(subject.targets)
        most = MOST_PASSES * len(subject.targets)
        return round_clocks(lambda: None, lambda: solver.solve(next(targets), absolute), most)

    def batch(self, case: str, tolerance: float) -> dict[str, float]:
        solver, subject, absolute = self._prepared(case, tolerance)
        return round_clocks(
            lambda: None, lambda: solver.solve_all(subject.targets, absolute, is_timed=True)
        )

    def _prepared(self, case: str, tolerance: float) -> tuple[Solver, Case, float]:
        subject = self.case(case)
        return self.solver(case), subject, tolerance * subject.bones


if __name__ == "__main__":
    serve(Clock(sys.argv[1]))
