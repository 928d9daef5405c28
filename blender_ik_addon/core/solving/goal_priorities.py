"""Goals of trees by their priorities: pins are held, other goals up to a greatest force.

Goals that can be met are met in one descent: pins and the goals of the first priorities are held,
those of the last ones pull softly, and the nearest such pose to the start is found. A goal that
takes more force than its priority is worth, or is not met, is relaxed: the tree starts again from
the pose after the first step, and the goal pulls with that force and a spring. So a pose changes
continuously as a target leaves the reach. After many steps, other starts compete for less energy.

Points that would pass the floor are held on it like pins, until they would have to be pulled down
to stay there. A pin wins against the floor.

Source: exact penalties (``equilibrium.goal_pulls``); the bounds on the forces are derived for
this project, and tested in tests/core/solving/test_goal_priorities.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import norm
from ..algebra.nested import Rows, are_all, repeat_single, take_rows
from ..algebra.output_rows import OutputRows
from ..descent.descent_settings import DescentSettings
from ..descent.feasible_newton import minimise
from ..equilibrium.floor_points import FloorPoints, group_by_contacts
from ..equilibrium.goal_pulls import MAX_PULL, GoalLoads, GoalPulls, limit_pull, measure_pulls
from ..equilibrium.start_springs import StartSprings, compile_springs
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from .bend_starts import bend_straight_runs
from .joint_run import AIM_TOLERANCE, MAX_COMPROMISE_STEPS, Run

# Goals of this priority are held whatever force it takes.
PINNED = 0
# Greatest forces of the first priorities; a joint that is turned by a radian resists with one. With
# a quarter, some effectors stay a thousandth of the reach farther away than they need to.
STRENGTHS = {1: 4000.0, 2: 400.0}
# Factor on these forces during the descent. With one, goals in reach are relaxed too soon; with
# two, those out of reach are held for up to half as many steps more.
STEP_FACTOR = 1.25
# Spring of goals of the third priority, for the reach, and its factor for each further priority.
SOFT_SPRING, SOFT_DECAY = 20.0, 0.1
# Spring of relaxed goals, for the reach.
RELAXED_SPRING = 16000.0
# Weight of a radian of turns and poles, as a share of the reach.
RADIAN_WEIGHT = 0.2
# Energy: a step that would save less is the last. Three times more, and some joints are a tenth of
# a millimetre from their final place.
MIN_STEP_GAIN = 3e-5
# A descent of more steps may have ended in the wrong valley: another start is tried, after a long
# one a third. With twelve, single updates show another pose. A result is better if it saves this
# share of the energy.
SLOW_DESCENT, LONG_DESCENT, MIN_ENERGY_GAIN = 11, 30, 1e-6
# Pins that slip by a greater share of the reach are put back by one more descent.
MAX_SLIP = 1e-7
# Most changes of the set of points that are held on the floor.
MAX_FLOOR_CHANGES = 10
# Share of the depth of the deepest point: only deeper points join. Where others go once these are
# up is not known, and more points than a foot has ways to turn would be held.
MIN_DEPTH_SHARE = 0.9
# Attributes of a problem with a row for each tree.
ROW_ATTRIBUTES = ("_tree", "_turn", "_place", "_level", "_target", "_start", "_caps")


def solve_by_priority(
    run: Run, priorities: Sequence[int], hints: Array, floor: FloorPoints | None = None
) -> tuple[Run, State, Counts, Array]:
    """Return poses that meet goals in the order of their priorities, near the start.

    Args:
        run: The problem of the trees.
        priorities: One for each effector, as in ``Goal``.
        hints: Where bones that are in one line bend, zero for no hint, shape (n, 3, B).
        floor: Points that stay above a floor; None without a floor.

    Returns:
        The run with the trees at the places that they have floated to, states, the iterations used,
        and forces as in ``Solution``, shape (E + 1, B).
    """
    turn = bend_straight_runs(run.tree, run.start, hints, _find_pinned(priorities))
    first_pose = turn, np.zeros((3, len(run.iterations)))
    poses = _PriorityProblem(run, priorities, *first_pose).solve()
    if floor is not None:
        poses = _hold_above_floor(run, priorities, floor, poses, first_pose)
    tree = _float(run.tree, poses.place)
    state, floor_force = tree.make_state(poses.turn), poses.floor_forces.sum(axis=0)
    return replace(run, tree=tree), state, poses.used, np.vstack((poses.forces, floor_force))


@dataclass(frozen=True)
class _PriorityPoses(Rows):
    """The poses of B trees.

    Attributes:
        turn: Turns of the joints, shape (n, 4, B).
        place: Offsets of first bones from the start, in lengths of the reach, shape (3, B).
        forces: Forces that hold or pull effectors, shape (E, B).
        is_on: Which points are pressed on the floor, shape (F, B).
        floor_forces: Force of the floor on each point, shape (F, B).
        pin_gap: Greatest distance of pins from their targets, shape (B,).
        floor_gap: Greatest distance of pressed points from the floor, shape (B,).
        used: Steps, shape (B,).
    """

    turn: Array
    place: Array
    forces: Array
    is_on: Flags
    floor_forces: Array
    pin_gap: Array
    floor_gap: Array
    used: Counts

    def spread(self, points: Counts, count: int) -> _PriorityPoses:
        """Return the same with ``count`` points; those here get the indices ``points``."""
        shape = count, len(self.used)
        is_on, floor_forces = np.zeros(shape, dtype=np.bool_), np.zeros(shape)
        is_on[points], floor_forces[points] = self.is_on, self.floor_forces
        return replace(self, is_on=is_on, floor_forces=floor_forces)


def _hold_above_floor(
    run: Run,
    priorities: Sequence[int],
    floor: FloorPoints,
    poses: _PriorityPoses,
    first_pose: tuple[Array, Array],
) -> _PriorityPoses:
    """Return poses with points that would pass the floor held on it.

    The search starts from poses found without the floor, or else from the first turns and places.
    """
    count, tolerance = len(floor.bones), AIM_TOLERANCE * run.tree.reach
    poses = poses.spread(np.zeros(0, dtype=np.int64), count)
    is_barred, before = np.zeros_like(poses.is_on), poses
    may_leave, moves_pins = ~is_barred, _find_pinned_points(run, priorities, floor)
    for _ in range(MAX_FLOOR_CHANGES):
        heights = floor.find_heights(_float(run.tree, poses.place), poses.turn)
        depths = np.where(poses.is_on | is_barred, 0.0, -heights)
        joins = (depths > tolerance) & (depths > MIN_DEPTH_SHARE * depths.max(axis=0, initial=0.0))
        # If a point returns, restore the poses before it left, for good: it would come and go.
        returning = np.flatnonzero((joins & ~may_leave).any(axis=0))
        poses = poses.put(returning, before.take(returning))
        joins[:, returning] = False
        leaves = poses.is_on & may_leave & (poses.floor_forces < 0.0)
        may_leave &= ~leaves
        leaving = np.flatnonzero(leaves.any(axis=0))
        before = before.put(leaving, poses.take(leaving))
        changed = np.flatnonzero((joins | leaves).any(axis=0))
        if not (changed.size or returning.size):
            break
        is_pressed = poses.is_on ^ joins ^ leaves
        for rows in group_by_contacts(changed, is_pressed, floor.normal):
            points, start = np.flatnonzero(is_pressed[:, rows[0]]), poses.take(rows)
            pressed = floor.take_points(points.tolist()).take(rows)
            inputs = run.take(rows), priorities, pressed
            trial, holds = _press_on_floor(*inputs, start, take_rows(first_pose, rows))
            poses = poses.put(rows[holds], trial.spread(points, count).take(holds))
            # A pin wins against the floor: bar points that it would have to give way to.
            failed = rows[~holds]
            blamed = joins[:, failed] & moves_pins[:, None]
            is_barred[:, failed] |= np.where(blamed.any(axis=0), blamed, joins[:, failed])
    return poses


def _press_on_floor(
    run: Run,
    priorities: Sequence[int],
    pressed: FloorPoints,
    start: _PriorityPoses,
    first_pose: tuple[Array, Array],
) -> tuple[_PriorityPoses, Flags]:
    """Return poses with points on the floor, and flags of poses that hold these and the pins.

    From poses far below the floor no step may lead up: where points are not held, search again from
    the first turns (n, 4, B) and places (3, B).
    """
    tolerance, poses = AIM_TOLERANCE * run.tree.reach, start
    holds = np.zeros(len(tolerance), dtype=np.bool_)
    for starts in ((start.turn, start.place), first_pose):
        rows = repeat_single(np.flatnonzero(~holds), len(holds))
        inputs = run.take(rows), priorities, *take_rows(starts, rows), pressed.take(rows)
        trial = _PriorityProblem(*inputs).solve()
        trial = replace(trial, used=poses.used[rows] + trial.used)
        poses = trial if rows.size == len(holds) else poses.put(rows, trial)
        holds = poses.pin_gap <= np.maximum(start.pin_gap, tolerance)
        holds &= poses.floor_gap <= tolerance
        if holds.all():
            break
    return poses, holds


def _find_pinned_points(run: Run, priorities: Sequence[int], floor: FloorPoints) -> Flags:
    """Return which points are on bones that move a pinned effector, shape (F,)."""
    pinned = np.ix_(floor.bones, _find_pinned(priorities))
    moves_pins: Flags = run.tree.topology.is_on_path[pinned].any(axis=1)
    return moves_pins


def _find_pinned(priorities: Sequence[int]) -> list[int]:
    return [effector for effector, priority in enumerate(priorities) if priority == PINNED]


@dataclass(frozen=True)
class _Descent(Rows):
    """The results of one descent of B trees.

    Attributes:
        turn: Turns of the joints, shape (n, 4, B).
        place: Offsets of first bones from the start, in lengths of the reach, shape (3, B).
        gap: Gaps of goals, shape (rows, B).
        floor_gap: Gaps of points on the floor, shape (p, B).
        force: Forces that hold goals or pull them, shape (rows, B).
        used: Steps, shape (B,).
        first_turn: The turns after the first step.
        first_place: The offsets after the first step.
        energy: Energy of the poses, shape (B,).
    """

    turn: Array
    place: Array
    gap: Array
    floor_gap: Array
    force: Array
    used: Counts
    first_turn: Array
    first_place: Array
    energy: Array


class _PriorityProblem:
    """The problem of B trees, with some points pressed on the floor."""

    def __init__(
        self,
        run: Run,
        priorities: Sequence[int],
        turn: Array,
        place: Array,
        pressed: FloorPoints | None = None,
    ) -> None:
        """Take the problem, a pose to start from, and the points, the same for all trees."""
        self._tree, self._turn, self._place = run.tree, turn, place
        self._caps = np.minimum(run.iterations, MAX_COMPROMISE_STEPS)
        self._is_alone = run.is_alone
        self._effectors, points = len(priorities), np.zeros(0, dtype=np.int64)
        self._normal, self._level = np.zeros(3), np.zeros((0, run.target.shape[-1]))
        if pressed is not None:
            self._tree = pressed.as_effectors(run.tree)
            points = 3 * np.arange(len(priorities), len(self._tree.ends))
            self._normal = pressed.normal[:, 0]
            self._level = np.broadcast_to(pressed.level, (len(points), *pressed.level.shape))
        self._points = points
        if run.aims is not None:
            aims = replace(run.aims, weight=RADIAN_WEIGHT * run.tree.reach)
            self._tree = replace(self._tree, aims=aims)
        other_targets = np.zeros((self._tree.row_count - len(run.target), run.target.shape[-1]))
        self._target = np.concatenate((run.target, other_targets))
        self._start = run.start.turn
        goals = list(_find_goals(run, priorities, 3 * len(self._tree.ends)))
        self._pins = _join_rows(rows for rows, priority in goals if priority == PINNED)
        self._bounded = [(rows, priority) for rows, priority in goals if priority in STRENGTHS]
        self._levels = sorted({priority for _, priority in self._bounded})
        self._soft = np.zeros(len(self._target))
        for rows, priority in goals:
            if priority > max(STRENGTHS):
                self._soft[rows] = SOFT_SPRING * SOFT_DECAY ** (priority - max(STRENGTHS) - 1)

    def solve(self) -> _PriorityPoses:
        """Return the poses."""
        ended = first = self._make_start()
        rows = np.arange(len(ended.used))
        for count in range(1 + len(self._levels)):
            trial, is_met = self._take(rows)._relax(first.take(rows), ended.take(rows), count)
            if not count:
                first = replace(first, turn=trial.first_turn, place=trial.first_place)
            ended = ended.put(rows, trial)
            rows = repeat_single(rows[~is_met], len(ended.used))
            if not rows.size:
                break
        pin_gap = np.abs(ended.gap[self._pins]).max(axis=0, initial=0.0)
        ends = len(self._tree.ends)
        forces = ended.force[: 3 * ends].reshape(ends, 3, len(pin_gap))
        sizes, up = np.sqrt((forces**2).sum(axis=1)), self._normal[:, None]
        lift, sizes = (forces[self._effectors :] * up).sum(axis=1), sizes[: self._effectors]
        gap, is_on = np.abs(ended.floor_gap).max(axis=0, initial=0.0), np.ones(lift.shape, np.bool_)
        measures = sizes, is_on, lift, pin_gap, gap
        return _PriorityPoses(ended.turn, ended.place, *measures, ended.used)

    def _take(self, rows: Counts) -> _PriorityProblem:
        """Return the problem of some of the trees."""
        if are_all(rows, len(self._caps)):
            return self
        chosen, attributes = copy(self), vars(self)
        vars(chosen).pop("_springs", None)
        vars(chosen).update({name: take_rows(attributes[name], rows) for name in ROW_ATTRIBUTES})
        return chosen

    @cached_property
    def _springs(self) -> StartSprings:
        """The springs to the start."""
        return compile_springs(self._tree, self._start)

    def _make_start(self) -> _Descent:
        """Return the pose to start from, as a descent without steps."""
        no_gap, used = np.zeros_like(self._target), np.zeros_like(self._caps)
        pose, energy = (self._turn, self._place), np.zeros(len(used))
        return _Descent(*pose, no_gap, self._level, no_gap, used, *pose, energy)

    def _relax(self, first: _Descent, before: _Descent, count: int) -> tuple[_Descent, Flags]:
        """Return poses that hold all but the last ``count`` priorities, and flags of those that do.

        Goals of these relaxed priorities pull, and are held after all where possible.
        """
        relaxed = self._levels[len(self._levels) - count :]
        if not relaxed:
            return self._solve_held(first, relaxed)
        pulled = [goal for goal in self._bounded if goal[1] in relaxed]
        descent, is_met = self._solve_again(first, before, relaxed, [rows for rows, _ in pulled])
        needed = [norm(descent.force[rows]) / STRENGTHS[priority] for rows, priority in pulled]
        # A goal that pulls with less than its strength may be held after all.
        may_hold = repeat_single(np.flatnonzero(is_met & (np.max(needed, 0) < 1.0)), len(is_met))
        if may_hold.size:
            held, holds = self._take(may_hold)._solve_held(descent.take(may_hold), [])
            descent = descent.put(may_hold[holds], held.take(holds))
        return descent, is_met

    def _solve_again(
        self, first: _Descent, before: _Descent, relaxed: Sequence[int], pulled: Sequence[Counts]
    ) -> tuple[_Descent, Flags]:
        """As ``_solve_held``; after a long descent try other starts, for a better result.

        The end of the descent before, and the tree where it began, moved as a whole so that relaxed
        goals are met in the mean, may be in valleys that no step from the first pose leads to.
        """
        descent, is_met = self._solve_held(replace(first, used=before.used), relaxed)
        steps, starts = descent.used - before.used, [(SLOW_DESCENT, before)]
        of_points = [rows for rows in pulled if rows[-1] < 3 * len(self._tree.ends)]
        if self._tree.topology.floats and of_points and (steps > LONG_DESCENT).any():
            gaps = self._target - _float(self._tree, self._place).make_state(self._turn).output
            shift = gaps[np.array(of_points)].mean(axis=0) / self._tree.reach
            moved = replace(before, turn=self._turn, place=self._place + shift)
            starts.append((LONG_DESCENT, moved))
        for most, start in starts:
            rows = repeat_single(np.flatnonzero(steps > most), len(steps))
            if not rows.size:
                break
            start = replace(start, used=descent.used).take(rows)
            other, holds = self._take(rows)._solve_held(start, relaxed)
            energy, meets = descent.energy[rows], is_met[rows]
            is_lower = other.energy < energy - MIN_ENERGY_GAIN * np.abs(energy)
            better = np.flatnonzero(np.where(meets == holds, is_lower, holds))
            is_met[rows[better]] = holds[better]
            descent = descent.put(rows[better], other.take(better))
        # A descent that begins near its end may rest before its pins are back in place.
        slip = np.abs(descent.gap[self._pins]).max(axis=0, initial=0.0) / self._tree.reach
        rows = repeat_single(np.flatnonzero(is_met & (slip > MAX_SLIP)), len(steps))
        if rows.size:
            ended, holds = self._take(rows)._solve_held(descent.take(rows), relaxed)
            descent = descent.put(rows[holds], ended.take(holds))
        return descent, is_met

    def _solve_held(self, descent: _Descent, relaxed: Sequence[int]) -> tuple[_Descent, Flags]:
        """Return poses that hold all but relaxed priorities, and flags of those that do."""
        pulled = [goal for goal in self._bounded if goal[1] in relaxed]
        pulls = self._make_pulls(pulled)
        goals = [goal for goal in self._bounded if goal[1] not in relaxed]
        held, bounds, first = self._pins, [], len(self._points) + len(self._pins)
        # Goals that are held also bear the forces of those that pull.
        pull_force = MAX_PULL * RELAXED_SPRING * bool(pulled)
        for rows, priority in goals:
            held, last_row = np.concatenate((held, rows)), first + len(rows)
            bounds.append((slice(first, last_row), STEP_FACTOR * STRENGTHS[priority] + pull_force))
            first = last_row
        settings = DescentSettings(
            partial(measure_pulls, pulls=pulls),
            rest_turn=1e-5,
            least_shift=1e-9,
            first_shift=1e-6,
            is_strict=True,
            held=OutputRows(held, self._points, self._normal),
            tracked=OutputRows.of(_join_rows(rows for rows, _ in pulled)),
            tolerance=1e-2,
            bounds=tuple(bounds),
            use_early_stop=bool(goals) and not pulled,
            least_gain=MIN_STEP_GAIN,
        )
        descent = self._descend(descent, pulls, settings)
        gaps = np.abs(np.concatenate((descent.gap[held], descent.floor_gap)))
        is_met = (gaps <= AIM_TOLERANCE * self._tree.reach).all(axis=0)
        for rows, priority in goals:
            is_met &= norm(descent.force[rows]) <= STRENGTHS[priority] + pull_force
        return descent, is_met | (not goals)

    def _make_pulls(self, pulled: Sequence[tuple[Counts, int]]) -> GoalPulls:
        """Return the pulls of soft goals, and of relaxed ones with their strengths."""
        springs, goals = self._soft.copy(), np.zeros((len(pulled), len(self._soft)))
        for goal, (rows, _) in enumerate(pulled):
            springs[rows], goals[goal, rows] = RELAXED_SPRING, 1.0
        return GoalPulls(springs, np.array([STRENGTHS[priority] for _, priority in pulled]), goals)

    def _descend(self, start: _Descent, pulls: GoalPulls, settings: DescentSettings) -> _Descent:
        """Return the results of a descent."""
        target, rows, tree = self._target, settings.held, _float(self._tree, start.place)
        state = tree.make_state(start.turn)
        output, points = state.output, 3 * len(self._tree.ends)
        drawn_near = limit_pull(target, output, points, pulls, self._tree.reach)
        acting = GoalLoads(self._springs, start.place, drawn_near)
        held_targets = self._level, target[rows.plain]
        inputs = tree, state.turn, state.slide, acting, np.concatenate(held_targets), self._caps
        ended = minimise(settings, *inputs, is_alone=self._is_alone)
        place, first = start.place, start.place
        if ended.place is not None and ended.first_place is not None:
            place, first = place + ended.place, first + ended.first_place
        output = _float(self._tree, place).make_state(ended.turn).output
        gap, held_output = target - output, rows.pick(output.T).T
        floor_gap = self._level - held_output[: len(self._points)]
        springs = pulls.find_springs(pulls.measure_gaps(gap.T, self._tree.reach))
        force = springs.T * gap + rows.spread(ended.force.T, len(target)).T
        used, first_pose = start.used + ended.used, (ended.first_turn, first)
        return _Descent(ended.turn, place, gap, floor_gap, force, used, *first_pose, ended.energy)


def _float(tree: KinematicTree, place: Array) -> KinematicTree:
    """Return trees at the places that they have floated to."""
    return tree.move(place) if tree.topology.floats else tree


def _find_goals(run: Run, priorities: Sequence[int], first: int) -> Iterator[tuple[Counts, int]]:
    """Yield the rows of the output of each goal, and its priority; aims come last."""
    for effector, priority in enumerate(priorities):
        yield np.arange(3 * effector, 3 * effector + 3), priority
    effectors = () if run.aims is None else run.aims.effectors
    poles = 0 if run.aims is None or run.aims.poles is None else len(run.aims.poles.limbs.effectors)
    for row in range(poles):
        yield np.array([first + row]), priorities[effectors[row]]
    for row in range(poles, len(effectors), 3):
        yield first + np.arange(row, row + 3), priorities[effectors[row]]


def _join_rows(rows: Iterable[Counts]) -> Counts:
    return np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
