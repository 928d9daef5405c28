"""The one loop and the one stop test of the iterative solvers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np

from . import seed
from .algebra.arithmetic import ARRAYS, Array, Counts, Flags
from .algebra.arrays import norm, sum_segments
from .algebra.nested import repeat_single, take_rows
from .kinematics.bend_plane import Bend
from .kinematics.kinematic_tree import compile_tree
from .kinematics.start_pose import StartPose
from .model.joints import free_joints
from .model.topology import make_chain
from .solvers import jacobian_transpose, newton_directions
from .solvers.newton_directions import FIRST_DAMPING, MOST_DAMPING, mix_directions
from .solving.sweeps import MOST_SWEEPS, Sweeps, sweep_points
from .solving.task import Task

Step = Callable[[Array, Any, Array, Array], tuple[Array, Array]]
"""From what stands now, chains, target and what an iteration hands to the next one, to what stands
then and what it hands on; the chains are the last axis of all of them. The last row of what stands,
as far as the target goes, is what the target is compared with."""

# The sweeps of FABRIK and CCD converge linearly, near full reach very slowly. A chain that at the
# rate of its last window would not arrive within its cap is handed to NEWTON. The first window is
# a run-in, so a cap of up to two windows is never cut short.
PROGRESS_WINDOW = 10
# Who sets so few iterations wants to see what so few do: nothing is handed over or accelerated.
FEW_ITERATIONS = 2 * PROGRESS_WINDOW
# NEWTON takes up to 26 iterations in all measured cases; what it has not finished by then is stuck
# where the sweeps have left it, and it starts from a pose of its own.
ENOUGH_FOR_NEWTON = 40
# NEWTON inside of limits stops where a window leaves more than this share of the error: there a
# target out of reach is met as nearly as it can be.
STANDSTILL = 0.999


@dataclass(frozen=True)
class Method:
    """What is repeated, and how to tell that it leads nowhere.

    Attributes:
        step: One iteration.
        is_damped: Whether a step hands on a damping, which tells when it is stuck.
        is_hopeless: From the errors now and a window ago, the chains, and the iterations that they
            have used, to which of them to leave; None to judge by the damping alone.
        run_in: Windows that are not judged.
        company: Share of chains that may be done and are computed on with the others all the same,
            for what they would have become is not taken: less work than to take a few out, where
            a step is cheap.
    """

    step: Step
    is_damped: bool = False
    is_hopeless: Callable[[Array, Array, Work, Counts], Flags] | None = None
    run_in: int = 0
    company: float = 0.0


class Takeable(Protocol):
    """Chains or trees of B rows, of which some can be taken."""

    def take(self, chains: Counts | Flags) -> Self:
        """Return some of them."""


@dataclass(frozen=True)
class Work:
    """Chains to iterate on, in any one frame.

    Attributes:
        chain: Lengths, shape (n, B), or jointed bones, or trees of them.
        target: Shape (3, B); of jointed bones with aims (7, B), of trees as many rows as outputs.
        tolerance: Shape (B,).
        caps: Most iterations, shape (B,).
    """

    chain: Array | Takeable
    target: Array
    tolerance: Array
    caps: Counts

    def take(self, chains: Counts | Flags) -> Work:
        """Return some of the chains."""
        own = self.chain
        return Work(
            take_rows(own, chains) if isinstance(own, np.ndarray) else own.take(chains),
            take_rows(self.target, chains),
            self.tolerance[chains],
            self.caps[chains],
        )


def iterated(
    start: StartPose,
    task: Task,
    bend: Bend,
    distance: Array,
    sweeps: Sweeps | None,
    *,
    use_finish: bool = True,
) -> tuple[Array, Counts]:
    """Return joints in the frame of the bend, (n + 1, 3, B), and the iterations used, (B,).

    Args:
        start: Start poses.
        task: What is asked for.
        bend: How the chains shall lie.
        distance: From root to target, within reach, shape (B,).
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
        points, used = _pull_free_joints(replace(work, target=there), points)
    else:
        caps = np.minimum(task.iterations, MOST_SWEEPS) if use_finish else task.iterations
        found = sweep_points(sweeps, points, start.lengths, there, task.tolerance, caps)
        points, used = found.points, found.used
    local = np.einsum("nkb,jkb->njb", points, frame)
    return _finished(start, work, local, used) if use_finish else (local, used)


def _pull_free_joints(work: Work, points: Array) -> tuple[Array, Counts]:
    """Have FORCE pull chains of free joints; their turns count from these points."""
    bones, chains = len(points) - 1, points.shape[-1]
    axes, unturned = np.tile(np.eye(3), (chains, bones, 1, 1)), np.eye(4)[0]
    joints = free_joints(axes, np.tile(unturned, (chains, bones, 1)))
    one = np.ones(chains)
    tree, _ = compile_tree(make_chain(bones), joints, points[:-1], points[-1:], one)
    state = tree.make_state(tree.joints.inner(joints.start_wxyz))
    memory = jacobian_transpose.begin_memory(bones, chains)
    method = sweeps_of(jacobian_transpose.step)
    pulled = replace(work, chain=tree)
    state, used = swept(method, pulled, state, np.zeros_like(work.caps), memory)
    return tree.posed(state).points, used


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
    anew = sum_segments(start.lengths[:, None] * directions)
    anew = np.where(is_stuck, anew, points)
    fresh, used = swept(NEWTON, work, anew, used, _damping(points))
    return np.where(norm(work.target - fresh[-1]) < error, fresh, points), used


def swept(
    method: Method, work: Work, points: Array, used: Counts, carried: Array
) -> tuple[Array, Counts]:
    """Repeat a step until every chain has arrived, used up its cap, or makes no headway.

    Chains that are done leave the arrays, or keep the others company.

    Args:
        method: What is repeated.
        work: The chains and their targets.
        points: What stands at first: joints, or the states of jointed bones.
        used: Iterations used so far, shape (B,).
        carried: What the first step takes on.

    Returns:
        The best that was found, and the iterations used.
    """
    result, used = points.copy(), used.copy()
    rows = len(work.target)
    error = norm(work.target - points[-1, :rows])
    is_open = (error > work.tolerance) & (used < work.caps)
    live = repeat_single(np.flatnonzero(is_open), len(used))
    best = points
    if not is_open.all():
        work, error = work.take(live), error[live]
        best, carried = take_rows(points, live), take_rows(carried, live)
    now, window_error, sweeps = best, error, 0
    is_open = np.ones(len(live), dtype=np.bool_)
    while live.size:
        now, carried = method.step(now, work.chain, work.target, carried)
        used[live] += is_open
        sweeps += 1
        new_error = norm(work.target - now[-1, :rows])
        # What has arrived and keeps the others company stays as it is.
        is_better = (new_error < error) & is_open
        best = now if is_better.all() else np.where(is_better, now, best)
        error = np.where(is_better, new_error, error)
        is_open &= ~_is_done(method, sweeps, error, window_error, carried, work, used[live])
        if sweeps % PROGRESS_WINDOW == 0:
            window_error = error
        left = np.count_nonzero(is_open)
        if left == 0:
            result[..., live] = best
            break
        if left < (1.0 - method.company) * len(live):
            result[..., live[~is_open]] = best[..., ~is_open]
            rest = repeat_single(np.flatnonzero(is_open), len(live))
            live, work, now, best = (
                live[rest],
                work.take(rest),
                take_rows(now, rest),
                take_rows(best, rest),
            )
            carried, error, window_error = take_rows(carried, rest), error[rest], window_error[rest]
            is_open = is_open[rest]
    return result, used


def _is_done(
    method: Method,
    sweeps: int,
    error: Array,
    window_error: Array,
    carried: Array,
    work: Work,
    used: Counts,
) -> Flags:
    """Tell which chains have arrived, used up their caps, or make no headway."""
    is_done = (error <= work.tolerance) | (used >= work.caps)
    if method.is_damped:
        is_done |= carried >= MOST_DAMPING
    is_judged = sweeps % PROGRESS_WINDOW == 0 and sweeps > method.run_in * PROGRESS_WINDOW
    if method.is_hopeless is not None and is_judged:
        is_done |= method.is_hopeless(error, window_error, work, used)
    return is_done


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


NEWTON = Method(newton_directions.step, is_damped=True, company=0.5)
