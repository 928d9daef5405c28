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
from typing import Any

import numpy as np

from benchmarks.core import cases
from benchmarks.core.cases import Array, Case
from benchmarks.pages import AT_ONCE, CORE
from benchmarks.workers import serve, time_round
from blender_ik_addon import core

# The cap that every solver has.
ITERATIONS = 500
# So often all targets are solved singly in a round, unless that takes long.
MOST_PASSES = 30
# Rounding, beyond the tolerance, and of bones.
SLACK, LONGER = 1e-6, 1e-5


class Core:
    """A chain of this project, called for one target, or for all at once."""

    def __init__(self, initial: Array) -> None:
        self.chain = core.Chain(initial)
        kind = core.Solver.TWO_BONE if len(initial) == 3 else core.Solver.NEWTON
        # By what they are made for: settings and chains are no part of a solve.
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
        cases.write(Path(path), [case for case, *_ in CORE])

    def check(self, case: str, tolerance: float) -> dict[str, float]:
        """Return the share of targets reached, and the worst distance in lengths of the chain."""
        solver, (initial, targets), absolute = self._prepared(case, tolerance)
        bones = len(initial) - 1
        if tolerance >= AT_ONCE and isinstance(solver, Core):
            joints = solver.solve_all(targets, absolute)
        else:
            found = []
            for target in targets:
                solver.solve(target, absolute)
                found.append(solver.joints())
            joints = np.array(found)
        distances = np.linalg.norm(joints[:, -1] - targets, axis=1) / bones
        lengths = np.linalg.norm(np.diff(joints, axis=1), axis=2)
        if max(np.abs(lengths - 1.0).max(), np.abs(joints[:, 0]).max()) > LONGER * bones:
            raise ValueError("It stretches bones, or its root is not where it was.")
        return {
            "reached": float(np.mean(distances <= tolerance * (1.0 + SLACK))),
            "worst": float(distances.max()),
        }

    def single(self, case: str, tolerance: float) -> float:
        solver, (_, targets), absolute = self._prepared(case, tolerance)
        following = itertools.cycle(targets)
        most = MOST_PASSES * len(targets)
        return time_round(lambda: None, lambda: solver.solve(next(following), absolute), most)

    def batch(self, case: str, tolerance: float) -> float:
        solver, (_, targets), absolute = self._prepared(case, tolerance)

        def solve_all() -> None:
            if isinstance(solver, Core):
                solver.solve_all(targets, absolute)
            else:
                for target in targets:
                    solver.solve(target, absolute)

        return time_round(lambda: None, solve_all)

    def _prepared(self, case: str, tolerance: float) -> tuple[Any, Case, float]:
        """Return solver and case, and the tolerance in lengths of bones."""
        subject = self.case(case)
        return self.solver(case), subject, tolerance * (len(subject.initial) - 1)


if __name__ == "__main__":
    serve(Clock(sys.argv[1]))
