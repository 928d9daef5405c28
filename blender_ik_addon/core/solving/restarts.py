"""Chains and trees that start anew from a few other poses, and the best that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Counts
from ..algebra.arrays import norm
from ..algebra.nested import take_rows
from ..kinematics import joint_limits
from ..kinematics.aims import Aims
from ..kinematics.compiled_joints import CompiledJoints
from ..kinematics.kinematic_tree import TURN
from ..model.joints import JointKind
from .joint_run import ENOUGH, NEAR, WORTH_A_JUMP, Run

# The same poses every time: a frame solved again gives the same pose.
SEED = 20110705
# Iterations for each new start, and after how many of them only the nearest go on.
ENOUGH_ANEW, ENOUGH_TO_TELL = 20, 6
# A chain that stays farther than this from the side of its pole, in radians, tries others too; one
# that arrives as well replaces another if it is nearer to that side by ``WORTH_A_JUMP``.
ASIDE = 0.02
# Where no joint stands farther than this from where it stood, as the square of the sine of half the
# angle, there is no jump: iterations that creep end anywhere within.
NO_JUMP = np.sin(0.05) ** 2
# What arrives comes before all that does not.
ARRIVED = 1e6


class Tries(NamedTuple):
    """How often chains start anew.

    Attributes:
        drawn: Poses to choose from.
        begun: Those to start from.
        ended: Those that go on to the end.
        goes_on: Whether what stands may have arrived by going on beside them. Many small steps of
            FORCE end anywhere, by rounding; drawn poses do not.
    """

    drawn: int
    begun: int
    ended: int
    goes_on: bool = True


def start_anew(
    run: Run,
    state: Array,
    used: Counts,
    rows: Counts,
    standing: Array,
    aims: Aims | None,
    tries: Tries,
) -> tuple[Array, Counts]:
    """Start chains or trees anew, and keep what is better.

    Args:
        run: All of them.
        state: What they have come to, shape (n + 1, C, B).
        used: Iterations used, shape (B,).
        rows: Which to start anew.
        standing: The states of their start poses, shape (n + 1, C, B).
        aims: Of all of them, or None.
        tries: How often.
    """
    few, start = run.take_again(rows, np.full(len(rows), ENOUGH)), take_rows(standing, rows)
    tried, spent = _try(few, start, take_rows(state, rows), tries)
    present, spent_on_it = tried[..., -1], spent[..., -1]
    if not tries.goes_on:
        present, spent_on_it = take_rows(state, rows), np.zeros_like(rows)
    each = np.repeat(np.arange(len(rows)), tries.ended)
    several = _begin_anew(few, each, ENOUGH_ANEW)
    tried, spent = tried[..., :-1].reshape(*start.shape[:2], -1), spent[:, :-1].ravel()
    if aims is not None:
        aims = aims.take(rows)
        tried, spent = several.aim(tried, spent, aims.take(each))
    best, spent = _choose_best(few, several, (tried, spent), start, (present, spent_on_it), aims)
    best, spent = few.compromise(*few.close(best, spent))
    state, used = state.copy(), used.copy()
    state[..., rows], used[rows] = best, used[rows] + spent
    return state, np.minimum(used, run.iterations)


def _try(few: Run, start: Array, present: Array, tries: Tries) -> tuple[Array, Counts]:
    """Return what becomes of new starts (n + 1, C, B, each), and the iterations (B, each).

    What stands goes on beside them, and is the last: iterations that have crept on it may find
    another way with little damping.
    """
    chains = start.shape[-1]
    begun = draw_nearest(few, start, tries.drawn, tries.begun)
    states = np.concatenate((_by_chain(begun, chains), present[..., None]), axis=3)
    spent = np.zeros((chains, tries.begun + 1), dtype=np.int64)
    if tries.ended < tries.begun:
        states, spent = _go_on(few, states, spent, ENOUGH_TO_TELL)
        gap = _find_gaps(few, states[..., :-1])
        # Of those that have arrived the least change: how nearly they have is rounding.
        cosine = np.einsum("nibe,nib->nbe", states[:-1, :TURN, :, :-1], start[:-1, :TURN])
        change = (1.0 - cosine**2).sum(axis=0) - ARRIVED
        order = np.argsort(np.where(gap <= few.accepted[:, None], change, gap), kind="stable")
        nearest = np.sort(order[:, : tries.ended], axis=1)
        last = np.full((chains, 1), tries.begun)
        chosen = np.concatenate((nearest, last), axis=1)
        states = np.take_along_axis(states, chosen[None, None], axis=3)
        spent = np.take_along_axis(spent, chosen, axis=1)
    return _go_on(few, states, spent, ENOUGH_ANEW)


def _find_gaps(few: Run, states: Array) -> Array:
    """Return the distances (B, each) of several states of each chain from the targets."""
    rows = len(few.target)
    return norm((few.target[..., None] - states[-1, :rows]).swapaxes(0, 1))


def _go_on(few: Run, states: Array, spent: Counts, iterations: int) -> tuple[Array, Counts]:
    """Return several states of each chain (n + 1, C, B, each) after some iterations."""
    chains, count = spent.shape
    several = _begin_anew(few, np.repeat(np.arange(chains), count), iterations)
    found, used = several.close(states.reshape(*states.shape[:2], -1), spent.ravel())
    return _by_chain(found, chains), used.reshape(chains, count)


def _by_chain(states: Array, chains: int) -> Array:
    """Return states (n + 1, C, B * each) as (n + 1, C, B, each)."""
    return states.reshape(*states.shape[:2], chains, -1)


def _begin_anew(few: Run, chosen: Counts, iterations: int) -> Run:
    """Return the run of chains, each several times, from other poses."""
    several = few.take_again(chosen, np.full(len(chosen), iterations))
    return replace(several, is_fresh=np.ones(len(chosen), dtype=np.bool_))


def _choose_best(
    few: Run,
    several: Run,
    tries: tuple[Array, Counts],
    start: Array,
    standing: tuple[Array, Counts],
    aims: Aims | None,
) -> tuple[Array, Counts]:
    """Return the best of several tries of each chain and of what stands, and its iterations."""
    (tried, spent), (present, spent_on_it) = tries, standing
    chains, rows = present.shape[-1], len(few.target)
    count = len(spent) // chains
    each = np.repeat(np.arange(chains), count)
    # Of the poses that arrive the one on the right side, then the one that is least of a change.
    change = _find_changes(tried, take_rows(start, each)).sum(axis=0) + norm(tried[-1, rows:])
    side = find_angles_past(several, tried, None if aims is None else aims.take(each))
    gap, has_arrived = several.find_errors(tried), ~several.is_open(tried)
    score = np.where(
        has_arrived, ARRIVED * (np.maximum(side, ASIDE) - np.pi) + change, gap
    ).reshape(chains, count)
    best = np.argmin(score, axis=1) + count * np.arange(chains)
    standing_gap, has_stood = few.find_errors(present), ~few.is_open(present)
    is_nearer = gap[best] + WORTH_A_JUMP * few.tree.reach < standing_gap
    is_better_side = side[best] + WORTH_A_JUMP < find_angles_past(few, present, aims)
    is_better = np.where(
        has_stood, has_arrived[best] & is_better_side, has_arrived[best] | is_nearer
    )
    is_by = _find_changes(tried, take_rows(present, each)).max(axis=0) <= NO_JUMP
    nearest = np.argmin(np.where(is_by, gap, np.inf).reshape(chains, count), axis=1)
    nearest += count * np.arange(chains)
    is_by = is_by[nearest] & (gap[nearest] < standing_gap - NEAR * few.tree.reach)
    creeps = ~is_better & ~has_stood & is_by
    best = np.where(creeps, nearest, best)
    is_better |= creeps
    found = np.where(is_better, take_rows(tried, best), present)
    return found, np.where(is_better, spent[best], spent_on_it)


def _find_changes(state: Array, other: Array) -> Array:
    """Return how far joints stand apart: squared sines of half the angles, shape (n, B)."""
    cosine = np.einsum("nib,nib->nb", state[:-1, :TURN], other[:-1, :TURN])
    changes: Array = 1.0 - cosine**2
    return changes


def find_angles_past(run: Run, state: Array, aims: Aims | None) -> Array:
    """Return by how many radians chains are past the sides that they aim at, shape (B,)."""
    if aims is None:
        return np.zeros(state.shape[-1])
    return aims.find_angles_past(run.tree.posed(state))


def draw_nearest(few: Run, start: Array, count: int, fewer: int) -> Array:
    """Return states (n + 1, C, B * fewer): the middle of ranges, and those nearest to targets.

    Args:
        few: The chains, B of them.
        start: The states of their start poses, shape (n + 1, C, B).
        count: How many poses to draw for each chain.
        fewer: How many of them to return.
    """
    chains = start.shape[-1]
    each = np.repeat(np.arange(chains), count)
    found = draw_turns(few.tree.joints, start[:-1, :TURN], count)
    states = few.tree.take(each).make_state(found, take_rows(start[:-1, TURN], each))
    states = _by_chain(states, chains)
    gap = _find_gaps(few, states)
    gap[:, 0] = 0.0
    nearest = np.argsort(gap, axis=1, kind="stable")[:, :fewer]
    nearest_states = np.take_along_axis(states, nearest[None, None], axis=3)
    return nearest_states.reshape(*start.shape[:2], -1)


def draw_turns(joints: CompiledJoints, start: Array, count: int) -> Array:
    """Return turns (n, 4, B * count) to start from anew: of each chain in turn, all of its own.

    Args:
        joints: Of B chains.
        start: Turns of their start poses, shape (n, 4, B).
        count: How many poses for each chain; the first is the middle of the ranges.
    """
    bones, chains = len(start), start.shape[-1]
    shares = np.random.default_rng(SEED).uniform(-1.0, 1.0, (count, bones, 3))
    shares[0] = 0.0
    found = np.empty((bones, 4, chains * count))
    for i, kind in enumerate(joints.kinds):
        own, low, high = (
            np.repeat(values[i], count, axis=-1) for values in (start, joints.low, joints.high)
        )
        found[i] = _draw_turn(kind, own, low, high, np.tile(shares[:, i].T, chains))
    return found


def _draw_turn(kind: JointKind, start: Array, low: Array, high: Array, share: Array) -> Array:
    """Return turns (4, B) at shares (3, B) of the ways from the middles of ranges to their ends."""
    if kind is JointKind.FIXED:
        return start
    least, most = joint_limits.find_spans(low, high)
    angle = 0.5 * (least + most) + 0.5 * share * (most - least)
    whole = turns.from_vectors(np.stack((angle[0], np.zeros_like(angle[0]), angle[2])))
    axis = {**joint_limits.HINGES, **joint_limits.ELBOWS}.get(kind)
    if axis is not None:
        whole = joint_limits.turn_about(axis, angle[axis])
    if kind not in joint_limits.HINGES and kind is not JointKind.SWING:
        whole = turns.multiply(whole, joint_limits.turn_about(1, angle[1]))
    return joint_limits.clamp_kind(kind, turns.normalize(whole), low, high)
