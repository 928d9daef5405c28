"""Goals and options of chains, in armature space or relative to the root in the chain's unit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..algebra.arithmetic import FLOATS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.vectors import Vector, scale, subtract
from ..model.errors import SolverMismatchError
from ..model.goals import Goal, Goals
from ..model.options import SolveOptions, Solver
from .bend_plane import Pole
from .reach import is_soft
from .start_pose import StartPose

# A tolerance below this share of the chain's length is finer than rounding: no solve would end.
FINEST_TOLERANCE = 1e-14
# Share of the reach: a target closer to the reach than this has been drawn in to it.
AT_REACH = 1e-12


# Frozen records take twice as long to make, which shows where two bones take some microseconds.
@dataclass(slots=True)
class Task:
    """Goal and options of one chain or of many, in armature space or relative to the root.

    The pole and the flip are None where no chain has one, the soft distance likewise; the tip is
    its rotation from its start orientation, None to leave it free. Those that stay near keep a bend
    to both sides of the chord.
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
    """Return what ``_make_task`` takes, as the records have it: chains first."""
    flip, soft = options.use_flip_bend, options.soft_distance
    is_flipped = flip.any() if isinstance(flip, np.ndarray) else flip
    angle = goal.pole_angle
    if options.keeps_start and goal.pole_position is not None:
        # Mirrored again and again, a chain would show another shape each time.
        angle, is_flipped = turn_to_flip(angle, flip), False
    return (
        goal.target_position,
        goal.pole_position,
        angle,
        flip if is_flipped else None,
        options.tolerance,
        options.iterations,
        soft if is_soft(soft) else None,
        goal.tip_rotation_wxyz if options.orient_weight > 0.0 else None,
    )


def turn_to_flip(pole_angle: float | Array, use_flip: bool | Flags) -> Any:
    """Return the pole angle of chains that shall bend to the other side."""
    return pole_angle + math.pi * np.asarray(use_flip)


def _make_task(
    options: SolveOptions, target: Any, pole: Any, pole_angle: Number, *rest: Any
) -> Task:
    faced = None if pole is None else Pole(True, pole, pole_angle, options.keeps_start)
    task = Task(target, faced, *rest)
    task.stays_near = options.stays_near
    return task


def ask_one(goal: Goal, options: SolveOptions) -> Task:
    """Return the task of one chain, in floats."""
    columns = _list_columns(goal, options)
    return _make_task(
        options,
        *[each.tolist() if isinstance(each, np.ndarray) else each for each in columns],
    )


def ask_each(goals: Goals, options: SolveOptions, count: int) -> Iterator[Task]:
    """Yield the tasks of a number of chains, in floats."""
    columns = [
        each.tolist() if isinstance(each, np.ndarray) else [each] * count
        for each in _list_columns(goals, options)
    ]
    return map(partial(_make_task, options), *columns)


def ask_all(goals: Goals, options: SolveOptions, count: int) -> Task:
    """Return the task of a number of chains side by side, in arrays."""

    def line_up(each: Any) -> Any:
        if isinstance(each, np.ndarray):
            return each.T
        return None if each is None else np.broadcast_to(np.asarray(each), count)

    return _make_task(options, *map(line_up, _list_columns(goals, options)))


def relate_to_root(m: Arithmetic, start: StartPose, target: Vector, task: Task) -> Task:
    """Return a task with another target relative to the roots, in units of ``StartPose.unit``.

    Tips and soft distances are met by the target.
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
    related = scale(subtract(point, start.root), 1.0 / start.unit)
    return related if m is FLOATS else np.array(related)


def accept_distance(m: Arithmetic, tolerance: Number, size: Number, target: Vector) -> Number:
    """Return the distance from its target at which an effector has arrived."""
    x, y, z = target
    farthest = m.maximum(m.maximum(m.absolute(x), m.absolute(y)), m.absolute(z))
    return tolerance + FINEST_TOLERANCE * (size + farthest)


def check_solver(solver: Solver, count: int, *, turns_tip: bool) -> None:
    """Raise if a solver does not apply to chains of so many segments, one more that is turned.

    Raises:
        SolverMismatchError: If TWO_BONE gets any other number than two.
    """
    if solver is Solver.TWO_BONE and count != 2:
        if turns_tip and count < 2:
            raise SolverMismatchError(
                "Two-Bone bends two bones, and one is left where the tip takes the target's"
                " rotation: set Rotation Bone to Hand or Foot, or lengthen the chain."
            )
        way = "lengthen" if count < 2 else "shorten"
        raise SolverMismatchError(
            f"Two-Bone bends two bones and this chain has {count} to bend:"
            f" choose Newton, FABRIK or CCD, or {way} the chain."
        )
