"""Chains without limits: their tips, their soft distances, what is left to the target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import FLOATS, Arithmetic, Array, Number
from ..algebra.quaternions import IDENTITY, Quaternion, rotate
from ..algebra.vectors import Vector, norm, scale, subtract
from ..kinematics.reach import soften_target
from ..kinematics.start_pose import StartPose
from ..model.options import SolveOptions
from ..model.status import name_outcome
from .free_positions import Positions, position_joints
from .task import Task, accept_distance, check_solver, relate_to_root


class FreePose(NamedTuple):
    """The pose of one chain without limits, or of many.

    Attributes:
        joints: Armature space, shape (n + 1, 3, ...).
        rotation: Of the whole chain.
        residual: From effector to target.
        iterations: Sweeps used.
        code: Index into ``STATUSES``.
    """

    joints: Array
    rotation: Quaternion
    residual: Number
    iterations: Number
    code: Number


# A single bone that takes a rotation leaves nothing to solve.
NOT_SOLVED = Positions(np.zeros((1, 3)), IDENTITY, 0, is_too_far=True, is_too_near=False)


def pose_chain(
    m: Arithmetic,
    start: StartPose,
    rest: StartPose | None,
    task: Task,
    options: SolveOptions,
) -> FreePose:
    """Return the pose that brings the effector to its target.

    A tip that takes a rotation is turned first; the rest of the chain is solved for its head.

    Args:
        m: Arithmetic of the start pose.
        start: Start pose.
        rest: The same without the tip; None where no tip takes a rotation, or nothing is left.
        task: What is asked for, armature space.
        options: Which solver, and whether NEWTON finishes; the rest is in the task.
    """
    target, tip, solved = task.target, None, start
    if task.tip is not None:
        tip = rotate(task.tip, scale(start.points[-1] - start.points[-2], start.unit))
        if rest is None:
            return _record(m, start, task, start.origin[None], NOT_SOLVED, tip)
        target, solved = subtract(target, tip), rest
    check_solver(options.solver, len(solved.lengths))
    short: Number = None
    if task.soft_distance is not None:
        reach, least = solved.reach * solved.unit, solved.least * solved.unit
        softened = soften_target(m, solved.root, target, reach, least, task.soft_distance)
        target, short = softened.target, softened.short
    related = relate_to_root(m, solved, target, task)
    found = position_joints(m, solved, related, options.solver, use_finish=options.use_finish)
    joints = found.points * solved.unit + solved.origin
    if short is not None:
        found = found._replace(is_too_far=found.is_too_far | softened.is_too_far)
    return _record(m, start, task, joints, found, tip, short)


def _record(
    m: Arithmetic,
    start: StartPose,
    task: Task,
    joints: Array,
    found: Positions,
    tip: Vector | None,
    short: Number = None,
) -> FreePose:
    """Add the tip, measure the residual on what is returned, and name the outcome."""
    if tip is not None:
        joints = np.concatenate((joints, (joints[-1] + np.array(tip))[None]))
    # One number of an array at a time is slow.
    end = joints[-1].tolist() if m is FLOATS else joints[-1]
    residual = norm(m, subtract(end, task.target))
    accepted = accept_distance(m, task.tolerance, start.reach * start.unit, task.target)
    code = name_outcome(m, residual, accepted, found.is_too_far, found.is_too_near, short=short)
    return FreePose(joints, found.rotation, residual, found.iterations, code)
