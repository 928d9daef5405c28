"""Methods of the iterative solvers in arrays, and how FABRIK, CCD and FORCE run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from . import force, limited_newton, seed
from .algebra.arithmetic import ARRAYS, Arithmetic
from .algebra.nested import Nested
from .chain import Solver
from .kinematics.bend_plane import Bend
from .kinematics.start_pose import StartPose
from .solvers import newton_directions
from .solvers.newton_directions import FIRST_DAMPING, mix_directions
from .solving.iteration import PROGRESS_WINDOW, Method, Progress, Work, iterate
from .solving.sweeps import MOST_SWEEPS, Sweeps, sweep_points
from .task import Task
from .vectors import Array, Counts, Flags, laid, norm

Step = Callable[[Array, Any, Array, Array], tuple[Array, Array]]
"""From what stands now, chains, target and what an iteration hands to the next one, to what stands
then and what it hands on; the chains are the last axis of all of them. The last row of what stands,
as far as the target goes, is what the target is compared with."""

# The sweeps of FORCE converge linearly. A chain that at the rate of its last window would not
# arrive within its cap is handed to NEWTON. The first window is a run-in, so a cap of up to two
# windows is never cut short.
# Who sets so few iterations wants to see what so few do: nothing is handed over or accelerated.
FEW_ITERATIONS = 2 * PROGRESS_WINDOW
# NEWTON takes up to 26 iterations in all measured cases; what it has not finished by then is stuck
# where the sweeps have left it, and it starts from a pose of its own.
ENOUGH_FOR_NEWTON = 40
# NEWTON inside of limits stops where a window leaves more than this share of the error: there a
# target out of reach is met as nearly as it can be.
STANDSTILL = 0.999


def iterated(
    start: StartPose,
    task: Task,
    bend: Bend,
    distance: Array,
    solver: Solver,
    *,
    sweeps: Sweeps | None = None,
    use_finish: bool = True,
) -> tuple[Array, Counts]:
    """Return joints in the frame of the bend, (n + 1, 3, B), and the iterations used, (B,).

    Args:
        start: Start poses.
        task: What is asked for.
        bend: How the chains shall lie.
        distance: From root to target, within reach, shape (B,).
        solver: FABRIK, CCD or FORCE.
        sweeps: How FABRIK and CCD go on; None for FORCE.
        use_finish: Whether NEWTON finishes what sweeps are too slow for.
    """
    target = np.zeros((3, len(distance)))
    target[0] = distance
    work = Work(start.lengths, target, task.tolerance, task.iterations)
    # They find their own way from the start pose as it stands, as they do elsewhere.
    frame = bend.frame
    there = distance * frame[0]
    is_off = norm(there - start.points[-1]) > task.tolerance
    nudged = seed.nudged(start.points, start.lengths, frame)
    points = np.where(is_off, nudged, start.points)
    if sweeps is None:
        memory = force.no_memory(len(points) - 1, points.shape[-1])
        standing = Work(start.lengths, there, task.tolerance, task.iterations)
        none_used = np.zeros_like(task.iterations)
        points, used = swept(sweeps_of(force.step), standing, points, none_used, memory)
    else:
        caps = np.minimum(task.iterations, MOST_SWEEPS) if use_finish else task.iterations
        found = sweep_points(sweeps, points, start.lengths, there, task.tolerance, caps)
        points, used = found.points, found.used
    local = np.einsum("nkb,jkb->njb", points, frame)
    return _finished(start, work, local, used) if use_finish else (local, used)


def _damping(points: Array) -> Array:
    damping: Array = np.full(points.shape[-1], FIRST_DAMPING)
    return damping


def _finished(start: StartPose, work: Work, points: Array, used: Counts) -> tuple[Array, Counts]:
    """Have NEWTON finish what sweeps were too slow for, if need be from a start of its own."""
    error = norm(work.target - points[-1])
    is_open = (error > work.tolerance) & (used < work.caps)
    if not is_open.any():
        return points, used
    enough = np.minimum(work.caps, used + ENOUGH_FOR_NEWTON)
    finishing = Work(work.chain, work.target, work.tolerance, enough)
    points, used = swept(NEWTON, finishing, points, used, _damping(points))
    error = norm(work.target - points[-1])
    is_stuck = (error > work.tolerance) & (used < work.caps)
    if not is_stuck.any():
        return points, used
    # Chains that lie on one line: no step leads off it.
    directions = mix_directions(ARRAYS, start, work.target[0])
    anew = laid(start.lengths[:, None] * directions)
    anew = np.where(is_stuck, anew, points)
    fresh, used = swept(NEWTON, work, anew, used, _damping(points))
    return np.where(norm(work.target - fresh[-1]) < error, fresh, points), used


def swept(
    method: Method, work: Work, points: Array, used: Counts, carried: Array
) -> tuple[Array, Counts]:
    """Repeat a step until every chain has arrived, used up its cap, or makes no headway.

    Args:
        method: What is repeated.
        work: The chains and their targets.
        points: What stands at first: joints, or the states of jointed bones.
        used: Iterations used so far, shape (B,).
        carried: What the first step takes on.

    Returns:
        The best that was found, and the iterations used.
    """
    rows = len(work.target)

    def step(_: Arithmetic, chain: Any, state: Nested, target: Array) -> tuple[Nested, Array]:
        state = method.step(state[0], chain, target, state[1])
        return state, norm(target - state[0][-1, :rows])

    state = points.copy(), carried
    begun = Progress(state, state, norm(work.target - points[-1, :rows]), used.copy())
    found = iterate(ARRAYS, replace(method, step=step), work, begun)
    return found.best[0], found.used


def _is_too_slow(error: Array, window_error: Array, work: Work, used: Counts) -> Flags:
    windows_left = (work.caps - used) / PROGRESS_WINDOW
    with np.errstate(divide="ignore"):
        forecast = np.log(error) + windows_left * np.log(error / window_error)
        too_slow: Flags = forecast > np.log(work.tolerance)
    return too_slow


def stands_still(error: Array, window_error: Array, _work: Work, _used: Counts) -> Flags:
    """Tell which errors have hardly fallen since a window ago."""
    still: Flags = error > STANDSTILL * window_error
    return still


def sweeps_of(step: Step) -> Method:
    """Return a method of sweeps, which converge linearly: judged after a run-in of one window."""
    return Method(step, is_hopeless=_is_too_slow, run_in=1)


NEWTON = Method(newton_directions.step, is_damped=True, compaction=0.5)
LIMITED_NEWTON = Method(
    limited_newton.step, is_damped=True, is_hopeless=stands_still, compaction=0.4
)
