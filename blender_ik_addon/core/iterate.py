"""The one loop and the one stop test of the iterative solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from . import bend, ccd, fabrik, newton, seed, vectors
from .batch import Batch
from .bend import Bend
from .chain import Solver
from .vectors import Array, Counts, Flags, norm

Step = Callable[[Array, Array, Array, Array], tuple[Array, Array]]
STEPS: dict[Solver, Step] = {
    Solver.FABRIK: fabrik.step,
    Solver.CCD: ccd.step,
    Solver.NEWTON: newton.step,
}

# The sweeps of FABRIK and CCD converge linearly, near full reach very slowly. A chain that at the
# rate of its last window would not arrive within its cap is handed to NEWTON. The first window is
# a run-in, so a cap of up to two windows is never cut short: who sets so few iterations wants to
# see what so few do.
PROGRESS_WINDOW = 10
# NEWTON takes up to 26 iterations in all measured cases; what it has not finished by then is stuck
# where the sweeps have left it, and it starts from a pose of its own.
ENOUGH_FOR_NEWTON = 40


def iterated(batch: Batch, plan: Bend, target: Array, solver: Solver) -> tuple[Array, Counts]:
    """Return the joints (n + 1, 3, B) and the iterations used (B,) for targets within reach."""
    turned = vectors.rotate(plan.chain_rotation, batch.points)
    if solver is Solver.NEWTON:
        start = turned
        seeded = seed.natural(start, batch.lengths, target, plan)
    else:
        # FABRIK and CCD find their own way from the start pose, as they do elsewhere.
        start = batch.points
        seeded = seed.nudged(start, batch.lengths, target, plan)
    is_there = norm(target - start[-1]) <= batch.tolerance
    points = np.where(is_there, start, seeded)
    points, used = _swept(STEPS[solver], batch, target, points, np.zeros_like(batch.iterations))
    if solver is not Solver.NEWTON:
        enough = np.minimum(batch.iterations, used + ENOUGH_FOR_NEWTON)
        finishing = replace(batch, iterations=enough)
        points, used = _swept(newton.step, finishing, target, points, used)
        points, used = _started_anew(batch, target, points, used, turned, plan)
    swivelled = bend.swivelled(points, plan, batch.lengths.sum(axis=0))
    return np.where(batch.pole.is_set, swivelled, points), used


def _started_anew(
    batch: Batch, target: Array, points: Array, used: Counts, turned: Array, plan: Bend
) -> tuple[Array, Counts]:
    """Give chains that have got stuck on one line, where no step leads off it, a fresh start."""
    error = norm(target - points[-1])
    is_stuck = (error > batch.tolerance) & (used < batch.iterations)
    if not is_stuck.any():
        return points, used
    start = np.where(is_stuck, seed.natural(turned, batch.lengths, target, plan), points)
    fresh, used = _swept(newton.step, batch, target, start, used)
    return np.where(norm(target - fresh[-1]) < error, fresh, points), used


def _swept(
    step: Step, batch: Batch, target: Array, points: Array, used: Counts
) -> tuple[Array, Counts]:
    """Repeat a step until every chain has arrived, used up its cap, or makes no headway."""
    damping = np.full(points.shape[-1], newton.FIRST_DAMPING)
    error = norm(target - points[-1])
    best, best_error, window_error = points, error, error
    is_stuck: Flags = np.zeros(error.shape, dtype=np.bool_)
    sweeps = 0
    while True:
        is_active = (best_error > batch.tolerance) & (used < batch.iterations) & ~is_stuck
        is_active &= damping < newton.MOST_DAMPING
        if not is_active.any():
            return best, used
        points, damping = step(points, batch.lengths, target, damping)
        used = used + is_active
        sweeps += 1
        error = norm(target - points[-1])
        is_best = is_active & (error < best_error)
        best = np.where(is_best, points, best)
        best_error = np.where(is_best, error, best_error)
        if step is not newton.step and sweeps % PROGRESS_WINDOW == 0:
            if sweeps > PROGRESS_WINDOW:
                is_stuck = is_stuck | _is_too_slow(best_error, window_error, batch, used)
            window_error = best_error


def _is_too_slow(error: Array, window_error: Array, batch: Batch, used: Counts) -> Flags:
    windows_left = (batch.iterations - used) / PROGRESS_WINDOW
    with np.errstate(divide="ignore"):
        forecast = np.log(error) + windows_left * np.log(error / window_error)
        too_slow: Flags = forecast > np.log(batch.tolerance)
    return too_slow
