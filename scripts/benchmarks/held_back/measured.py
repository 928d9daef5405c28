"""Measure chains that limits keep from their targets. A worker: one process, one thread.

    python -m benchmarks.held_back.measured     a Python with NumPy, with the checkout on its path

Chains are compiled outside of the clock, as those that are live; goals are made within.
"""

from __future__ import annotations

import statistics
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks import answering
from benchmarks.held_back import calls, held_chains, nearest
from benchmarks.held_back.held_chains import LIMIT, Array
from blender_ik_addon.core import (
    Chain,
    Chains,
    Goal,
    Goals,
    SolveOptions,
    Solver,
    solve,
    solve_batch,
)

TOLERANCE = 1e-5
ITERATIONS = 500
# Targets whose solves are timed in a round, each so often.
TIMED, REPEATS = 24, 3
NEAR = 1e-4, 1e-3
"""Shares of the length by which residuals may exceed the least."""
AT_REST = 0.01
"""Radians that a joint may stand from where more iterations lead it."""
MORE_STEPS = 5000


def options_of(solver: str, times: int = 1) -> SolveOptions:
    """Return how chains are solved, with so many times the iterations."""
    return SolveOptions(Solver(solver), iterations=times * ITERATIONS, tolerance=TOLERANCE)


def clock(bones: int, solver: str) -> dict[str, float]:
    """Return milliseconds of a solve, median over targets: held back, reached, and their ratio."""
    goals, chain, options = held_chains.goals_of(bones), _chain(bones), options_of(solver)
    times: dict[str, list[float]] = {"held": [], "reached": []}
    for pair in zip(goals.held[:TIMED], goals.reached):
        for name, target in zip(times, pair):
            times[name].append(_solve_milliseconds(chain, target, options))
    held, reached = (statistics.median(each) for each in times.values())
    return {"held": held, "reached": reached, "ratio": held / reached}


_chains: dict[int, Chain] = {}


def _chain(bones: int) -> Chain:
    if bones not in _chains:
        _chains[bones] = held_chains.make_chain(bones)
    return _chains[bones]


def _solve_milliseconds(chain: Chain, target: Array, options: SolveOptions) -> float:
    times = []
    for _ in range(REPEATS):
        # The work of this one thread: others may have the machine meanwhile.
        begun = time.process_time()
        solve(chain, Goal(target), options)
        times.append(time.process_time() - begun)
    return 1e3 * min(times)


def judge(bones: int, solver: str) -> dict[str, Any]:
    """Return how much farther solutions stay from targets than need be, and where joints end.

    Excesses are in lengths; ``misses`` are the rows that exceed the larger share. Joints are
    compared, in radians, with those of ten times the cap on iterations (``longer``), of a solve
    that starts at the solution (``again``), and of the minimum nearby (``ended``).
    """
    goals = held_chains.goals_of(bones)
    chains = held_chains.chains_from(_repeat(held_chains.start_rotations(bones), len(goals.held)))
    found = _solve_rows(chains, goals.held, solver)
    excess = found.residual - goals.least
    turns = {
        "longer": _solve_rows(chains, goals.held, solver, 10).local_rotations_wxyz,
        "again": _solve_rows(
            held_chains.chains_from(found.local_rotations_wxyz), goals.held, solver
        ).local_rotations_wxyz,
    }
    begun = nearest.coordinates_of(found.local_rotations_wxyz, LIMIT)
    ended, _ = nearest.find_nearest(begun, goals.held, LIMIT, MORE_STEPS)
    turns["ended"] = nearest.pose(ended, LIMIT)[0]
    angles = {
        name: _largest_angles(found.local_rotations_wxyz, each) for name, each in turns.items()
    }
    misses = np.flatnonzero(excess > NEAR[1])
    return {
        "within": [float((excess <= share).mean()) for share in NEAR],
        "median": float(np.median(excess)),
        "worst": float(excess.max()),
        "better": float(-excess.min()),
        "misses": {int(row): float(excess[row]) for row in misses},
        "at_rest": {name: float((each <= AT_REST).mean()) for name, each in angles.items()},
        "farthest": {name: float(np.quantile(each, 0.95)) for name, each in angles.items()},
        "iterations": float(np.median(found.iterations)),
    }


def _repeat(rotations: Array, count: int) -> Array:
    return np.repeat(rotations[None], count, axis=0)


def _solve_rows(chains: Chains, targets: Array, solver: str, times: int = 1) -> Any:
    return solve_batch(chains, Goals(targets), options_of(solver, times))


def _largest_angles(a: Array, b: Array) -> Array:
    """Return the largest angles (B,) between the joints of poses (B, n, 4)."""
    apart = np.minimum(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))
    largest: Array = 4.0 * np.arcsin(np.minimum(apart / 2.0, 1.0)).max(axis=-1)
    return largest


if __name__ == "__main__":
    answering.serve(SimpleNamespace(clock=clock, judge=judge, count=calls.count))
