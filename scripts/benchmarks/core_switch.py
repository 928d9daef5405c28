"""How many chains it takes until solving them side by side is quicker than one by one.

    python -m benchmarks.core_switch        a Python with NumPy

Prints one line a solver: microseconds both ways for growing numbers of chains.
"""

from __future__ import annotations

import statistics
import time
from typing import Callable
from unittest import mock

import numpy as np

from benchmarks.cases import arc, targets_in_reach
from blender_ik_addon.core import (
    Chains,
    Goals,
    SinglePlanarTurns,
    SolveOptions,
    Solver,
    TwoBoneTurns,
    batch,
    planar_turns,
    solve_batch,
)

COUNTS = (1, 2, 4, 6, 8, 12, 16, 24, 32)
REPEATS = 60
NOT_TURNED = (1.0, 0.0, 0.0, 0.0)
Way = Callable[[], object]
Vector = tuple[float, float, float]


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
        with mock.patch.object(batch, "FEW", few):
            solve_batch(chains, goals, options)
            found.append(microseconds(lambda: solve_batch(chains, goals, options)))
    return found[0], found[1]


def turned(bones: int, count: int) -> tuple[float, float]:
    """Return how long chains in planes take, straight to turns, both ways."""
    chains = Chains(np.broadcast_to(arc(bones), (count, bones + 1, 3)))
    targets = targets_in_reach(bones, count)
    goals = Goals(targets)
    rotations = np.tile(NOT_TURNED, (count, bones, 1))
    many = planar_turns(chains, rotations, rotations)
    options = SolveOptions(
        solver=Solver.TWO_BONE if bones == 2 else Solver.NEWTON, tolerance=1e-6 * bones
    )
    points = [tuple(target) for target in targets.tolist()]
    one_by_one = _limbs(chains, points) if bones == 2 else _longer(chains, points, options)
    return microseconds(one_by_one), microseconds(lambda: many.solved(goals, options))


def _limbs(chains: Chains, points: list[Vector]) -> Way:
    pair = (NOT_TURNED, NOT_TURNED)
    limbs = [TwoBoneTurns(chains.alone(i), pair, NOT_TURNED) for i in range(len(points))]
    return lambda: [
        limb.solved(point, None, 0.0, use_flip=False) for limb, point in zip(limbs, points)
    ]


def _longer(chains: Chains, points: list[Vector], options: SolveOptions) -> Way:
    rotations = np.tile(NOT_TURNED, (chains.bone_count, 1))
    limbs = [SinglePlanarTurns(chains.alone(i), rotations, rotations) for i in range(len(points))]
    return lambda: [limb.solved(point, None, 0.0, options) for limb, point in zip(limbs, points)]


def main() -> None:
    """Print both ways for every solver and count."""
    for name, measured in (
        ("limbs of two bones as turns", lambda count: turned(2, count)),
        ("chains of ten bones in planes as turns", lambda count: turned(10, count)),
        ("TWO_BONE", lambda count: solved(2, Solver.TWO_BONE, count)),
        ("NEWTON, 10 bones", lambda count: solved(10, Solver.NEWTON, count)),
        ("NEWTON, 50 bones", lambda count: solved(50, Solver.NEWTON, count)),
    ):
        cells = [(count, *measured(count)) for count in COUNTS]
        print(f"{name}: " + ", ".join(f"{n}: {one:.0f}/{side:.0f}" for n, one, side in cells))


if __name__ == "__main__":
    main()
