"""Goals of trees by their priorities: pins are held, other goals until it takes too much force.

One descent meets all goals and finds the pose nearest to the start: pins and the goals of the
first priorities are held, those of the last ones pull softly. Where that takes more force than a
goal is worth, or leads nowhere, the tree begins again with these goals let go of: each pulls with
the force that it is worth, and the farther it is off with more. So a pose changes steadily as a
target leaves what can be reached.

Idea: exact penalties (Nocedal and Wright, "Numerical Optimization", 2006, section 17.2); derived
for this project, and tested in tests/core/solving/test_giving_way.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import take_rows
from ..equilibrium.near_start import compile_nearness
from ..equilibrium.pulled_by_goals import Pulling, Pulls, measure_pulls
from ..kinematics.kinematic_tree import TURN
from ..solvers.feasible_newton import Ended, Settings, minimise
from .joint_run import AIM_TOLERANCE, ENOUGH_TO_COMPROMISE, Run

# Goals of this priority are held whatever it takes.
PINNED = 0
# What goals of the first priorities are worth: a joint that is turned by a radian resists by one.
STRENGTHS = {1: 1000.0, 2: 100.0}
# The spring of goals of the third priority, for the reach; of each further one so much of it.
SOFT, SOFTER = 20.0, 0.1
# What lets go of a goal pulls besides, for the reach.
SPRING = 1000.0
# Of turns and poles a radian counts as so much of the reach.
RADIAN = 0.2
# A step that would save less is the last.
LEAST_GAIN = 1e-6
# Steps in which goals that can be met are.
ENOUGH_TO_HOLD = 15


def give_way(run: Run, priorities: Sequence[int]) -> tuple[Run, Array, Counts]:
    """Return poses that meet goals in the order of their priorities, near to the start.

    Args:
        run: What is asked of the trees.
        priorities: One an effector, as ``Goal`` has them.

    Returns:
        The run with the trees where they have floated to, states, and the iterations used.
    """
    asked = _Asked(run, priorities)
    used, tree, turn = np.zeros_like(run.iterations), asked.tree, asked.state[:-1, :TURN].copy()
    place = np.zeros((3, len(used)))
    left, toward = np.arange(len(used)), np.zeros_like(asked.target)
    for held in asked.rounds():
        ended, is_met = asked.descend(held, left, toward)
        used[left] += ended.used
        toward = asked.find_ways(held, ended, left)
        done = is_met if held.size > asked.firm else np.ones_like(is_met)
        rows = left[done]
        turn[..., rows] = ended.turn[..., done]
        if ended.place is not None:
            place[:, rows] = ended.place[:, done]
        left = left[~done]
        if not left.size:
            break
    if tree.topology.floats:
        tree = tree.move(place)
    moved = replace(tree, aims=None)
    return replace(run, tree=moved), moved.restate(tree.make_state(turn), tree), used


class _Asked:
    """What is asked of B trees.

    Attributes:
        tree: The trees, with all that is aimed at.
        state: The states of their start poses.
        target: Of all outputs, shape (rows, B).
        firm: How many rows pins hold.
    """

    def __init__(self, run: Run, priorities: Sequence[int]) -> None:
        """Take what is asked."""
        self._run, self.tree, self.target = run, run.tree, run.target
        if run.aims is not None:
            aims = replace(run.aims, weight=RADIAN * run.tree.reach)
            self.tree = replace(run.tree, aims=aims)
            met = np.zeros((run.aims.rows, run.target.shape[-1]))
            self.target = np.concatenate((run.target, met))
        self.state = self.tree.restate(run.start, run.tree)
        self._goals = list(_find_goals(run, priorities))
        self._pins = _joined(rows for rows, priority in self._goals if priority == PINNED)
        self.firm = len(self._pins)
        self._soft = np.zeros(len(self.target))
        for rows, priority in self._goals:
            if priority > max(STRENGTHS):
                self._soft[rows] = SOFT * SOFTER ** (priority - max(STRENGTHS) - 1)

    def rounds(self) -> list[Counts]:
        """Return the rows that are held first, and once too much force is needed."""
        upper = _joined(rows for rows, priority in self._goals if priority in STRENGTHS)
        both = np.concatenate((self._pins, upper))
        return [both, self._pins] if upper.size else [both]

    def descend(self, held: Counts, trees: Counts, toward: Array) -> tuple[Ended, Flags]:
        """Bring some of the trees down from their start; tell which meet what is held."""
        let_go = [each for each in self._goals if each[1] in STRENGTHS]
        let_go = let_go if held.size == self.firm else []
        pulls = Pulls(
            self._soft,
            tuple(rows for rows, _ in let_go),
            tuple(STRENGTHS[priority] for _, priority in let_go),
            SPRING,
        )
        settings = Settings(
            partial(measure_pulls, pulls=pulls),
            rests=1e-5,
            least_shift=1e-9,
            first_shift=1e-6,
            holds=True,
            keeps=True,
            rows=held,
            firm=self.firm,
            most_force=max(STRENGTHS.values()),
            least_gain=LEAST_GAIN,
        )
        run, part = self._run, (self.tree, self.state, self.target, toward)
        tree, state, target, ways = take_rows(part, trees)
        near = compile_nearness(tree, state[:-1, :TURN])
        acting = Pulling(near, np.zeros((3, len(trees))), target, ways)
        # What can be met is met in a few steps.
        most = ENOUGH_TO_COMPROMISE if held.size == self.firm else ENOUGH_TO_HOLD
        caps = np.minimum(run.iterations[trees], most)
        ended = minimise(settings, tree, state, acting, target[held], caps)
        moved = tree if ended.place is None else tree.move(ended.place)
        gap = np.abs(target[held] - moved.make_state(ended.turn)[-1, held])
        return ended, (gap <= AIM_TOLERANCE * tree.reach).all(axis=0)

    def find_ways(self, held: Counts, ended: Ended, trees: Counts) -> Array:
        """Return where goals that are held pull, unit vectors in their rows, (rows, B)."""
        force, ways = np.zeros((len(self.target), len(trees))), np.zeros_like(self.target)
        force[held] = ended.force
        for rows, _ in self._goals:
            size = np.sqrt((force[rows] ** 2).sum(axis=0))
            ways[np.ix_(rows, trees)] = force[rows] / np.where(size > 0.0, size, 1.0)
        return ways


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
