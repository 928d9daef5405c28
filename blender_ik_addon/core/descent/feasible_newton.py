"""Newton's method on any energy of poses: some outputs held, along the edges of ranges pressed on.

A step turns joints only in ways that leave held outputs and edges where they are: the energy's
curvature is reduced to those turns, shifted until it is positive definite, and solved. Then the
outputs are brought back, and the step is taken if the energy has fallen. Chains come first, as in
``algebra.chains_first``.

Source: sequential quadratic programming (Nocedal and Wright, "Numerical Optimization", 2006,
chapter 18); the return to the outputs and the way down from ridges are derived for this project and
tested against SciPy's SLSQP in tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import apply, chains_first, chains_last, choose_first, measure
from ..algebra.nested import take_rows, transform_leaves
from ..kinematics.kinematic_tree import KinematicTree
from .bone_rows import BoneRows
from .constrained_step import MOST_SHIFT, ConstrainedStep, Known, forget
from .descent_settings import Measure, Settings
from .held_outputs import HeldOutputs
from .near_edges import NearEdges
from .output_return import bring_back
from .planned_step import PlannedStep
from .posed_rows import PosedRows

# A step that was not taken is tried again with so many times the shift, the next one after one that
# was taken with this share.
MORE_SHIFT, LEAST_MORE, LESS_SHIFT = 8.0, 1e-3, 0.1
# One that saves less than this share of what it should keeps half the shift.
AS_PLANNED, HALF = 0.5, 0.5
# A step goes no farther than so many times the last one that was taken, or this share of one that
# was not: along valleys that bend a shift alone makes steps too short, then too long. With half,
# steps are tried in vain more often; with an eighth, more of them are needed.
MORE_WAY, LESS_WAY = 2.0, 0.25
# A shifted step is shorter than what is left to go; by so much of the shift it counts for more.
SHIFTED = 1e3
# How often held outputs are brought back after a step, and how near, as a share of the reach.
RETURNS, RETURNED = 3, 1e-11
# How far a chain that rests on a ridge is sent down, in radians.
ESCAPE = 0.2
# What rounding leaves of a comparison of energies, as a share of them.
ROUNDING = 1e-13
# A step that would save no more than this share of the energy leads nowhere. A hundred times more,
# and trees in flat valleys stop short of the end that their mirror images come to.
NO_GAIN = 1e-15
# Outputs farther off than so many times how near they are brought, and than a share of the reach,
# have not come back. What is nearer the next step brings back; a hundred times less, and steps
# along ranges are halved.
STRAY, ASTRAY = 10.0, 1e-4
# Steps in which outputs that can be held nearly are, as a share of the reach, and from where the
# last step brings them all the way; with a greater shift a step leads nowhere.
ENOUGH_TO_HOLD, NEARLY_HELD, TOO_SHORT = 20, 1e-4, 10.0
# A force so many times as great as what turns the stiffest joint by a radian holds nothing: from
# one step to the next it grows.
IN_VAIN = 1e10
# Poles and limits lead into corners, where steps have greater shifts than this: there what is
# slight is so many times as much.
IN_CORNERS, MORE_IN_CORNERS = 1.0, 1e4
# A gap of held outputs counts so many times more than the force on them saves along it. A quarter,
# and steps are taken from which limits let no output come back.
GAP_COUNTS = 4.0
# Springs may enter their slack or leave it within a step: so often it is looked at again.
MOST_FORESEEN = 2
# Of chains side by side those that are done leave once they are this share; few stay.
COMPACTION, FEW = 0.4, 16


class Ended(NamedTuple):
    """Where trees have come to.

    Attributes:
        turn: Of the joints, shape (n, 4, B).
        used: Steps, shape (B,).
        place: How far the first bones have moved, in lengths of the reach, shape (3, B); None where
            none floats.
        force: On what is held, shape (k, B).
        first_turn: The turns after the first step.
        first_place: The place after the first step.
        energy: Of the poses, shape (B,).
    """

    turn: Array
    used: Counts
    place: Array | None
    force: Array
    first_turn: Array
    first_place: Array | None
    energy: Array


def minimise(
    settings: Settings,
    tree: KinematicTree,
    turn: Array,
    slide: Array,
    acting: Any,
    target: Array,
    caps: Counts,
    *,
    is_alone: bool = False,
) -> Ended:
    """Return the pose of least energy nearby.

    Args:
        settings: How to go there.
        tree: The trees.
        turn: Of the joints, shape (n, 4, B).
        slide: Of the bones, shape (n, B).
        acting: What acts on the trees, as the settings' measure takes it.
        target: Of the outputs that are held, shape (k, B).
        caps: Of the steps, shape (B,).
        is_alone: Whether all are one tree: from equal states it goes once.
    """
    if is_alone:
        rows, same = _find_alike(turn, slide, target, caps[None])
        given = take_rows((tree, turn, slide, acting, target, caps), rows)
        return take_rows(minimise(settings, *given), same)
    turn, rows = chains_first(turn), np.flatnonzero(caps > 0)
    used, count, width = np.zeros_like(caps), len(caps), len(target)
    known, place = forget(turn, width), np.zeros((count, 3)) if tree.topology.floats else None
    none, most = np.zeros(count), np.full(count, np.inf)
    carried = _Carried(turn, none, most, most, most, used, known, place, turn, place, most)
    while rows.size:
        part = (tree, acting, target, slide, caps)
        begun = carried
        if rows.size < count:
            part, begun = take_rows(part, rows), _pick(carried, rows)
        is_open, done = _Descent(settings, *part).run(begun)
        carried = done if rows.size == count else _put(carried, rows, done)
        rows = rows[is_open]
    poses = carried.turn, carried.place, carried.first_turn, carried.first_place
    turn, place, first_turn, first_place = transform_leaves(chains_last, poses)
    force = chains_last(carried.known.force)
    return Ended(turn, carried.used, place, force, first_turn, first_place, carried.energy)


def _find_alike(*arrays: Array | Counts) -> tuple[Counts, Counts]:
    """Return the first of each rows (..., B) that are alike, and which of them each row is like.

    A single chain is solved two times, as NumPy rounds one row otherwise than several; here each
    chain is taken by itself.
    """
    firsts: dict[bytes, int] = {}
    table = np.concatenate([each.reshape(-1, each.shape[-1]) for each in arrays]).T
    found = [firsts.setdefault(row.tobytes(), len(firsts)) for row in table]
    same = np.array(found)
    return np.unique(same, return_index=True)[1], same


class _Carried(NamedTuple):
    """What a descent hands on, chains first.

    Attributes:
        turn: Of the joints, shape (B, n, 4).
        shift: Compared with the stiffest joint, shape (B,).
        radius: How far a step may turn a joint, in radians, shape (B,).
        last: How far the step before had to go, shape (B,).
        scale: The least of the stiffest joint so far, shape (B,): what presses on joints makes them
            seem stiffer.
        used: Steps, shape (B,).
        known: What the step before knew.
        place: As ``PosedRows.place``.
        first_turn: The turns after the first step.
        first_place: The place after the first step.
        energy: Of the poses, shape (B,).
    """

    turn: Array
    shift: Array
    radius: Array
    last: Array
    scale: Array
    used: Counts
    known: Known
    place: Array | None
    first_turn: Array
    first_place: Array | None
    energy: Array


def _pick(carried: _Carried, rows: Counts) -> _Carried:
    picked: _Carried = transform_leaves(lambda part: part[rows], carried)
    return picked


def _put(carried: _Carried, rows: Counts, some: _Carried) -> _Carried:
    def replaced(whole: Array, part: Array) -> Array:
        result = whole.copy()
        result[rows] = part
        return result

    whole: _Carried = transform_leaves(replaced, carried, some)
    return whole


class _Here(NamedTuple):
    """Where trees stand, what that costs, and their outputs (B, rows).

    And what is left of these to targets (B, k), and how much that is, (B,).
    """

    posed: PosedRows
    at: Measure
    output: Array
    gap: Array
    off: Array


class _Descent:
    """The way down of some trees, until enough of them are done."""

    def __init__(
        self,
        settings: Settings,
        tree: KinematicTree,
        acting: Any,
        target: Array,
        slide: Array,
        caps: Counts,
    ) -> None:
        self._settings, self._joints, self._caps = settings, tree.joints, caps
        self._bones, self._target = BoneRows(tree, slide), np.ascontiguousarray(target.T)
        self._held, self._holds, every = settings.held, len(target) > 0, np.arange(tree.rows)
        self._led, whole = every[settings.led.plain], every[self._held.plain]
        both = replace(self._held, plain=np.concatenate((whole, self._led)))
        # What springs pull is led once: what is held comes back all the way.
        self._returns = (both, *(self._held,) * (RETURNS - 1) * self._holds)
        self._measure = settings.measure(self._bones, acting)
        self._near = NEARLY_HELD * tree.reach

    def run(self, begun: _Carried) -> tuple[Flags, _Carried]:
        """Return which trees are not done, and what they have come to."""
        turn, shift, radius, last, scale, used, known, place, first, moved, _ = begun
        here = self._look(self._bones.pose(turn, place=place))
        is_open = (used < self._caps) & ~here.at.is_least
        least = (1.0 - COMPACTION) * len(is_open) if len(is_open) > FEW else 0.0
        while np.count_nonzero(is_open) > least:
            plan = self._plan(here, known, shift, radius, is_open)
            after = self._move(here.posed, plan)
            is_better, creeps, following = self._judge(plan, here, after, last)
            is_better &= is_open
            # What it would take to go on is known as well where that ends it.
            ends = is_better | (is_open & plan.rests)
            known = choose_first(ends, plan.step.known, known)
            here = self._choose(is_better, after, here)
            if not used.any():
                first, moved = here.posed.turn, here.posed.place
            # What trees that are done hand on counts no more.
            used, last, shift = used + is_open, plan.size, following
            farther = np.maximum(radius, MORE_WAY * plan.way)
            radius = np.where(is_better, farther, LESS_WAY * plan.way)
            is_done = plan.rests | creeps | here.at.is_least
            is_open = is_open & (used < self._caps) & (shift < MOST_SHIFT) & ~is_done
            if self._holds:
                scale = np.minimum(scale, plan.step.scale)
                is_open &= measure(plan.step.known.force) <= IN_VAIN * scale
            if self._settings.holds_soon:
                is_soon = (shift < TOO_SHORT) & (used < ENOUGH_TO_HOLD)
                is_open &= is_soon | (here.off <= self._near)
        left = here.posed.turn, shift, radius, last, scale, used, known, here.posed.place
        return is_open, _Carried(*left, first, moved, here.at.total)

    def _look(self, posed: PosedRows, output: Array | None = None) -> _Here:
        """Return what poses cost; their outputs if they are known."""
        if output is None:
            output = self._bones.find_output(posed)
        gap = self._target - self._held.pick(output)
        off = measure(gap) if self._holds else np.zeros(len(gap))
        return _Here(posed, self._measure(posed, output), output, gap, off)

    def _choose(self, rows: Flags, first: _Here, second: _Here) -> _Here:
        """Return the first where flagged (B,), else the second."""
        if rows.all():
            return first
        if not rows.any():
            return second
        return self._look(first.posed.choose(rows, second.posed))

    def _move(self, posed: PosedRows, plan: PlannedStep) -> _Here:
        """Return poses after a step.

        Where outputs that are led are brought back to the step's plan a step goes farther, if
        their valley is not too curved.
        """
        moved = self._bones.turn_on(posed, plan.move)
        if not plan.planned.size:
            return self._look(moved)
        back = self._look(*bring_back(self._bones, self._returns, moved, plan))
        if self._holds:
            return back
        there = self._look(moved)
        return self._choose(back.at.total < there.at.total, back, there)

    def _plan(
        self, here: _Here, known: Known, shift: Array, radius: Array, is_open: Flags
    ) -> PlannedStep:
        """Return the step from poses."""
        (posed, at, output, error, off), settings, edges = here, self._settings, None
        whole = self._bones.find_jacobian(posed)
        if self._bones.joints.has_edges:
            edges = NearEdges(self._bones.joints, posed.turn)
        radius = np.minimum(radius, settings.largest_turn)
        shifts, axes = (settings.least_shift, settings.first_shift), self._joints.free_axes
        held = HeldOutputs(self._held.pick(whole), axes)
        for _ in range(MOST_FORESEEN):
            slope, curve = at.derive(whole)
            force = np.zeros(output.shape)
            if self._holds:
                pushed = slope if edges is None else slope + edges.push(known.is_shut, known.press)
                force = self._held.spread(held.find_force(pushed), whole.shape[1])
            given, back = (slope, curve(force)), (held, error)
            step = ConstrainedStep(axes, given, back, edges, known, shift, shifts)
            largest = measure(step.move).max(axis=1)
            shrunk = radius / np.maximum(largest, radius)
            move = step.move * shrunk[:, None, None]
            if not at.foresee(move):
                break
        more = 1.0 + SHIFTED * step.shift
        size, gain, way = largest * more, step.gain * more, largest * shrunk
        rests = (size <= settings.rests) | (np.abs(gain) <= NO_GAIN * np.abs(at.total))
        if (is_stuck := rests & is_open & (step.shift > 0.0)).any():
            down, leads_down = step.find_way_down(is_stuck)
            move = np.where(leads_down[:, None, None], down * (ESCAPE / more)[:, None, None], move)
            size, way = np.where(leads_down, 1.0, size), np.where(leads_down, ESCAPE / more, way)
            shrunk, rests = np.where(leads_down, 1.0, shrunk), rests & ~leads_down
        rests |= self._is_done(step, gain, off)
        planned, near = output[:, self._led], way
        if self._holds or self._led.size:
            planned = planned + apply(whole[:, self._led], move.reshape(len(move), -1))
            nearer = self._target - (1.0 - shrunk)[:, None] * error
            planned = np.concatenate((nearer, planned), axis=1)
            near = (RETURNED + settings.returned * way**2) * self._bones.tree.reach
        return PlannedStep(step, move, shrunk, way, size, rests, planned, edges, near)

    def _is_done(self, step: ConstrainedStep, gain: Array, off: Array) -> Flags:
        """Tell which trees have come near enough, or would need too much force, (B,)."""
        settings = self._settings
        is_done = np.zeros(off.shape, dtype=np.bool_)
        if settings.least_gain > 0.0:
            is_done = (off <= self._near) & (gain < settings.least_gain)
        for rows, most in settings.bounds:
            is_done |= measure(step.known.force[:, rows]) > most
        return is_done

    def _judge(
        self, plan: PlannedStep, here: _Here, after: _Here, last: Array
    ) -> tuple[Flags, Flags, Array]:
        """Return which steps are taken, which are the last, and the shifts of next ones, (B,)."""
        settings, total, left = self._settings, here.at.total, after.at.total
        scale = total
        if self._holds:
            # What a gap of outputs that are held counts, beside the energy.
            force, there = plan.step.known.force, RETURNED * self._bones.tree.reach
            strength = GAP_COUNTS * measure(force)

            def weigh(pose: _Here) -> Array:
                # What a gap saves to first order, and a share more of one that is not rounding.
                saves: Array = (force * pose.gap).sum(axis=1)
                return saves + strength * np.maximum(pose.off, there)

            total, left = total + weigh(here), left + weigh(after)
            scale = np.abs(total) + plan.step.scale
        saved = total - left
        is_better = saved >= -ROUNDING * scale
        # Between springs that are met and left, along a flat ridge or in a corner it would go on.
        # What is held has to be there: nothing brings it back afterwards.
        is_short = plan.step.shift > IN_CORNERS
        slight = settings.slight * plan.share * np.where(is_short, MORE_IN_CORNERS, 1.0) * scale
        creeps = is_better & (saved <= slight) & (is_short | (plan.size >= 0.5 * last))
        if self._holds:
            creeps &= after.off <= self._near
        if self._holds and settings.keeps:
            near = np.maximum(STRAY * plan.near, ASTRAY * self._bones.tree.reach)
            is_better &= after.off <= np.maximum(near, here.off)
        shift = plan.step.shift
        less = np.where(saved > AS_PLANNED * plan.step.gain, LESS_SHIFT, HALF) * shift
        less = np.where(shift < settings.first_shift, 0.0, less)
        more = np.maximum(MORE_SHIFT * shift, LEAST_MORE)
        return is_better, creeps, np.where(is_better, less, more)
