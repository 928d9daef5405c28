"""How many chains it takes until solving them side by side is quicker than one by one.

    python -m benchmarks.measured.core_switch        a Python with NumPy

Prints one line a solver: microseconds both ways for growing numbers of chains.
"""

from __future__ import annotations

import statistics
import time
from typing import Callable
from unittest import mock

import numpy as np

from benchmarks.scenes.cases import arc, targets_in_reach
from blender_ik_addon.core import Chains, Goals, SolveOptions, Solver, solve_batch
from blender_ik_addon.core.solving import compiled_chains

COUNTS = (1, 2, 4, 6, 8, 12, 16, 24, 32)
REPEATS = 60
Way = Callable[[], object]


def microseconds(work: Way) -> float:
    """Return the median time of some work."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def solved(bones: int, solver: Solver, count: int) -> tuple[float, float]:
    """Return how long ``solve_batch`` takes one by one and side by side."""
    chains = Chains(np.broadcast_to(arc(bones), (count, bones + 1, 3)))
    goals = Goals(targets_in_reach(bones, count))
    options = SolveOptions(solver=solver, tolerance=1e-6 * bones)
    found = []
    for few in (count, 0):
        with mock.patch.object(compiled_chains, "FEW", few):
            solve_batch(chains, goals, options)
            found.append(microseconds(lambda: solve_batch(chains, goals, options)))
    return found[0], found[1]


def main() -> None:
    """Print both ways for every solver and count."""
    for name, measured in (
        ("TWO_BONE", lambda count: solved(2, Solver.TWO_BONE, count)),
        ("NEWTON, 10 bones", lambda count: solved(10, Solver.NEWTON, count)),
        ("NEWTON, 50 bones", lambda count: solved(50, Solver.NEWTON, count)),
    ):
        cells = [(count, *measured(count)) for count in COUNTS]
        print(f"{name}: " + ", ".join(f"{n}: {one:.0f}/{side:.0f}" for n, one, side in cells))


if __name__ == "__main__":
    main()
