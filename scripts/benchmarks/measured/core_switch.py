"""How many chains it takes until solving them side by side is quicker than one by one.

    python -m benchmarks.measured.core_switch        a Python with NumPy

Prints one line a solver: microseconds both ways for growing numbers of chains.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from functools import partial
from typing import Callable
from unittest import mock

import numpy as np

from benchmarks.scenes.cases import arc, targets_in_reach
from blender_ik_addon.core import Chains, Goals, JointKind, SolveOptions, Solver, solve_batch
from blender_ik_addon.core.solving import compiled_chains

COUNTS = (1, 2, 4, 6, 8, 12, 16, 24)
REPEATS = 30
Way = Callable[[], object]


def microseconds(work: Way) -> float:
    """Return the median time of some work."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def chains_of(bones: int, count: int, has_limits: bool) -> Chains:
    """Return chains alike, maybe of ball joints that turn by 0.9 radians to all sides."""
    chains = Chains(np.broadcast_to(arc(bones), (count, bones + 1, 3)))
    if not has_limits:
        return chains
    free = compiled_chains.compile_chains(chains).unconstrained.joints
    assert free is not None
    most = np.full((count, bones, 3), 0.9)
    return replace(
        chains, joints=replace(free, kinds=(JointKind.BALL,) * bones, low=-most, high=most)
    )


def solved(bones: int, solver: Solver, count: int, has_limits: bool = False) -> tuple[float, float]:
    """Return how long ``solve_batch`` takes one by one and side by side.

    Chains with limits go a tenth of the way to their targets: limits hold no chain back there.
    """
    targets = targets_in_reach(bones, count)
    if has_limits:
        targets = arc(bones)[-1] + 0.1 * (targets - arc(bones)[-1])
    goals, options = Goals(targets), SolveOptions(solver=solver, tolerance=1e-6 * bones)
    found = []
    for most in (count, 0):
        with mock.patch.object(compiled_chains, "MAX_CHAINS_IN_FLOATS", most):
            chains = chains_of(bones, count, has_limits)
            solve_batch(chains, goals, options)
            found.append(microseconds(partial(solve_batch, chains, goals, options)))
    return found[0], found[1]


def main() -> None:
    """Print both ways for every solver and count."""
    rows = [(2, Solver.TWO_BONE, False)]
    rows += [(bones, Solver.NEWTON, limits) for limits in (False, True) for bones in (2, 10, 50)]
    for solver in (Solver.FABRIK, Solver.CCD):
        rows += [(10, solver, limits) for limits in (False, True)]
    for bones, solver, limits in rows:
        cells = [(count, *solved(bones, solver, count, limits)) for count in COUNTS]
        name = f"{solver.name}, {bones} bones{', limits' if limits else ''}"
        print(f"{name}: " + ", ".join(f"{n}: {one:.0f}/{side:.0f}" for n, one, side in cells))


if __name__ == "__main__":
    main()
