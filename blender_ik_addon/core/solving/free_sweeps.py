"""FABRIK, CCD and FORCE on chains without limits, and NEWTON to finish what they leave open."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..algebra.arithmetic import ARRAYS, Array, Counts
from ..algebra.arrays import norm, reject, sum_segments, unit
from ..kinematics.bend_plane import Bend
from ..kinematics.kinematic_tree import compile_tree
from ..kinematics.start_pose import StartPose
from ..model.joints import free_joints
from ..model.topology import make_chain
from ..solvers import jacobian_transpose, newton_directions
from ..solvers.newton_directions import FIRST_DAMPING, mix_directions
from .iteration import Method, Work, iterate_states, judge_by_rate
from .sweeps import MOST_SWEEPS, Sweeps, sweep_points
from .task import Task

# Sideways push, as a share of the chain, that takes a straight chain off the line to its target:
# there FABRIK and CCD stand still.
NUDGE = 1e-3
# NEWTON takes up to 26 iterations in all measured cases; what it has not finished by then is stuck
# where the sweeps have left it, and it starts from a pose of its own.
ENOUGH_FOR_NEWTON = 40
NEWTON = Method(newton_directions.step, is_damped=True, compaction=0.5)


def sweep_free_chains(
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
    nudged = _nudge_points(start.points, start.lengths, frame)
    points = np.where(is_off, nudged, start.points)
    if sweeps is None:
        points, used = _pull_free_joints(replace(work, target=there), points)
    else:
        caps = np.minimum(task.iterations, MOST_SWEEPS) if use_finish else task.iterations
        found = sweep_points(sweeps, points, start.lengths, there, task.tolerance, caps)
        points, used = found.points, found.used
    local = np.einsum("nkb,jkb->njb", points, frame)
    return _finish(start, work, local, used) if use_finish else (local, used)


def _pull_free_joints(work: Work, points: Array) -> tuple[Array, Counts]:
    """Have FORCE pull chains of free joints; their turns count from these points."""
    bones, chains = len(points) - 1, points.shape[-1]
    axes, unturned = np.tile(np.eye(3), (chains, bones, 1, 1)), np.eye(4)[0]
    joints = free_joints(axes, np.tile(unturned, (chains, bones, 1)))
    one = np.ones(chains)
    tree, _ = compile_tree(make_chain(bones), joints, points[:-1], points[-1:], one)
    state = tree.make_state(tree.joints.inner(joints.start_wxyz))
    memory = jacobian_transpose.begin_memory(bones, chains)
    method = judge_by_rate(jacobian_transpose.step)
    pulled = replace(work, chain=tree)
    state, used = iterate_states(method, pulled, state, np.zeros_like(work.caps), memory)
    return tree.posed(state).points, used


def _finish(start: StartPose, work: Work, points: Array, used: Counts) -> tuple[Array, Counts]:
    """Have NEWTON finish what sweeps were too slow for, if need be from a start of its own."""
    error = norm(work.target - points[-1])
    is_open = (error > work.tolerance) & (used < work.caps)
    if not is_open.any():
        return points, used
    enough = np.minimum(work.caps, used + ENOUGH_FOR_NEWTON)
    finishing = Work(work.chain, work.target, work.tolerance, enough)
    points, used = iterate_states(
        NEWTON, finishing, points, used, np.full_like(work.tolerance, FIRST_DAMPING)
    )
    error = norm(work.target - points[-1])
    is_stuck = (error > work.tolerance) & (used < work.caps)
    if not is_stuck.any():
        return points, used
    # Chains that lie on one line: no step leads off it.
    directions = mix_directions(ARRAYS, start, work.target[0])
    anew = sum_segments(start.lengths[:, None] * directions)
    anew = np.where(is_stuck, anew, points)
    fresh, used = iterate_states(
        NEWTON, work, anew, used, np.full_like(work.tolerance, FIRST_DAMPING)
    )
    return np.where(norm(work.target - fresh[-1]) < error, fresh, points), used


def _nudge_points(points: Array, lengths: Array, frame: Array) -> Array:
    """Return poses of which none has all inner joints on the line from root to target.

    The push to the side is what is missing to ``NUDGE``, so it comes in without a jump.
    """
    reach = lengths.sum(axis=0)
    count = len(lengths)
    if count == 1:
        return points
    off_line = norm(reject(points[1:-1], frame[0])).max(axis=0)
    missing = np.maximum(0.0, NUDGE * reach - off_line)
    profile = np.sin(np.pi * np.arange(count + 1) / count)[:, None, None]
    pushed = points + profile * missing * frame[1]
    directions = unit(np.diff(pushed, axis=0), np.diff(points, axis=0) / lengths[:, None, :])
    return np.where(missing > 0.0, sum_segments(lengths[:, None] * directions), points)
