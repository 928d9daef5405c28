"""Goals in levels: each is made least while what those above it have come to is held.

Of each priority the positions of effectors are a level, and then their turns and poles. The pose
nearest to the start is the last one.

Source: priorities of tasks (Siciliano and Slotine, "A general framework for managing multiple tasks
in highly redundant robotic systems", 1991) for the idea. Here a level is a minimum under equality
constraints and ranges, and no projection; tested in tests/core/solving/test_levels.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ..algebra.arithmetic import Array, Counts
from ..equilibrium.near_start import compile_nearness, measure_nearness
from ..kinematics.kinematic_tree import TURN
from ..solvers.feasible_newton import Settings, minimise
from ..solvers.weighted_least_squares import measure_errors
from .joint_run import AIM_TOLERANCE, ENOUGH_TO_COMPROMISE, Run

LEVEL = Settings(measure_errors, rests=1e-7, least_shift=1e-7, first_shift=1e-6, keeps=True)


def solve_levels(
    run: Run, priorities: Sequence[int], *, stays_near: bool
) -> tuple[Run, Array, Counts]:
    """Return poses that meet goals in the order of their priorities.

    Args:
        run: What is asked of the trees.
        priorities: One an effector, those of the least number first.
        stays_near: Whether the pose nearest to the start is a level, too.

    Returns:
        The run with the trees where they have floated to, states, and the iterations used.
    """
    trees = _Trees(run)
    for rows in _find_rows(run, priorities):
        trees.meet(rows)
    if stays_near:
        trees.come_near()
    moved = replace(trees.tree, aims=None)
    return replace(run, tree=moved), moved.restate(trees.state, trees.tree), trees.used


def _find_rows(run: Run, priorities: Sequence[int]) -> list[Counts]:
    """Return the rows of the output that belong to each level."""
    effectors = range(len(priorities)) if run.aims is None else run.aims.effectors
    places = np.repeat(priorities, 3)
    aims = np.array([] if run.aims is None else [priorities[each] for each in effectors])
    levels = []
    for priority in sorted(set(priorities)):
        levels += [np.flatnonzero(places == priority)]
        levels += [len(places) + np.flatnonzero(aims == priority)]
    return [rows for rows in levels if rows.size]


class _Trees:
    """B trees on their way through the levels.

    Attributes:
        tree: The trees, with all that is aimed at, where they have floated to.
        state: As ``kinematic_tree`` describes it.
        used: Iterations, shape (B,).
    """

    def __init__(self, run: Run) -> None:
        """Take what is asked of them."""
        self._run, self.tree, self._target = run, run.tree, run.target
        if run.aims is not None:
            self.tree = replace(run.tree, aims=replace(run.aims, weight=run.tree.reach))
            met = np.zeros((run.aims.rows, run.target.shape[-1]))
            self._target = np.concatenate((run.target, met))
        self.state = self.tree.restate(run.start, run.tree)
        self.used = np.zeros_like(run.iterations)
        # The same tree with other goals is another one. Aims add up one row otherwise than several.
        is_same = run.aims is None and bool((self._target == self._target[:, :1]).all())
        self._is_alone = run.is_alone and is_same
        self._place, self._held = np.zeros((3, len(self.used))), np.zeros(0, dtype=np.int64)

    def meet(self, rows: Counts) -> None:
        """Have outputs come as near to their targets as those let them that are held; hold them."""
        is_place = rows[0] < len(self._run.target)
        finest = self._run.tolerance if is_place else AIM_TOLERANCE * self.tree.reach
        acting = self._target[rows], finest
        settings = replace(LEVEL, measure=partial(measure_errors, rows=rows), rows=rows)
        self._go_down(settings, acting, self._target[rows])
        self._held = np.concatenate((self._held, rows))

    def come_near(self) -> None:
        """Find the pose nearest to the start of those that keep what is held."""
        acting = compile_nearness(self.tree, self._run.start[:-1, :TURN]), self._place
        self._go_down(replace(LEVEL, measure=measure_nearness), acting, self._target)

    def _go_down(self, settings: Settings, acting: Any, target: Array) -> None:
        if self._held.size:
            settings = replace(settings, holds=True, rows=self._held)
            target = self.state[-1, self._held]
        caps = np.clip(self._run.iterations - self.used, 0, ENOUGH_TO_COMPROMISE)
        asked = settings, self.tree, self.state, acting, target, caps
        ended = minimise(*asked, is_alone=self._is_alone)
        if ended.place is not None:
            self.tree, self._place = self.tree.move(ended.place), self._place + ended.place
        self.state, self.used = self.tree.make_state(ended.turn), self.used + ended.used
