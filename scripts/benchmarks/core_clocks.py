"""Measure a solver on the cases: the same loop for this project's core and its Python rivals."""

from __future__ import annotations

import functools
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable, Protocol

import numpy as np

from benchmarks import answering
from benchmarks.clocks import SECONDS, round_clocks
from benchmarks.scenes import cases
from benchmarks.scenes.cases import Array, Case

# A single solve is so short that one reading would say little.
REPEATS = 5
# And 100 of the quickest ones together are, too: passes over all targets, unless they take long.
MOST_PASSES = 6
# Beyond the tolerance: rounding, and the single precision that some rivals compute in.
SLACK = 1e-6


class Solver(Protocol):
    """A solver and its model of one chain, which is made outside of the clock."""

    def solve(self, target: Array, tolerance: float) -> None:
        """Solve from the start pose; this call is timed."""

    def joints(self) -> Array:
        """Return the joints of the last solution, shape (n + 1, 3)."""


class Clock:
    """The tasks of a worker that measures one solver."""

    def __init__(self, make: Callable[[Array], Solver], cases_file: Path, version: str) -> None:
        """Remember what to measure.

        Args:
            make: Builds the solver's model of a chain from the joints of its start pose.
            cases_file: What `cases.write` has written.
            version: Of the measured package.
        """
        # Once for each start pose: building the model is not what is compared.
        self.solver_of = functools.cache(lambda case: make(self.cases[case].initial))
        self.cases = cases.read(cases_file)
        self.version = version

    def versions(self) -> dict[str, str]:
        """Return what runs here."""
        return {**answering.python_versions(), "package": self.version}

    def check(self, case: str, tolerance: float) -> dict[str, float]:
        """Solve every target once and tell how good the solutions are.

        Args:
            case: Name of the case.
            tolerance: As a share of the chain's length.
        """
        subject = self.cases[case]
        return judged(subject, np.array(list(self._solutions(case, tolerance))), tolerance)

    def single(self, case: str, tolerance: float) -> float:
        """Return the time of one solve, in milliseconds: the median over all targets."""
        solve, subject = self.solver_of(case).solve, self.cases[case]
        absolute = tolerance * subject.bones
        medians: list[float] = []
        begin = time.perf_counter()
        for _ in range(MOST_PASSES):
            medians += [_solve_seconds(solve, target, absolute) for target in subject.targets]
            if time.perf_counter() - begin > SECONDS:
                break
        return 1e3 * statistics.median(medians)

    def batch(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the times of solving all targets once, in milliseconds, one after another."""
        solve, subject = self.solver_of(case).solve, self.cases[case]
        absolute = tolerance * subject.bones

        def solve_all() -> None:
            for target in subject.targets:
                solve(target, absolute)

        return round_clocks(lambda: None, solve_all)

    def _solutions(self, case: str, tolerance: float) -> Iterator[Array]:
        solver, subject = self.solver_of(case), self.cases[case]
        for target in subject.targets:
            solver.solve(target, tolerance * subject.bones)
            yield solver.joints()


def _solve_seconds(solve: Callable[[Array, float], None], target: Array, tolerance: float) -> float:
    """Return the median time of a few solves for one target."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        solve(target, tolerance)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def judged(case: Case, joints: Array, tolerance: float) -> dict[str, float]:
    """Tell how good solutions are.

    Args:
        case: What was solved.
        joints: Of all solutions, shape (m, n + 1, 3).
        tolerance: Accepted distance of tip and target as a share of the chain's length.

    Returns:
        Share of reached targets; worst distance and worst error of a bone's length, both as a
        share of the chain's length.
    """
    distances = np.linalg.norm(joints[:, -1] - case.targets, axis=1) / case.bones
    lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
    worst_length = max(np.abs(lengths - 1.0).max(), np.abs(joints[:, 0]).max()) / case.bones
    return {
        "reached": float(np.mean(distances <= tolerance * (1.0 + SLACK))),
        "worst": float(distances.max()),
        "length_error": float(worst_length),
    }
