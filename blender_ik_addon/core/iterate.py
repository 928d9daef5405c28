"""Methods of the iterative solvers in arrays, and how FABRIK, CCD and FORCE run."""

from __future__ import annotations

import numpy as np

from . import force, limited_newton, seed
from .algebra.arithmetic import ARRAYS
from .chain import Solver
from .kinematics.bend_plane import Bend
from .kinematics.start_pose import StartPose
from .solvers import newton_directions
from .solvers.newton_directions import FIRST_DAMPING, mix_directions
from .solving.iteration import PROGRESS_WINDOW, Method, Work, stands_still, sweeps_of, swept
from .solving.sweeps import MOST_SWEEPS, Sweeps, sweep_points
from .task import Task
from .vectors import Array, Counts, laid, norm

# Who sets so few iterations wants to see what so few do: nothing is handed over.
FEW_ITERATIONS = 2 * PROGRESS_WINDOW
# NEWTON takes up to 26 iterations in all measured cases; what it has not finished by then is stuck
# where the sweeps have left it, and it starts from a pose of its own.
ENOUGH_FOR_NEWTON = 40


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


NEWTON = Method(newton_directions.step, is_damped=True, compaction=0.5)
LIMITED_NEWTON = Method(
    limited_newton.step, is_damped=True, is_hopeless=stands_still, compaction=0.4
)
