"""This project's core and its Python rivals on the cases: one loop for all. A worker.

    python -m benchmarks.core.solvers SOLVER      core, pin, momentum, or pyfabrik

Models are built outside of the clock; what one solve needs is made within.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import itertools
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.clocks import round_clocks
from benchmarks.core import cases
from benchmarks.core.cases import Array, Case
from benchmarks.pages import CORE
from benchmarks.workers import python_versions, serve

# The cap that every solver with one has.
ITERATIONS = 500
# So often all targets are solved singly in a round, unless that takes long.
MOST_PASSES = 30
# Beyond the tolerance: rounding, and the single precision that some rivals compute in.
SLACK = 1e-6
PACKAGES = {"pin": "pin", "momentum": "pymomentum-cpu", "pyfabrik": "pyfabrik"}


class Solver:
    """A model of one chain, built from the joints of its start pose."""

    def solve(self, target: Array, tolerance: float) -> None:
        """Solve from the start pose; this call is timed."""
        raise NotImplementedError

    def joints(self) -> Array:
        """Return the joints of the last solution, shape (n + 1, 3)."""
        raise NotImplementedError

    def solve_all(self, targets: Array, tolerance: float) -> Iterable[Array]:
        """Solve all; return their joints, found once somebody looks."""
        for target in targets:
            self.solve(target, tolerance)
            yield self.joints()

    def time_all(self, targets: Array, tolerance: float) -> None:
        """Solve all; this call is timed."""
        for target in targets:
            self.solve(target, tolerance)


class Clock:
    """The tasks of a worker that measures one solver."""

    def __init__(self, name: str) -> None:
        self.package = PACKAGES.get(name)
        module = importlib.import_module(f"benchmarks.core.with_{name}")
        self.case = functools.cache(Case.named)
        self.solver = functools.cache(lambda case: module.Solver(self.case(case).initial))

    def versions(self) -> dict[str, str]:
        package = self.package and {"package": importlib.metadata.version(self.package)}
        return {**python_versions(), **(package or {})}

    def write_cases(self, path: str) -> None:
        cases.write(Path(path), [case for case, *_ in CORE])

    def check(self, case: str, tolerance: float, task_of_case: str) -> dict[str, float]:
        """Return the share of targets reached, and the worst distance and error of lengths.

        Both as a share of the chain's length.
        """
        solver, subject, absolute = self._prepared(case, tolerance)
        one_by_one = Solver.solve_all(solver, subject.targets, absolute)
        is_single = task_of_case == "single"
        found = one_by_one if is_single else solver.solve_all(subject.targets, absolute)
        joints = np.array(list(found))
        distances = np.linalg.norm(joints[:, -1] - subject.targets, axis=1) / subject.bones
        lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
        error = max(np.abs(lengths - 1.0).max(), np.abs(joints[:, 0]).max()) / subject.bones
        return {
            "reached": float(np.mean(distances <= tolerance * (1.0 + SLACK))),
            "worst": float(distances.max()),
            "length_error": float(error),
        }

    def single(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the times of one solve: medians over all targets."""
        solver, subject, absolute = self._prepared(case, tolerance)
        targets = itertools.cycle(subject.targets)
        at = [subject.targets[0]]

        def prepare() -> None:
            at[0] = next(targets)

        def work() -> None:
            solver.solve(at[0], absolute)

        return round_clocks(prepare, work, MOST_PASSES * len(subject.targets))

    def batch(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the times of solving all targets once."""
        solver, subject, absolute = self._prepared(case, tolerance)
        return round_clocks(lambda: None, lambda: solver.time_all(subject.targets, absolute))

    def _prepared(self, case: str, tolerance: float) -> tuple[Solver, Case, float]:
        subject = self.case(case)
        return self.solver(case), subject, tolerance * subject.bones


if __name__ == "__main__":
    serve(Clock(sys.argv[1]))
