"""The joints of chains without limits for their targets: reachable or not, flipped or not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Condition, Counts, Number
from ..algebra.arrays import sum_segments
from ..algebra.nested import Nested
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector, add, norm, scale
from ..kinematics.bend_plane import Bend, face_side, plan_bend
from ..kinematics.reach import check_reach
from ..kinematics.start_pose import StartPose
from ..model.options import Solver
from ..solvers.newton_directions import (
    FIRST_DAMPING,
    mix_directions,
    next_damping,
    raise_diagonal,
    turn_segments,
)
from ..solvers.two_bone import bend_elbow
from .iteration import Method, Progress, Work, iterate, iterate_states
from .sweeps import NEWTON, Sweeps, sweep_free_chains, sweeps_of
from .task import Task

FLOAT_SOLVERS = frozenset((Solver.TWO_BONE, Solver.NEWTON))
"""The solvers that solve one chain in floats."""


class Positions(NamedTuple):
    """Solved joints of one chain of n segments, or of B chains.

    Attributes:
        points: Relative to the root, in units of ``StartPose.unit``, shape (n + 1, 3, ...).
        rotation: Of the whole chain.
        iterations: Sweeps used; 0 for all of what is closed.
        is_too_far: Whether the target is.
        is_too_near: Whether the target is.
    """

    points: Array
    rotation: Quaternion
    iterations: Number
    is_too_far: Condition
    is_too_near: Condition


def position_joints(
    m: Arithmetic,
    start: StartPose,
    task: Task,
    solver: Solver,
    *,
    is_few: bool = True,
    use_finish: bool = True,
) -> Positions:
    """Return the joints that bring the effector to its target.

    Args:
        m: Arithmetic of the start pose; floats for ``FLOAT_SOLVERS`` only.
        start: Start pose.
        task: What is asked for.
        solver: Of all of the chains.
        is_few: Whether so few chains were compiled that FABRIK and CCD take them one by one.
        use_finish: Whether NEWTON finishes what their sweeps are too slow for.
    """
    bend = plan_bend(m, start.chord, start.side, start.reach, task.target, task.pole)
    is_too_far, is_too_near = check_reach(m, bend.distance, start.reach, start.least)
    if solver is Solver.TWO_BONE:
        points, used = _place_elbow(m, start, task, bend, is_too_far | is_too_near), 0
    else:
        local, used = _solve(
            start,
            task,
            bend,
            is_too_far,
            is_too_near,
            solver,
            sweeps=sweeps_of(solver, is_few=is_few),
            use_finish=use_finish,
        )
        faced = _face(m, start, task, bend, local)
        points = m.place(local, faced.frame)
    return Positions(points, bend.rotation, used, is_too_far, is_too_near)


def _place_elbow(
    m: Arithmetic, start: StartPose, task: Task, bend: Bend, is_out: Condition
) -> Array:
    """Return the joints of TWO_BONE; stretched or folded chains are its ends."""
    distance = m.minimum(m.maximum(bend.distance, start.least), start.reach)
    foot, height, base = bend_elbow(m, *start.pair, distance)
    height = m.where(is_out, 0.0, height)
    if task.use_flip is not None:
        height = m.where(task.use_flip, -height, height)
    zero = 0.0 * base
    elbow = add(scale(bend.chord, foot), scale(bend.side, height))
    return np.array(((zero, zero, zero), elbow, scale(bend.chord, base)))


def _face(m: Arithmetic, start: StartPose, task: Task, bend: Bend, local: Array) -> Bend:
    """Return the frame in which joints, solved in another, bend to their side."""
    if task.pole is None and task.use_flip is None:
        return bend
    inner = local[1:-1].sum(axis=0) / max(len(local) - 2, 1)
    return face_side(m, bend, (inner[1], inner[2]), start.reach, task.pole, task.use_flip)


def _solve(
    start: StartPose,
    task: Task,
    bend: Bend,
    is_too_far: Condition,
    is_too_near: Condition,
    solver: Solver,
    *,
    sweeps: Sweeps | None,
    use_finish: bool,
) -> tuple[Array, Number]:
    """Return joints in the frame of the bend, shape (n + 1, 3, ...), and the iterations used."""
    m, is_out = start.m, is_too_far | is_too_near
    if m.all(is_out):
        return _lay_along_chord(start, is_too_far), 0
    # Out of reach a stand-in within is solved for, and its pose replaced.
    distance = m.where(is_out, 0.5 * (start.reach + start.least), bend.distance)
    used: Number
    if solver is not Solver.NEWTON:
        local, used = sweep_free_chains(start, task, bend, distance, sweeps, use_finish=use_finish)
    elif m is FLOATS:
        local, used = _bend_one(start, task, distance)
    else:
        local, used = _bend_many(start, task, distance)
    if m.any(is_out):
        local = np.where(is_out, _lay_along_chord(start, is_too_far), local)
        used = m.where(is_out, 0, used)
    return local, used


def _bend_many(start: StartPose, task: Task, distance: Array) -> tuple[Array, Counts]:
    """Return what NEWTON finds for many chains."""
    target = np.zeros((3, len(distance)))
    target[0] = distance
    points = sum_segments(start.lengths[:, None] * start.directions)
    is_off = norm(ARRAYS, target - points[-1]) > task.tolerance
    if is_off.any():
        directions = mix_directions(ARRAYS, start, distance)
        points = np.where(is_off, sum_segments(start.lengths[:, None] * directions), points)
    work = Work(start.lengths, target, task.tolerance, task.iterations)
    damping = np.full(len(distance), FIRST_DAMPING)
    return iterate_states(NEWTON, work, points, np.zeros_like(task.iterations), damping)


def _bend_one(start: StartPose, task: Task, distance: float) -> tuple[Array, int]:
    """Return what NEWTON finds for one chain, in floats."""
    m, lengths = FLOATS, start.lengths
    ones = np.ones_like(lengths)
    total = m.total(ones, start.squares)

    def gap(segments: Array) -> tuple[float, Vector]:
        x, y, z = m.total(ones, segments)
        error = distance - x, -y, -z
        return norm(m, error), error

    def step(_: Arithmetic, __: None, state: Nested, ___: None) -> tuple[Nested, float]:
        segments, damping, error, size = state
        diagonal = raise_diagonal(total, start.reach, size, damping)
        moved = turn_segments(m, segments, lengths, start.squares, error, diagonal)
        new_size, new_error = gap(moved)
        is_better = new_size < size
        damping = next_damping(m, damping, is_better)
        if is_better:
            return (moved, damping, new_error, new_size), new_size
        return (segments, damping, error, size), size

    segments = start.directions * lengths[:, None]
    size, error = gap(segments)
    if size > task.tolerance:
        segments = mix_directions(m, start, distance) * lengths[:, None]
        size, error = gap(segments)
    state = segments, FIRST_DAMPING, error, size
    work = Work(None, None, task.tolerance, task.iterations)
    found = iterate(m, Method(step, is_damped=True), work, Progress(state, state, size, 0))
    return sum_segments(found.best[0]), found.used


def _lay_along_chord(start: StartPose, is_too_far: Any) -> Array:
    """Return straight chains, or folded: the longest segment forth, all others back."""
    steps = np.where(start.is_longest | is_too_far, start.lengths, -start.lengths)
    points = np.zeros_like(start.points)
    np.cumsum(steps, axis=0, out=points[1:, 0])
    return points
