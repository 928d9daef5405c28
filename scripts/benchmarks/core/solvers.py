"""Worker that runs the cases with this project's core or its rival in Python, by one loop.

    python -m benchmarks.core.solvers SOLVER      core or pin

Building a model is not timed; everything that one solve needs is timed.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.core import cases
from benchmarks.core.cases import Array, Case
from benchmarks.pages import CORE, MIN_BATCH_TOLERANCE
from benchmarks.workers import serve, time_round
from blender_ik_addon import core

# Most iterations of every solver.
ITERATIONS = 500
# Most passes over all targets in a round of single solves.
MAX_PASSES = 30
# Rounding that is allowed beyond the tolerance, and of bone lengths.
SLACK, LENGTH_SLACK = 1e-6, 1e-5


class Core:
    """A chain of this project, solved for one target or for all in a batch."""

    def __init__(self, initial: Array) -> None:
        self.chain = core.Chain(initial)
        kind = core.Solver.TWO_BONE if len(initial) == 3 else core.Solver.NEWTON
        # Cached, since making settings and chains is not part of a solve.
        self.options = functools.cache(
            lambda tolerance: core.SolveOptions(kind, tolerance=tolerance, iterations=ITERATIONS)
        )
        self.chains = functools.cache(lambda count: core.Chains(np.stack([initial] * count)))

    def solve(self, target: Array, tolerance: float) -> None:
        """Solve from the start pose; this call is timed."""
        self.solution = core.solve(self.chain, core.Goal(target), self.options(tolerance))

    def joints(self) -> Array:
        """Return the joints of the last solution, shape (n + 1, 3)."""
        return self.solution.joint_positions

    def solve_all(self, targets: Array, tolerance: float) -> Array:
        chains, options = self.chains(len(targets)), self.options(tolerance)
        return core.solve_batch(chains, core.Goals(targets), options).joint_positions


class Clock:
    """The tasks of a worker that measures one solver."""

    def __init__(self, name: str) -> None:
        pin = "benchmarks.core.with_pin"
        make = importlib.import_module(pin).Pin if name == "pin" else Core
        self.case = functools.cache(Case.named)
        self.solver = functools.cache(lambda case: make(self.case(case).initial))

    def write_cases(self, path: str) -> None:
        cases.write_cases(Path(path), [case for case, *_ in CORE])

    def check(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the share of targets reached and the worst distance, in lengths of the chain."""
        solver, (initial, targets), absolute = self._prepare(case, tolerance)
        bones = len(initial) - 1
        if tolerance >= MIN_BATCH_TOLERANCE and isinstance(solver, Core):
            joints = solver.solve_all(targets, absolute)
        else:
            poses = []
            for target in targets:
                solver.solve(target, absolute)
                poses.append(solver.joints())
            joints = np.array(poses)
        distances = np.linalg.norm(joints[:, -1] - targets, axis=1) / bones
        lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
        if max(np.abs(lengths - 1.0).max(), np.abs(joints[:, 0]).max()) > LENGTH_SLACK * bones:
            raise ValueError("It stretches bones, or its root is not where it was.")
        return {
            "reached": float(np.mean(distances <= tolerance * (1.0 + SLACK))),
            "worst": float(distances.max()),
        }

    def single(self, case: str, tolerance: float) -> float:
        solver, (_, targets), absolute = self._prepare(case, tolerance)
        in_turn = itertools.cycle(targets)
        repeats = MAX_PASSES * len(targets)
        return time_round(lambda: None, lambda: solver.solve(next(in_turn), absolute), repeats)

    def batch(self, case: str, tolerance: float) -> float:
        solver, (_, targets), absolute = self._prepare(case, tolerance)

        def solve_all() -> None:
            if isinstance(solver, Core):
                solver.solve_all(targets, absolute)
            else:
                for target in targets:
                    solver.solve(target, absolute)

        return time_round(lambda: None, solve_all)

    def _prepare(self, case: str, tolerance: float) -> tuple[Any, Case, float]:
        """Return the solver, the case, and the tolerance in lengths of bones."""
        chosen_case = self.case(case)
        return self.solver(case), chosen_case, tolerance * (len(chosen_case.initial) - 1)


if __name__ == "__main__":
    serve(Clock(sys.argv[1]))
