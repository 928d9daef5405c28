"""Goals of trees by their priorities: pins are held, other goals until it takes too much force.

What can be met is met in one descent: pins and the goals of the first priorities are held, those of
the last ones pull softly, and of all such poses the nearest to the start is found. Where holding a
goal takes more force than it is worth, or leads nowhere, the tree begins again where the first step
had led, and the goal pulls with that force and a spring. So a pose changes steadily as a target
leaves what can be reached.

Points that would pass the floor are held on it, as pins are, until they would have to be pulled
down to stay there. A pin wins against the floor.

Source: exact penalties (``equilibrium.pulled_by_goals``); the bounds on the forces are derived for
this project, and tested in tests/core/solving/test_giving_way.py.
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
from ..descent.descent_settings import Settings
from ..descent.feasible_newton import minimise
from ..equilibrium.near_start import StartSprings, compile_springs
from ..equilibrium.on_floor import FloorPoints
from ..equilibrium.pulled_by_goals import FARTHEST, Pulling, Pulls, draw_near, measure_pulls
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import State
from .joint_run import AIM_TOLERANCE, ENOUGH_TO_COMPROMISE, Run
from .unconstrained_start import bend_straight_runs

# Goals of this priority are held whatever it takes.
PINNED = 0
# What goals of the first priorities are worth: a joint that is turned by a radian resists by one.
# With a quarter, some effectors stay a thousandth of the reach farther away than they need to.
STRENGTHS = {1: 4000.0, 2: 400.0}
# On the way a step may seem to need so many times as much. With one, goals in reach are let go of
# too soon; with two, those out of reach are held on to for up to half as many steps more.
ON_THE_WAY = 1.25
# The spring of goals of the third priority, for the reach; of each further one so much of it.
SOFT, SOFTER = 20.0, 0.1
# The spring of goals that are let go of, likewise.
SPRING = 16000.0
# Of turns and poles a radian counts as so much of the reach.
RADIAN = 0.2
# The step that would save less is the last. Three times more, and some joints stand a tenth of a
# millimetre from where they come to.
LEAST_GAIN = 3e-5
# What takes more steps may have come to the wrong valley; another end is better by so much of its
# energy.
LONG_WAY, WORTH_A_MOVE = 30, 1e-6
# How often points join those that are held on the floor, or leave them.
MOST_CHANGES = 10
# Points join that are at least so deep as a share of the deepest one: what others do once these are
# up is not known, and more points than a foot has ways to turn would be held.
DEEP = 0.9
# What is asked of each tree by itself.
OF_TREES = ("_tree", "_turn", "_place", "_level", "_target", "_start", "_caps")


def give_way(
    run: Run,
    priorities: Sequence[int],
    hints: Array,
    floor: FloorPoints | None = None,
) -> tuple[Run, State, Counts, Array]:
    """Return poses that meet goals in the order of their priorities, near to the start.

    Args:
        run: What is asked of the trees.
        priorities: One an effector, as ``Goal`` has them.
        hints: Where bones that stand in one line bend, zero for no hint, shape (n, 3, B).
        floor: What points do not pass; None for nothing.

    Returns:
        The run with the trees where they have floated to, states, the iterations used, and the
        forces as ``Solution`` has them, shape (E + 1, B).
    """
    turn = bend_straight_runs(run.tree, run.start, hints, _find_pinned(priorities))
    first = turn, np.zeros((3, len(run.iterations)))
    found = _Asked(run, priorities, *first).solve()
    if floor is not None:
        found = _keep_above(run, priorities, floor, found, first)
    tree = _float(run.tree, found.place)
    state, carried = tree.make_state(found.turn), found.carried.sum(axis=0)
    return replace(run, tree=tree), state, found.used, np.vstack((found.forces, carried))


@dataclass(frozen=True)
class _Found(Rows):
    """The poses of B trees.

    Attributes:
        turn: Of the joints, shape (n, 4, B).
        place: How far first bones have moved, in lengths of the reach, shape (3, B).
        forces: That hold effectors or pull them, shape (E, B).
        is_on: Which points are pressed on the floor, shape (F, B).
        carried: What it carries by each, likewise.
        pin_gap: How far pins are from their targets at most, shape (B,).
        lift_gap: How far pressed points are from the floor at most, shape (B,).
        used: Steps, shape (B,).
    """

    turn: Array
    place: Array
    forces: Array
    is_on: Flags
    carried: Array
    pin_gap: Array
    lift_gap: Array
    used: Counts

    def spread(self, points: Counts, count: int) -> _Found:
        """Return the same with so many points, of which these are the ones here."""
        shape = count, len(self.used)
        is_on, carried = np.zeros(shape, dtype=np.bool_), np.zeros(shape)
        is_on[points], carried[points] = self.is_on, self.carried
        return replace(self, is_on=is_on, carried=carried)


def _keep_above(
    run: Run,
    priorities: Sequence[int],
    floor: FloorPoints,
    found: _Found,
    first: tuple[Array, Array],
) -> _Found:
    """Return poses of which points that would pass the floor are held on it.

    They are looked for from poses found without it, else from the first turns and places.
    """
    count, near = len(floor.bones), AIM_TOLERANCE * run.tree.reach
    found = found.spread(np.zeros(0, dtype=np.int64), count)
    is_barred, before = np.zeros_like(found.is_on), found
    may_leave, leads_to_pins = ~is_barred, _lead_to_pins(run, priorities, floor)
    for _ in range(MOST_CHANGES):
        heights = floor.find_heights(_float(run.tree, found.place), found.turn)
        depths = np.where(found.is_on | is_barred, 0.0, -heights)
        joins = (depths > near) & (depths > DEEP * depths.max(axis=0, initial=0.0))
        # What comes back is put back, and stays: it would come and go for ever.
        back = np.flatnonzero((joins & ~may_leave).any(axis=0))
        found = found.put(back, before.take(back))
        joins[:, back] = False
        leaves = found.is_on & may_leave & (found.carried < 0.0)
        may_leave &= ~leaves
        left = np.flatnonzero(leaves.any(axis=0))
        before = before.put(left, found.take(left))
        changed = np.flatnonzero((joins | leaves).any(axis=0))
        if not (changed.size or back.size):
            break
        wanted = found.is_on ^ joins ^ leaves
        for rows in _alike(changed, wanted, floor.normal):
            points, begun = np.flatnonzero(wanted[:, rows[0]]), found.take(rows)
            pressed = floor.take_points(points.tolist()).take(rows)
            asked = run.take(rows), priorities, pressed
            tried, holds = _press(*asked, begun, take_rows(first, rows))
            found = found.put(rows[holds], tried.spread(points, count).take(holds))
            # A pin wins against the floor: what it would have to give way to is left out.
            out = rows[~holds]
            blamed = joins[:, out] & leads_to_pins[:, None]
            is_barred[:, out] |= np.where(blamed.any(axis=0), blamed, joins[:, out])
    return found


def _press(
    run: Run,
    priorities: Sequence[int],
    pressed: FloorPoints,
    begun: _Found,
    first: tuple[Array, Array],
) -> tuple[_Found, Flags]:
    """Return poses with points on the floor, and in which these and the pins are held.

    From poses far below the floor no step may lead up: what is not held looks again from the first
    ones, turns (n, 4, B) and places (3, B).
    """
    near, found = AIM_TOLERANCE * run.tree.reach, begun
    holds = np.zeros(len(near), dtype=np.bool_)
    for starts in ((begun.turn, begun.place), first):
        left = repeat_single(np.flatnonzero(~holds), len(holds))
        asked = run.take(left), priorities, *take_rows(starts, left), pressed.take(left)
        tried = _Asked(*asked).solve()
        tried = replace(tried, used=found.used[left] + tried.used)
        found = tried if left.size == len(holds) else found.put(left, tried)
        holds = found.pin_gap <= np.maximum(begun.pin_gap, near)
        holds &= found.lift_gap <= near
        if holds.all():
            break
    return found, holds


def _lead_to_pins(run: Run, priorities: Sequence[int], floor: FloorPoints) -> Flags:
    """Return which points are on bones that carry something pinned, shape (F,)."""
    pinned = np.ix_(floor.bones, _find_pinned(priorities))
    leads: Flags = run.tree.topology.moves[pinned].any(axis=1)
    return leads


def _find_pinned(priorities: Sequence[int]) -> list[int]:
    return [effector for effector, priority in enumerate(priorities) if priority == PINNED]


def _alike(rows: Counts, is_on: Flags, normal: Array) -> Iterator[Counts]:
    """Yield trees whose points on the floor, and what is up from it, are the same."""
    groups: dict[bytes, list[int]] = {}
    for row in rows.tolist():
        key = is_on[:, row].tobytes() + normal[:, row].tobytes()
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        yield repeat_single(np.array(group), is_on.shape[1])


@dataclass(frozen=True)
class _Came(Rows):
    """Where B trees have come to.

    Attributes:
        turn: Of the joints, shape (n, 4, B).
        place: How far first bones have moved, in lengths of the reach, shape (3, B).
        gap: What is left of goals, shape (rows, B).
        lift: What is left to points on the floor, shape (p, B).
        force: What it takes to hold them, or with what they pull, likewise.
        used: Steps, shape (B,).
        first_turn: The turns after the first step.
        first_place: The place after the first step.
        energy: Of the poses, shape (B,).
    """

    turn: Array
    place: Array
    gap: Array
    lift: Array
    force: Array
    used: Counts
    first_turn: Array
    first_place: Array
    energy: Array


class _Asked:
    """What is asked of B trees, of which some points are pressed on the floor."""

    def __init__(
        self,
        run: Run,
        priorities: Sequence[int],
        turn: Array,
        place: Array,
        pressed: FloorPoints | None = None,
    ) -> None:
        """Take what is asked, where to look from, and the points, the same of all trees."""
        self._tree, self._turn, self._place = run.tree, turn, place
        self._caps = np.minimum(run.iterations, ENOUGH_TO_COMPROMISE)
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
            aims = replace(run.aims, weight=RADIAN * run.tree.reach)
            self._tree = replace(self._tree, aims=aims)
        others = np.zeros((self._tree.rows - len(run.target), run.target.shape[-1]))
        self._target = np.concatenate((run.target, others))
        self._start = run.start.turn
        goals = list(_find_goals(run, priorities, 3 * len(self._tree.ends)))
        self._pins = _joined(rows for rows, priority in goals if priority == PINNED)
        self._levels = sorted({priority for _, priority in goals if priority in STRENGTHS})
        self._bounded = [(rows, priority) for rows, priority in goals if priority in STRENGTHS]
        self._soft = np.zeros(len(self._target))
        for rows, priority in goals:
            if priority > max(STRENGTHS):
                self._soft[rows] = SOFT * SOFTER ** (priority - max(STRENGTHS) - 1)

    def solve(self) -> _Found:
        """Return the poses."""
        came = begun = self._begin()
        left = np.arange(len(came.used))
        for let_go in range(1 + len(self._levels)):
            asked = self._take(left)
            tried, is_met = asked._meet(replace(begun.take(left), used=came.used[left]), let_go)
            if not let_go:
                begun = replace(begun, turn=tried.first_turn, place=tried.first_place)
            came = came.put(left, tried)
            left = repeat_single(left[~is_met], len(came.used))
            if not left.size:
                break
        pin_gap = np.abs(came.gap[self._pins]).max(axis=0, initial=0.0)
        forces = came.force[: 3 * len(self._tree.ends)].reshape(-1, 3, len(pin_gap))
        sizes, up = np.sqrt((forces**2).sum(axis=1)), self._normal[:, None]
        carried, sizes = (forces[self._effectors :] * up).sum(axis=1), sizes[: self._effectors]
        lift, is_on = np.abs(came.lift).max(axis=0, initial=0.0), np.ones(carried.shape, np.bool_)
        held = sizes, is_on, carried, pin_gap, lift
        return _Found(came.turn, came.place, *held, came.used)

    def _take(self, rows: Counts) -> _Asked:
        """Return what is asked of some of the trees."""
        if are_all(rows, len(self._caps)):
            return self
        some, own = copy(self), vars(self)
        vars(some).pop("_springs", None)
        vars(some).update({name: take_rows(own[name], rows) for name in OF_TREES})
        return some

    @cached_property
    def _springs(self) -> StartSprings:
        """The springs to the start."""
        return compile_springs(self._tree, self._start)

    def _begin(self) -> _Came:
        """Return where to look from."""
        none, used = np.zeros_like(self._target), np.zeros_like(self._caps)
        pose, energy = (self._turn, self._place), np.zeros(len(used))
        return _Came(*pose, none, self._level, none, used, *pose, energy)

    def _meet(self, came: _Came, let_go: int) -> tuple[_Came, Flags]:
        """Return poses that hold all priorities but so many of the last ones; tell which do.

        What is let go of pulls, and is held where it can be after all.
        """
        last = self._levels[len(self._levels) - let_go :]
        if not last:
            return self._hold(came, last)
        pulled = [goal for goal in self._bounded if goal[1] in last]
        came, is_met = self._look_twice(came, last, [rows for rows, _ in pulled])
        needed = [norm(came.force[rows]) / STRENGTHS[priority] for rows, priority in pulled]
        # What pulls with less than it is worth can be held after all.
        near = np.flatnonzero(is_met & (np.max(needed, axis=0) < 1.0))
        near = repeat_single(near, len(is_met))
        if near.size:
            held, holds = self._take(near)._hold(came.take(near), [])
            came = came.put(near[holds], held.take(holds))
        return came, is_met

    def _look_twice(
        self, came: _Came, last: Sequence[int], pulled: Sequence[Counts]
    ) -> tuple[_Came, Flags]:
        """As ``_hold``; what has gone a long way looks from another pose too, for a better end.

        That is where the tree began, moved as a whole to where the goals that are let go of are met
        in the mean. Valleys that start there no step may lead to.
        """
        found, is_met = self._hold(came, last)
        is_far = found.used - came.used > LONG_WAY
        of_points = [rows for rows in pulled if rows[-1] < 3 * len(self._tree.ends)]
        if not (is_far.any() and self._tree.topology.floats and of_points):
            return found, is_met
        rows = repeat_single(np.flatnonzero(is_far), len(is_far))
        lacks = self._target - _float(self._tree, self._place).make_state(self._turn).output
        way = lacks[np.array(of_points)].mean(axis=0) / self._tree.reach
        moved = replace(came, turn=self._turn, place=self._place + way, used=found.used)
        other, holds = self._take(rows)._hold(moved.take(rows), last)
        energy, meets = found.energy[rows], is_met[rows]
        is_lower = other.energy < energy - WORTH_A_MOVE * np.abs(energy)
        better = np.flatnonzero(np.where(meets == holds, is_lower, holds))
        is_met[rows[better]] = holds[better]
        return found.put(rows[better], other.take(better)), is_met

    def _hold(self, came: _Came, last: Sequence[int]) -> tuple[_Came, Flags]:
        """Return poses that hold all but the last priorities, which pull; tell which do."""
        pulled = [goal for goal in self._bounded if goal[1] in last]
        pulls = self._pull(pulled)
        goals = [goal for goal in self._bounded if goal[1] not in last]
        held, bounds, first = self._pins, [], len(self._points) + len(self._pins)
        # What holds also bears what pulls.
        borne = FARTHEST * SPRING * bool(pulled)
        for rows, priority in goals:
            held, last_row = np.concatenate((held, rows)), first + len(rows)
            bounds.append((slice(first, last_row), ON_THE_WAY * STRENGTHS[priority] + borne))
            first = last_row
        settings = Settings(
            partial(measure_pulls, pulls=pulls),
            rests=1e-5,
            least_shift=1e-9,
            first_shift=1e-6,
            keeps=True,
            held=OutputRows(held, self._points, self._normal),
            led=OutputRows.of(_joined(rows for rows, _ in pulled)),
            returned=1e-2,
            bounds=tuple(bounds),
            holds_soon=bool(goals) and not pulled,
            least_gain=LEAST_GAIN,
        )
        came = self._descend(came, pulls, settings)
        left = np.abs(np.concatenate((came.gap[held], came.lift)))
        is_met = (left <= AIM_TOLERANCE * self._tree.reach).all(axis=0)
        for rows, priority in goals:
            is_met &= norm(came.force[rows]) <= STRENGTHS[priority] + borne
        return came, is_met | (not goals)

    def _pull(self, pulled: Sequence[tuple[Counts, int]]) -> Pulls:
        """Return how goals pull, some of them with what they are worth."""
        springs, goals = self._soft.copy(), np.zeros((len(pulled), len(self._soft)))
        for goal, (rows, _) in enumerate(pulled):
            springs[rows], goals[goal, rows] = SPRING, 1.0
        return Pulls(springs, np.array([STRENGTHS[priority] for _, priority in pulled]), goals)

    def _descend(self, came: _Came, pulls: Pulls, settings: Settings) -> _Came:
        """Return where the trees come to."""
        target, rows, begun = self._target, settings.held, _float(self._tree, came.place)
        state = begun.make_state(came.turn)
        output, points = state.output, 3 * len(self._tree.ends)
        nearer = draw_near(target, output, points, pulls, self._tree.reach)
        acting = Pulling(self._springs, came.place, nearer)
        held = self._level, target[rows.plain]
        given = begun, state.turn, state.slide, acting, np.concatenate(held), self._caps
        ended = minimise(settings, *given, is_alone=self._is_alone)
        place, first = came.place, came.place
        if ended.place is not None and ended.first_place is not None:
            place, first = place + ended.place, first + ended.first_place
        there = replace(came, turn=ended.turn, place=place, used=came.used + ended.used)
        there = replace(there, first_turn=ended.first_turn, first_place=first, energy=ended.energy)
        output = _float(self._tree, place).make_state(ended.turn).output
        gap, reached = target - output, rows.pick(output.T).T
        heights = reached[: len(self._points)]
        springs = pulls.find_springs(pulls.measure_gaps(gap.T, self._tree.reach))
        force = springs.T * gap + rows.spread(ended.force.T, len(target)).T
        return replace(there, gap=gap, lift=self._level - heights, force=force)


def _float(tree: KinematicTree, place: Array) -> KinematicTree:
    """Return trees where they have floated to."""
    return tree.move(place) if tree.topology.floats else tree


def _find_goals(run: Run, priorities: Sequence[int], first: int) -> Iterator[tuple[Counts, int]]:
    """Yield the rows of the output that each goal has, and its priority; aims have the last."""
    for effector, priority in enumerate(priorities):
        yield np.arange(3 * effector, 3 * effector + 3), priority
    own = () if run.aims is None else run.aims.effectors
    poles = 0 if run.aims is None or run.aims.poles is None else len(run.aims.poles.limbs.effectors)
    for row in range(poles):
        yield np.array([first + row]), priorities[own[row]]
    for row in range(poles, len(own), 3):
        yield first + np.arange(row, row + 3), priorities[own[row]]


def _joined(rows: Iterable[Counts]) -> Counts:
    return np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
