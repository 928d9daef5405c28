"""Goals of trees by their priorities: pins are held, other goals until it takes too much force.

What can be met is met in one descent: pins and the goals of the first priorities are held, those of
the last ones pull softly, and of all such poses the nearest to the start is found. Where holding a
goal takes more force than it is worth, or leads nowhere, the tree begins again, and goals pull as
springs do. Round after round these are stiffer, and pull past their targets by what was left
before, as far as the force lets them. So a pose changes steadily as a target leaves what can be
reached.

Source: the method of multipliers (Nocedal and Wright, "Numerical Optimization", 2006, section
17.3); the bounds on the forces are derived for this project, and tested in
tests/core/solving/test_giving_way.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import Rows, put_rows, repeat_single, take_rows
from ..equilibrium.near_start import compile_nearness
from ..equilibrium.pulled_by_goals import Pulling, measure_pulls
from ..kinematics.kinematic_tree import TURN, KinematicTree
from ..solvers.feasible_newton import Settings, minimise
from .joint_run import AIM_TOLERANCE, ENOUGH_TO_COMPROMISE, Run

# Goals of this priority are held whatever it takes.
PINNED = 0
# What goals of the first priorities are worth: a joint that is turned by a radian resists by one.
STRENGTHS = {1: 1000.0, 2: 100.0}
# The spring of goals of the third priority, for the reach; of each further one so much of it.
SOFT, SOFTER = 20.0, 0.1
# The springs of what is not held, round after round, likewise.
SPRINGS = 300.0, 1500.0, 4000.0
# Of turns and poles a radian counts as so much of the reach.
RADIAN = 0.2
# A round is done when a step would save less, and the last one.
ROUGH, LEAST_GAIN = 1e-1, 1e-4
# What springs leave of a goal that can be met, as a share of the reach.
NEARLY = 3e-3


def give_way(run: Run, priorities: Sequence[int]) -> tuple[Run, Array, Counts]:
    """Return poses that meet goals in the order of their priorities, near to the start.

    Args:
        run: What is asked of the trees.
        priorities: One an effector, as ``Goal`` has them.

    Returns:
        The run with the trees where they have floated to, states, and the iterations used.
    """
    asked = _Asked(run, priorities)
    came = asked.begin()
    left = np.arange(len(came.used))
    for let_go in range(1 + len(asked.levels)):
        begun = replace(asked.begin().take(left), used=came.used[left])
        tried, is_met = asked.meet(left, begun, let_go)
        came = came.put(left, tried)
        left = repeat_single(left[~is_met], len(came.used))
        if not left.size:
            break
    tree = asked.tree_at(came)
    moved = replace(tree, aims=None)
    return replace(run, tree=moved), moved.restate(tree.make_state(came.turn), tree), came.used


@dataclass(frozen=True)
class _Came(Rows):
    """Where B trees have come to.

    Attributes:
        turn: Of the joints, shape (n, 4, B).
        place: How far first bones have moved, in lengths of the reach, shape (3, B).
        push: With what goals pull past their targets, shape (rows, B).
        gap: What is left to them, likewise.
        used: Steps, shape (B,).
    """

    turn: Array
    place: Array
    push: Array
    gap: Array
    used: Counts

    def put(self, rows: Counts, some: _Came) -> _Came:
        """Return this with some trees as another has them."""
        both = (tuple(vars(each).values()) for each in (self, some))
        mine, others = both
        return _Came(*put_rows(mine, rows, others))


class _Asked:
    """What is asked of B trees."""

    def __init__(self, run: Run, priorities: Sequence[int]) -> None:
        """Take what is asked."""
        self._run, self._tree, self._target = run, run.tree, run.target
        if run.aims is not None:
            aims = replace(run.aims, weight=RADIAN * run.tree.reach)
            self._tree = replace(run.tree, aims=aims)
            met = np.zeros((run.aims.rows, run.target.shape[-1]))
            self._target = np.concatenate((run.target, met))
        self._start = self._tree.restate(run.start, run.tree)
        goals = list(_find_goals(run, priorities))
        self._pins = _joined(rows for rows, priority in goals if priority == PINNED)
        self.levels = sorted({priority for _, priority in goals if priority in STRENGTHS})
        self._bounded = [(rows, priority) for rows, priority in goals if priority in STRENGTHS]
        self._soft = np.zeros(len(self._target))
        for rows, priority in goals:
            if priority > max(STRENGTHS):
                self._soft[rows] = SOFT * SOFTER ** (priority - max(STRENGTHS) - 1)

    def begin(self) -> _Came:
        """Return the start."""
        count = len(self._run.iterations)
        none, used = np.zeros_like(self._target), np.zeros_like(self._run.iterations)
        return _Came(self._start[:-1, :TURN], np.zeros((3, count)), none, none, used)

    def tree_at(self, came: _Came, trees: Counts | None = None) -> KinematicTree:
        """Return some of the trees, or all, where they have floated to."""
        tree = self._tree if trees is None else self._tree.take(trees)
        return tree.move(came.place) if tree.topology.floats else tree

    def meet(self, trees: Counts, came: _Came, let_go: int) -> tuple[_Came, Flags]:
        """Return poses of some of the trees that hold all priorities but so many of the last ones.

        And which of them do. What is let go of pulls, and is held where it can be after all.
        """
        if not let_go:
            return self._hold(trees, came, [])
        last = self.levels[-let_go:]
        for spring in SPRINGS:
            came, is_met = self._pull(trees, came, last, spring)
        upper = _joined(rows for rows, priority in self._bounded if priority in last)
        gap = np.abs(came.gap[upper]).max(axis=0, initial=0.0)
        is_near = is_met & (gap < NEARLY * self._tree.reach[trees])
        near = repeat_single(np.flatnonzero(is_near), len(is_near))
        if near.size:
            held, holds = self._hold(trees[near], came.take(near), [])
            came = came.put(near[holds], held.take(holds))
        return came, is_met

    def _hold(
        self, trees: Counts, came: _Came, last: Sequence[int], soft: Array | None = None
    ) -> tuple[_Came, Flags]:
        """Return poses of some of the trees that hold all but the last priorities; tell which do.

        Without springs of outputs nothing pulls but soft goals.
        """
        goals = [goal for goal in self._bounded if goal[1] not in last]
        held, bounds, first = self._pins, [], len(self._pins)
        for rows, priority in goals:
            held = np.concatenate((held, rows))
            bounds.append((slice(first, len(held)), STRENGTHS[priority]))
            first = len(held)
        least = ROUGH if soft is not None and SPRINGS[-1] not in soft else LEAST_GAIN
        settings = self._settings(held, bounds, least)
        settings = replace(settings, holds_soon=bool(goals) and soft is None)
        if soft is None:
            soft, came = self._soft, replace(came, push=np.zeros_like(came.push))
        came, force = self._descend(trees, came, soft, settings)
        is_met = (np.abs(came.gap[held]) <= AIM_TOLERANCE * self._tree.reach[trees]).all(axis=0)
        for part, strength in bounds:
            is_met &= np.sqrt((force[part] ** 2).sum(axis=0)) <= strength
        return came, is_met | (not goals)

    def _pull(
        self, trees: Counts, came: _Came, last: Sequence[int], spring: float
    ) -> tuple[_Came, Flags]:
        """Return poses to which the last priorities pull; tell which hold all others."""
        pulled = [goal for goal in self._bounded if goal[1] in last]
        soft, push = self._soft.copy(), came.push
        for rows, _ in pulled:
            soft[rows] = spring
        came, is_met = self._hold(trees, came, last, soft)
        push = push.copy()
        for rows, priority in pulled:
            push[rows] += spring * came.gap[rows]
            size = np.sqrt((push[rows] ** 2).sum(axis=0))
            push[rows] *= STRENGTHS[priority] / np.maximum(size, STRENGTHS[priority])
        return replace(came, push=push), is_met

    def _settings(self, held: Counts, bounds: list[tuple[slice, float]], least: float) -> Settings:
        return Settings(
            measure_pulls,
            rests=1e-5,
            least_shift=1e-9,
            first_shift=1e-6,
            holds=True,
            keeps=True,
            rows=held,
            bounds=tuple(bounds),
            least_gain=least,
        )

    def _descend(
        self, trees: Counts, came: _Came, soft: Array, settings: Settings
    ) -> tuple[_Came, Array]:
        """Return where some of the trees come to, and the force on what is held."""
        start, target = take_rows((self._start[:-1, :TURN], self._target), trees)
        tree, held = self._tree.take(trees), settings.rows
        near, begun = compile_nearness(tree, start), self.tree_at(came, trees)
        past = came.push / np.where(soft > 0.0, soft, np.inf)[:, None]
        acting = Pulling(near, came.place, target + past)
        caps = np.minimum(self._run.iterations[trees], ENOUGH_TO_COMPROMISE)
        settings = replace(settings, measure=partial(measure_pulls, soft=soft))
        state = begun.make_state(came.turn)
        ended = minimise(settings, begun, state, acting, target[held], caps)
        place = came.place if ended.place is None else came.place + ended.place
        there = replace(came, turn=ended.turn, place=place, used=came.used + ended.used)
        gap = target - self.tree_at(there, trees).make_state(ended.turn)[-1, : len(target)]
        return replace(there, gap=gap), ended.force


def _find_goals(run: Run, priorities: Sequence[int]) -> Iterator[tuple[Counts, int]]:
    """Yield the rows of the output that each goal has, and its priority."""
    count = len(priorities)
    for effector, priority in enumerate(priorities):
        yield np.arange(3 * effector, 3 * effector + 3), priority
    own = () if run.aims is None else run.aims.effectors
    poles = 0 if run.aims is None or run.aims.poles is None else len(run.aims.poles.limbs.effectors)
    for row in range(poles):
        yield np.array([3 * count + row]), priorities[own[row]]
    for row in range(poles, len(own), 3):
        yield 3 * count + np.arange(row, row + 3), priorities[own[row]]


def _joined(rows: Iterable[Counts]) -> Counts:
    return np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
