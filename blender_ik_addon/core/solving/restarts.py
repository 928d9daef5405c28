"""Chains and trees that start anew from a few other poses, and the best that comes of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import take_rows
from ..kinematics import joint_limits
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
    """

    drawn: int
    begun: int
    ended: int


def start_anew(
    run: Run, state: Array, used: Counts, rows: Counts, tries: Tries, *, goes_on: bool = True
) -> tuple[Array, Counts]:
    """Start chains or trees anew, and keep what is better.

    Args:
        run: All of them.
        state: What they have come to, shape (n + 1, C, B).
        used: Iterations used, shape (B,).
        rows: Which to start anew.
        tries: How often.
        goes_on: Whether what stands goes on beside them: iterations that have crept on it may find
            another way with little damping. Many small steps of FORCE end anywhere, by rounding.
    """
    few, count = run.take_again(rows, ENOUGH), len(rows)
    present, spent_on_it = take_rows(state, rows), np.zeros_like(rows)
    index = np.repeat(np.arange(count), tries.begun)
    tried, spent = draw_nearest(few, tries.drawn, tries.begun), np.zeros_like(index)
    if goes_on:
        index = np.concatenate((index, np.arange(count)))
        tried, spent = np.concatenate((tried, present), axis=-1), np.zeros_like(index)
    if tries.ended < tries.begun:
        tried, spent = few.take_again(index, ENOUGH_TO_TELL).close(tried, spent)
        chosen = _find_promising(few, tried[..., : count * tries.begun], tries)
        chosen = np.concatenate((chosen, np.arange(count * tries.begun, len(index))))
        index, tried, spent = index[chosen], take_rows(tried, chosen), spent[chosen]
    several = few.take_again(index, ENOUGH_ANEW)
    tried, spent = several.close(tried, spent)
    if goes_on:
        present, spent_on_it = tried[..., -count:], spent[-count:]
        tried, spent = tried[..., :-count], spent[:-count]
        several = several.take(np.arange(len(spent)))
    tried, spent = several.aim(tried, spent)
    best, is_better = _choose_best(few, several, tried, present)
    found = np.where(is_better, take_rows(tried, best), present)
    found, spent = few.close(found, np.where(is_better, spent[best], spent_on_it))
    found, spent = few.compromise(found, spent)
    state, used = state.copy(), used.copy()
    state[..., rows], used[rows] = found, used[rows] + spent
    return state, np.minimum(used, run.iterations)


def _find_promising(few: Run, states: Array, tries: Tries) -> Counts:
    """Return which states of B chains, several of each, go on."""
    count = len(few.tolerance)
    several = few.take(np.repeat(np.arange(count), tries.begun))
    # Of those that have arrived the least change: how nearly they have is rounding.
    change = _find_changes(states, several.start).sum(axis=0) - ARRIVED
    score = np.where(several.is_open(states), several.find_errors(states), change)
    return _find_least(score.reshape(count, -1), tries.ended)


def _find_least(scores: Array, count: int) -> Counts:
    """Return the indices of so many least scores of each chain, of scores (B, each), in order."""
    least: Counts = np.sort(np.argsort(scores, axis=1, kind="stable")[:, :count], axis=1)
    least += scores.shape[1] * np.arange(len(scores))[:, None]
    return least.ravel()


def _choose_best(few: Run, several: Run, tried: Array, present: Array) -> tuple[Counts, Flags]:
    """Return which of several states of each chain is best, and whether what stands is worse."""
    count = present.shape[-1]
    each = tried.shape[-1] // count
    # Of the poses that arrive the one on the right side, then the one that is least of a change.
    change = _find_changes(tried, several.start).sum(axis=0)
    side, gap = several.find_angles_past(tried), several.find_errors(tried)
    has_arrived = ~several.is_open(tried)
    ranked = np.where(has_arrived, ARRIVED * (np.maximum(side, ASIDE) - np.pi) + change, gap)
    best = _find_least(ranked.reshape(count, -1), 1)
    standing_gap, has_stood = few.find_errors(present), ~few.is_open(present)
    is_nearer = gap[best] + WORTH_A_JUMP * few.tree.reach < standing_gap
    is_better_side = side[best] + WORTH_A_JUMP < few.find_angles_past(present)
    is_better = has_arrived[best] & (is_better_side | ~has_stood) | (is_nearer & ~has_stood)
    is_by = _find_changes(tried, np.repeat(present, each, axis=-1)).max(axis=0) <= NO_JUMP
    nearest = _find_least(np.where(is_by, gap, np.inf).reshape(count, -1), 1)
    creeps = is_by[nearest] & (gap[nearest] < standing_gap - NEAR * few.tree.reach)
    creeps &= ~is_better & ~has_stood
    return np.where(creeps, nearest, best), is_better | creeps


def _find_changes(state: Array, other: Array) -> Array:
    """Return how far joints stand apart: squared sines of half the angles, shape (n, B)."""
    cosine = np.einsum("nib,nib->nb", state[:-1, :TURN], other[:-1, :TURN])
    changes: Array = 1.0 - cosine**2
    return changes


def draw_nearest(run: Run, count: int, fewer: int) -> Array:
    """Return states (n + 1, C, B * fewer): the middle of ranges, and those nearest to targets.

    Args:
        run: The chains, B of them.
        count: How many poses to draw for each chain.
        fewer: How many of them to return.
    """
    several = run.take(np.repeat(np.arange(len(run.tolerance)), count))
    turn = draw_turns(run.tree.joints, run.start[:-1, :TURN], count)
    states = several.tree.make_state(turn, several.start[:-1, TURN])
    gap = several.find_errors(states).reshape(-1, count)
    gap[:, 0] = 0.0
    nearest = np.argsort(gap, axis=1, kind="stable")[:, :fewer]
    return take_rows(states, (nearest + count * np.arange(len(gap))[:, None]).ravel())


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
