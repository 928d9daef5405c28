"""Goals and options of chains, in armature space or relative to the root in the chain's unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..algebra.arithmetic import FLOATS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.quaternions import rotate
from ..algebra.vectors import ZERO, Vector, scale, subtract
from ..model.errors import SolverMismatchError
from ..model.goals import Goal, Goals
from ..model.options import SolveOptions, Solver
from .bend_plane import Pole
from .reach import is_soft
from .start_pose import StartPose

# A tolerance below this share of the chain's length is finer than rounding: no solve would end.
FINEST_TOLERANCE = 1e-14


# Not frozen, which would double its construction time: a solve of two bones takes microseconds.
@dataclass(slots=True)
class Task:
    """Goal and options of one chain or of many, in armature space or relative to the root.

    The pole, the flip and the soft distance are None if no chain has one. The tip is its rotation
    from its start orientation, None to leave it free. Chains that stay near keep a bend to both
    sides of the chord.
    """

    target: Any
    pole: Pole | None
    use_flip: Condition | None
    tolerance: Number
    iterations: Number
    soft_distance: Number | None = None
    tip: Any = None
    stays_near: bool = False


def _list_columns(goal: Goal, options: SolveOptions) -> tuple[Any, ...]:
    """Return the arguments of ``_make_task`` as in the records, chains first."""
    flip, soft = options.use_flip_bend, options.soft_distance
    is_flipped = flip.any() if isinstance(flip, np.ndarray) else flip
    angle = goal.pole_angle
    if options.keeps_start and goal.pole_position is not None:
        # A chain that is mirrored at every solve would change its shape every time.
        angle, is_flipped = turn_to_flip(angle, flip), False
    return (
        goal.target_position,
        goal.pole_position,
        angle,
        flip if is_flipped else None,
        options.tolerance,
        options.iterations,
        soft if is_soft(soft) else None,
        goal.tip_rotation_wxyz if turns_tips(goal, options) else None,
    )


def turns_tips(goals: Goal | Goals, options: SolveOptions) -> bool:
    """Return whether bones of effectors take rotations."""
    return goals.tip_rotation_wxyz is not None and options.orient_weight > 0.0


def find_arm(m: Arithmetic, start: StartPose, task: Task) -> Vector:
    """Return the vector from the head of a tip that takes a rotation to the target, or zero.

    It is in units of ``StartPose.unit``.
    """
    if task.tip is None:
        return ZERO
    segment = start.points[-1] - start.points[-2]
    return rotate(task.tip, tuple(segment.tolist()) if m is FLOATS else segment)


def turn_to_flip(pole_angle: float | Array, use_flip: bool | Flags) -> Any:
    """Return pole angles, turned by pi for chains that are flipped to the other side."""
    return pole_angle + math.pi * np.asarray(use_flip)


def _make_task(
    options: SolveOptions, target: Any, pole: Any, pole_angle: Number, *rest: Any
) -> Task:
    full_pole = None if pole is None else Pole(True, pole, pole_angle, options.keeps_start)
    task = Task(target, full_pole, *rest)
    task.stays_near = options.stays_near
    return task


def make_float_tasks(goals: Goals, options: SolveOptions, count: int) -> Iterator[Task]:
    """Yield the tasks of ``count`` chains, in floats."""
    columns = [
        value.tolist() if isinstance(value, np.ndarray) else [value] * count
        for value in _list_columns(goals, options)
    ]
    return map(partial(_make_task, options), *columns)


def make_array_task(goals: Goals, options: SolveOptions, count: int) -> Task:
    """Return the task of ``count`` chains side by side, in arrays."""

    def put_chains_last(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.T
        return None if value is None else np.broadcast_to(np.asarray(value), count)

    return _make_task(options, *map(put_chains_last, _list_columns(goals, options)))


def relate_to_root(m: Arithmetic, start: StartPose, target: Vector, task: Task) -> Task:
    """Return a task with another target, relative to the roots, in units of ``StartPose.unit``.

    The target already includes tip rotations and soft distances.
    """
    pole = task.pole
    if pole is not None:
        pole = pole._replace(position=_relate(m, start, pole.position))
    return Task(
        _relate(m, start, target),
        pole,
        task.use_flip,
        m.maximum(task.tolerance / start.unit, FINEST_TOLERANCE * start.reach),
        task.iterations,
        stays_near=task.stays_near,
    )


def _relate(m: Arithmetic, start: StartPose, point: Vector) -> Any:
    relative = scale(subtract(point, start.root), 1.0 / start.unit)
    return relative if m is FLOATS else np.array(relative)


def accept_distance(m: Arithmetic, tolerance: Number, size: Number, target: Vector) -> Number:
    """Return the distance from its target at which an effector has arrived, with rounding."""
    x, y, z = target
    farthest = m.maximum(m.maximum(m.absolute(x), m.absolute(y)), m.absolute(z))
    return tolerance + FINEST_TOLERANCE * (size + farthest)


def check_solver(solver: Solver, count: int, *, turns_tip: bool) -> None:
    """Raise if a solver does not apply to ``count`` segments to bend, before a tip that is turned.

    Raises:
        SolverMismatchError: If TWO_BONE gets any other number than two.
    """
    if solver is Solver.TWO_BONE and count != 2:
        if turns_tip and count < 2:
            raise SolverMismatchError(
                "Two-Bone needs two bones besides the tip, which copies the target's rotation:"
                " set Rotation Bone to Hand or Foot, or lengthen the chain."
            )
        way = "lengthen" if count < 2 else "shorten"
        raise SolverMismatchError(
            "Two-Bone bends two bones and this chain has {count} to bend: choose Newton, FABRIK or"
            " CCD, or {way} the chain.",
            count=count,
            way=way,
        )
