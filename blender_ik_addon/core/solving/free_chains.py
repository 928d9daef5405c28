"""Chains without limits: their tips, their soft distances, what is left to the target."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import FLOATS, Arithmetic, Array, Condition, Number
from ..algebra.quaternions import IDENTITY, Quaternion, rotate
from ..algebra.vectors import norm, scale, subtract
from ..kinematics.reach import soften_target
from ..kinematics.start_pose import StartPose
from ..model.options import SolveOptions
from ..model.status import name_outcome
from .free_positions import Positions, position_joints
from .task import Task, accept_distance, check_solver, relate_to_root


class FreePose(NamedTuple):
    """Joints (n + 1, 3, ...) in armature space, the chain's rotation, and what came of it."""

    joints: Array
    rotation: Quaternion
    residual: Number
    iterations: Number
    code: Number


# A single bone that takes a rotation leaves nothing to solve.
NOT_SOLVED = Positions(np.zeros((1, 3)), IDENTITY, 0, is_too_far=True, is_too_near=False)


def pose_chain(
    m: Arithmetic, start: StartPose, rest: StartPose | None, task: Task, options: SolveOptions
) -> FreePose:
    """Return the pose that brings the effector to its target.

    A tip that takes a rotation is turned first; the rest of the chain is solved for its head. The
    rest is None for a single bone.
    """
    target, tip = task.target, None
    solved: StartPose | None = start
    if task.tip is not None:
        tip = rotate(task.tip, scale(start.points[-1] - start.points[-2], start.unit))
        target, solved = subtract(target, tip), rest
    short: Number = None
    if solved is None:
        found, joints = NOT_SOLVED, start.origin[None]
    else:
        check_solver(options.solver, len(solved.lengths))
        is_too_far: Condition = False
        if task.soft_distance is not None:
            reach, least = solved.reach * solved.unit, solved.least * solved.unit
            target, short, is_too_far = soften_target(
                m, solved.root, target, reach, least, task.soft_distance
            )
        related = relate_to_root(m, solved, target, task)
        found = position_joints(m, solved, related, options.solver, use_finish=options.use_finish)
        found = found._replace(is_too_far=found.is_too_far | is_too_far)
        joints = found.points * solved.unit + solved.origin
    if tip is not None:
        joints = np.concatenate((joints, (joints[-1] + np.array(tip))[None]))
    # The residual is measured on what is returned. One number of an array at a time is slow.
    end = joints[-1].tolist() if m is FLOATS else joints[-1]
    residual = norm(m, subtract(end, task.target))
    accepted = accept_distance(m, task.tolerance, start.reach * start.unit, task.target)
    code = name_outcome(m, residual, accepted, found.is_too_far, found.is_too_near, short=short)
    return FreePose(joints, found.rotation, residual, found.iterations, code)
