"""Chains without limits: turned tips, soft distances, and joints for any target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Condition, Counts, Number
from ..algebra.arrays import sum_segments
from ..algebra.chains_first import chains_last
from ..algebra.nested import choose, to_numbers
from ..algebra.quaternions import IDENTITY, Quaternion
from ..algebra.vectors import MIN_LENGTH, Vector, add, norm, scale, subtract
from ..descent.bone_rows import BoneRows
from ..descent.posed_rows import from_chains_last
from ..kinematics.bend_plane import Bend, face_side, plan_bend
from ..kinematics.kinematic_tree import compile_tree
from ..kinematics.reach import check_reach, soften_target
from ..kinematics.start_pose import StartPose, make_free_joints
from ..kinematics.task import Task, accept_distance, check_solver, find_arm, relate_to_root
from ..model.options import SolveOptions, Solver
from ..model.solutions import Solutions
from ..model.status import name_outcome
from ..model.topology import make_chain
from ..solvers import jacobian_transpose, newton_directions
from ..solvers.newton_directions import FIRST_DAMPING, find_gap, mix_directions
from ..solvers.two_bone import bend_elbow
from .iteration import RUN_IN_ITERATIONS, Method, Progress, Work, iterate, judge_by_rate
from .sweeps import MOST_SWEEPS, sweep_points

FLOAT_SOLVERS = frozenset((Solver.TWO_BONE, Solver.NEWTON, Solver.FABRIK, Solver.CCD))
"""The solvers that solve one chain in floats."""
NEWTON = Method(newton_directions.step, is_damped=True, compaction=0.5)
# Pulls of FORCE before NEWTON finishes, if more than ``RUN_IN_ITERATIONS`` may be used.
MAX_PULLS = 16
# NEWTON takes up to 26 iterations in all measured cases. A chain that needs more is stuck in the
# pose after the sweeps, and starts again from NEWTON's own start pose.
MAX_FINISHING_ITERATIONS = 40
# Share of the chain's length: least offset of a start pose to the side. FABRIK and CCD do not move
# a chain that is on the line from root to target. Ten times larger, the start pose visibly changes.
MIN_SIDE_OFFSET = 1e-3


class Positions(NamedTuple):
    """Solved joints (n + 1, 3, ...) relative to the root, in units of ``StartPose.unit``.

    Also the chain's rotation, the iterations used, and whether the target is out of reach.
    """

    points: Array
    rotation: Quaternion
    iterations: Number
    is_too_far: Condition
    is_too_near: Condition


# The solution for a single bone that takes a rotation: nothing is left to solve.
NOT_SOLVED = Positions(np.zeros((1, 3)), IDENTITY, 0, is_too_far=True, is_too_near=False)


class SolvedChain(NamedTuple):
    """A chain in floats, or B chains in arrays, armature space.

    Attributes:
        joints: Shape (n + 1, 3), or (n + 1, 3, B).
        rotation: Rotation of the whole chain wxyz.
        residual: Distance from the effector to the target.
        iterations: Iterations used.
        code: Outcome, an index into ``STATUSES``.
        local: Local rotations wxyz of a chain with joints, of B chains an array (B, n, 4); None
            without joints.
        tip_gap: Radians between the last bone of a chain with joints and its goal.
    """

    joints: Array
    rotation: Quaternion | Array
    residual: Number
    iterations: Number
    code: Number
    local: Any = None
    tip_gap: Number = 0.0


def pose_chain(
    m: Arithmetic, start: StartPose, stem: StartPose | None, task: Task, options: SolveOptions
) -> SolvedChain:
    """Return the pose that brings the effector to its target.

    A tip that takes a rotation is turned first; the stem, all other bones, is solved for its head.
    The stem is None for a single bone.
    """
    target, tip = task.target, None
    solved: StartPose | None = start
    if task.tip is not None:
        tip = scale(find_arm(m, start, task), start.unit)
        target, solved = subtract(target, tip), stem
    soft_shift: Number = None
    if solved is None:
        solution, joints = NOT_SOLVED, start.origin[None]
    else:
        check_solver(options.solver, len(solved.lengths), turns_tip=task.tip is not None)
        is_too_far: Condition = False
        if task.soft_distance is not None:
            reach, least = solved.reach * solved.unit, solved.least * solved.unit
            target, soft_shift, is_too_far = soften_target(
                m, solved.root, target, reach, least, task.soft_distance
            )
        related = relate_to_root(m, solved, target, task)
        solution = position_joints(
            m, solved, related, options.solver, use_finish=options.use_finish
        )
        solution = solution._replace(is_too_far=solution.is_too_far | is_too_far)
        joints = solution.points * solved.unit + solved.origin
    if tip is not None:
        joints = np.concatenate((joints, (joints[-1] + np.array(tip))[None]))
    # Measure the residual on the returned joints. Single numbers of an array are slow.
    end = joints[-1].tolist() if m is FLOATS else joints[-1]
    is_out = solution.is_too_far, solution.is_too_near
    outcome = measure_outcome(m, start, task, end, *is_out, soft_shift=soft_shift)
    return SolvedChain(joints, solution.rotation, outcome[0], solution.iterations, outcome[1])


def measure_outcome(
    m: Arithmetic,
    start: StartPose,
    task: Task,
    end: Vector,
    is_too_far: Condition,
    is_too_near: Condition,
    soft_shift: Number = None,
) -> tuple[Number, Number]:
    """Return the residual and the status code of a chain whose effector is at ``end``.

    All points are in armature space; the other arguments are as in ``name_outcome``.
    """
    residual = norm(m, subtract(end, task.target))
    accepted = accept_distance(m, task.tolerance, start.reach * start.unit, task.target)
    return residual, name_outcome(m, residual, accepted, is_too_far, is_too_near, short=soft_shift)


def join_solved(chains: Sequence[SolvedChain]) -> SolvedChain:
    """Return chains that were solved one by one, in floats, as arrays."""
    joints, rotation, *numbers, local, gap = zip(*chains, strict=True)
    has_joints = local[0] is not None
    return SolvedChain(
        np.array(joints).transpose(1, 2, 0),
        np.array(rotation).T,
        *map(np.array, numbers),
        *((np.array(local), np.array(gap)) if has_joints else ()),
    )


def record_solved(solved: SolvedChain, tips: Array | None = None) -> Solutions:
    """Return the solutions of chains in arrays, with turned tips (B, 4)."""
    count, local = solved.joints.shape[-1], solved.local
    rotation = np.empty((count, 4))
    for axis, number in enumerate(solved.rotation):
        rotation[:, axis] = number
    return Solutions(
        joint_positions=solved.joints.transpose(2, 0, 1),
        chain_rotation_wxyz=rotation,
        tip_rotation_wxyz=tips,
        residual=solved.residual,
        iterations=np.zeros(count, dtype=np.int64) + solved.iterations,
        status_code=solved.code,
        local_rotations_wxyz=local,
        slides=None if local is None else np.zeros(local.shape[:2]),
        holds=None if local is None else np.zeros(local[..., 1:].shape, dtype=np.bool_),
        tip_gap=solved.tip_gap,
    )


def position_joints(
    m: Arithmetic, start: StartPose, task: Task, solver: Solver, *, use_finish: bool = True
) -> Positions:
    """Return the joints that bring the effector to its target; FORCE takes arrays only."""
    bend = plan_bend(m, start.chord, start.side, start.reach, task.target, task.pole)
    is_too_far, is_too_near = check_reach(m, bend.distance, start.reach, start.least)
    is_out, used = is_too_far | is_too_near, 0
    if solver is Solver.TWO_BONE:
        points = _place_elbow(m, start, task, bend, is_out)
        return Positions(points, bend.rotation, used, is_too_far, is_too_near)
    if m.all(is_out):
        local = _lay_along_chord(start, is_too_far)
    else:
        # Out of reach, solve for a distance within reach and replace the pose.
        distance = m.where(is_out, 0.5 * (start.reach + start.least), bend.distance)
        if solver is Solver.NEWTON:
            segments, used = _bend(m, start, task, distance)
        else:
            segments, used = _sweep(m, start, task, bend, distance, solver, use_finish=use_finish)
        local = sum_segments(segments)
        if m.any(is_out):
            local = np.where(is_out, _lay_along_chord(start, is_too_far), local)
            used = m.where(is_out, 0, used)
    faced = bend
    if task.pole is not None or task.use_flip is not None:
        inner = local[1:-1].sum(axis=0) / max(len(local) - 2, 1)
        bulge = inner[1], inner[2]
        faced = face_side(m, bend, bulge, start.reach, task.pole, task.use_flip)
    points = m.place(local, faced.frame)
    return Positions(points, bend.rotation, used, is_too_far, is_too_near)


def _place_elbow(
    m: Arithmetic, start: StartPose, task: Task, bend: Bend, is_out: Condition
) -> Array:
    """Return the joints of TWO_BONE; its elbow is on the chord if the target is out of reach."""
    distance = m.minimum(m.maximum(bend.distance, start.least), start.reach)
    foot, height, base = bend_elbow(m, *start.pair, distance)
    height = m.where(is_out, 0.0, height)
    if task.use_flip is not None:
        height = m.where(task.use_flip, -height, height)
    zero = 0.0 * base
    elbow = add(scale(bend.chord, foot), scale(bend.side, height))
    return np.array(((zero, zero, zero), elbow, scale(bend.chord, base)))


def _lay_along_chord(start: StartPose, is_too_far: Any) -> Array:
    """Return straight chains, or folded ones: the longest segment forward, all others back."""
    steps = np.where(start.is_longest | is_too_far, start.lengths, -start.lengths)
    points = np.zeros_like(start.points)
    np.cumsum(steps, axis=0, out=points[1:, 0])
    return points


def _place(distance: Number) -> Vector:
    """Return the target in the frame of the bend."""
    return distance, 0.0 * distance, 0.0 * distance


def _bend(m: Arithmetic, start: StartPose, task: Task, distance: Number) -> tuple[Array, Number]:
    """Return the segments after NEWTON, in the frame of the bend, and the iterations used."""
    segments = start.directions * start.lengths[:, None]
    is_off = find_gap(m, start.newton_terms[-1], segments, _place(distance))[1] > task.tolerance
    if m.any(is_off):
        segments = choose(is_off, _mix_segments(m, start, task, distance), segments)
    solution = _iterate(m, start, task, distance, segments, 0 * task.iterations, task.iterations)
    return solution.best[0], solution.used


def _mix_segments(m: Arithmetic, start: StartPose, task: Task, distance: Number) -> Array:
    mixed = mix_directions(m, start, distance, stays_near=task.stays_near)
    return mixed * start.lengths[:, None]


def _iterate(
    m: Arithmetic,
    start: StartPose,
    task: Task,
    distance: Number,
    segments: Array,
    used: Number,
    cap: Number,
) -> Progress:
    """Repeat steps of NEWTON until the effector is at its target."""
    error, size = find_gap(m, start.newton_terms[-1], segments, _place(distance))
    state = segments, 0.0 * size + FIRST_DAMPING, error, size
    work = Work(start.newton_terms, _place(distance), task.tolerance, cap)
    return iterate(m, NEWTON, work, Progress(state, state, size, used))


def _sweep(
    m: Arithmetic,
    start: StartPose,
    task: Task,
    bend: Bend,
    distance: Number,
    solver: Solver,
    *,
    use_finish: bool,
) -> tuple[Array, Number]:
    """Return the segments after sweeps, in the frame of the bend, and the iterations used.

    Sweeps start from the start pose itself. NEWTON finishes slow ones, maybe from its own start.
    """
    target, tolerance, cap = _place(distance), task.tolerance, task.iterations
    points = m.place(start.points, bend.frame.swapaxes(0, 1))
    segments = points[1:] - points[:-1]
    is_off = find_gap(m, start.newton_terms[-1], segments, target)[1] > tolerance
    points = choose(is_off, _nudge_points(m, start, points), points)
    if solver is Solver.FORCE:
        pull_caps = np.where(cap > RUN_IN_ITERATIONS, MAX_PULLS, cap) if use_finish else cap
        points, used = _pull_free_joints(task, points, np.array(target), pull_caps)
    else:
        limits = tolerance, m.minimum(cap, MOST_SWEEPS) if use_finish else cap
        numbers = to_numbers(points, 2), to_numbers(start.lengths)
        swept, used = sweep_points(m, solver, *numbers, target, *limits)
        points = np.array(swept)
    segments = points[1:] - points[:-1]
    if not use_finish:
        return segments, used
    finish_cap = m.minimum(cap, used + MAX_FINISHING_ITERATIONS)
    finished = _iterate(m, start, task, distance, segments, used, finish_cap)
    is_stuck = (finished.error > tolerance) & (finished.used < cap)
    if not m.any(is_stuck):
        return finished.best[0], finished.used
    # Chains on one line are stuck: no step leaves it.
    segments = choose(is_stuck, _mix_segments(m, start, task, distance), finished.best[0])
    restarted = _iterate(m, start, task, distance, segments, finished.used, cap)
    best = choose(restarted.error < finished.error, restarted.best[0], finished.best[0])
    return best, restarted.used


def _pull_free_joints(
    task: Task, points: Array, target: Array, caps: Counts
) -> tuple[Array, Counts]:
    """Pull chains of free joints with FORCE; their turns count from these points.

    As chains with joints they would take 1.2 to 3 times as long, and with poles other poses.
    """
    bones, chains = len(points) - 1, points.shape[-1]
    joints = make_free_joints(chains, bones)
    tree, _ = compile_tree(make_chain(bones), joints, points[:-1], points[-1:], np.ones(chains))
    rows = BoneRows(tree, np.zeros((bones, chains)))
    start = jacobian_transpose.begin(rows, tree.joints.to_turns(joints.start_wxyz), target)
    work = Work(rows, target, task.tolerance, caps)
    progress = Progress(start[0], *start, np.zeros_like(task.iterations))
    result = iterate(ARRAYS, judge_by_rate(jacobian_transpose.step), work, progress)
    return chains_last(from_chains_last(result.best).points), result.used


def _nudge_points(m: Arithmetic, start: StartPose, points: Array) -> Array:
    """Return poses with at least one inner joint off the line from root to target, along X.

    Chains are moved only by the part of ``MIN_SIDE_OFFSET`` that they lack, so poses do not jump.
    """
    count = len(points) - 1
    if count == 1:
        return points
    off_line = np.hypot(points[1:-1, 1], points[1:-1, 2]).max(axis=0)
    missing = m.maximum(0.0, MIN_SIDE_OFFSET * start.reach - off_line)
    if not m.any(missing > 0.0):
        return points
    pushed, profile = points.copy(), np.sin(np.pi * np.arange(count + 1) / count)
    pushed[:, 1] += np.multiply.outer(profile, missing)
    segments = np.diff(pushed, axis=0)
    sizes = np.sqrt(m.square(segments))[:, None]
    is_long = sizes > MIN_LENGTH
    lengths = start.lengths[:, None]
    bent = segments * (lengths / np.where(is_long, sizes, 1.0))
    bent = np.where(is_long, bent, np.diff(points, axis=0))
    return np.where(missing > 0.0, sum_segments(bent), points)
