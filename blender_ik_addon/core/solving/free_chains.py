"""Chains without limits: their tips, their soft distances, what is left to the target."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.arithmetic import FLOATS, Arithmetic, Array, Condition, Number
from ..algebra.quaternions import IDENTITY, Quaternion, rotate
from ..algebra.vectors import Vector, norm, scale, subtract
from ..chain import Solver
from ..kinematics.bend_plane import Pole
from ..kinematics.reach import soften_target
from ..kinematics.start_pose import StartPose
from ..status_codes import name_outcome
from ..task import FINEST_TOLERANCE, Task, check_solver
from .free_positions import Positions, position_joints


class FreeTask(NamedTuple):
    """What is asked of one chain without limits, or of many; armature space.

    Attributes:
        solver: Of all of the chains.
        target: Point; a vector, or an array (3, B), as what follows.
        pole: Point; None where no chain has one.
        pole_angle: Radians.
        tip: Rotation of the tip from its start orientation; None leaves it free.
        use_flip: Bend to the other side; None where no chain does.
        tolerance: Accepted distance from effector to target.
        iterations: Cap.
        soft_distance: As in ``SolveOptions``; None where no chain has one.
        use_finish: As in ``SolveOptions``.
        is_few: Whether so few chains were compiled that FABRIK and CCD take them one by one.
    """

    solver: Solver
    target: Any
    pole: Any
    pole_angle: Number
    tip: Any
    use_flip: Condition | None
    tolerance: Number
    iterations: Number
    soft_distance: Number | None
    use_finish: bool = True
    is_few: bool = True


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


def pose_chain(m: Arithmetic, start: StartPose, rest: StartPose | None, task: FreeTask) -> FreePose:
    """Return the pose that brings the effector to its target.

    A tip that takes a rotation is turned first; the rest of the chain is solved for its head.

    Args:
        m: Arithmetic of the start pose.
        start: Start pose.
        rest: The same without the tip; None where no tip takes a rotation, or nothing is left.
        task: What is asked for.
    """
    target, tip, solved = task.target, None, start
    if task.tip is not None:
        tip = rotate(task.tip, scale(start.points[-1] - start.points[-2], start.unit))
        if rest is None:
            return _record(m, start, task, start.origin[None], NOT_SOLVED, tip)
        target, solved = subtract(target, tip), rest
    check_solver(task.solver, len(solved.lengths))
    short: Number = None
    if task.soft_distance is not None:
        reach, least = solved.reach * solved.unit, solved.least * solved.unit
        softened = soften_target(m, solved.root, target, reach, least, task.soft_distance)
        target, short = softened.target, softened.short
    relative = _relate(m, solved, target, task)
    found = position_joints(
        m, solved, relative, task.solver, is_few=task.is_few, use_finish=task.use_finish
    )
    joints = found.points * solved.unit + solved.origin
    if short is not None:
        found = found._replace(is_too_far=found.is_too_far | softened.is_too_far)
    return _record(m, start, task, joints, found, tip, short)


def _relate(m: Arithmetic, start: StartPose, target: Vector, task: FreeTask) -> Task:
    """Return a task relative to the root, in the unit of the start pose."""
    share, pole = 1.0 / start.unit, None
    if task.pole is not None:
        pole = Pole(True, scale(subtract(task.pole, start.root), share), task.pole_angle)
    return Task(
        target=scale(subtract(target, start.root), share),
        pole=pole,
        use_flip=task.use_flip,
        tolerance=m.maximum(task.tolerance * share, FINEST_TOLERANCE * start.reach),
        iterations=task.iterations,
    )


def _record(
    m: Arithmetic,
    start: StartPose,
    task: FreeTask,
    joints: Array,
    found: Positions,
    tip: Vector | None,
    short: Number = None,
) -> FreePose:
    """Add the tip, measure the residual on what is returned, and name the outcome."""
    if tip is not None:
        joints = np.concatenate((joints, (joints[-1] + np.array(tip))[None]))
    x, y, z = task.target
    farthest = m.maximum(m.maximum(m.absolute(x), m.absolute(y)), m.absolute(z))
    # One number of an array at a time is slow.
    end = joints[-1].tolist() if m is FLOATS else joints[-1]
    residual = norm(m, subtract(end, task.target))
    accepted = task.tolerance + FINEST_TOLERANCE * (start.reach * start.unit + farthest)
    code = name_outcome(m, residual, accepted, found.is_too_far, found.is_too_near, short)
    return FreePose(joints, found.rotation, residual, found.iterations, code)
