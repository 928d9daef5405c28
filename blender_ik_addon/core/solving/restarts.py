"""Chains and trees that start anew from a few other poses, and the best that comes of it."""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.nested import take_rows
from ..kinematics.joint_limits import turn_joints
from ..kinematics.kinematic_tree import TURN
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


def start_anew(
    run: Run,
    state: Array,
    used: Counts,
    rows: Counts,
    tries: tuple[int, int, int],
    *,
    goes_on: bool = True,
) -> tuple[Array, Counts]:
    """Start chains or trees anew, and keep what is better.

    Args:
        run: All of them.
        state: What they have come to, shape (n + 1, C, B).
        used: Iterations used, shape (B,).
        rows: Which to start anew.
        tries: How many poses to draw for each, to start from, and to go on with to the end.
        goes_on: Whether what stands goes on beside them: iterations that have crept on it may find
            another way with little damping. Many small steps of FORCE end anywhere, by rounding.
    """
    few, count, (drawn, begun, ended) = run.take_again(rows, ENOUGH), len(rows), tries
    present, spent_on_it = take_rows(state, rows), np.zeros_like(rows)
    index = np.repeat(np.arange(count), begun)
    tried, spent = draw_nearest(few, drawn, begun), np.zeros_like(index)
    if goes_on:
        index = np.concatenate((index, np.arange(count)))
        tried, spent = np.concatenate((tried, present), axis=-1), np.zeros_like(index)
    if ended < begun:
        several = few.take_again(index, ENOUGH_TO_TELL)
        tried, spent = several.close(tried, spent)
        # Of those that have arrived the least change: how nearly they have is rounding.
        change = _find_changes(tried, several.start).sum(axis=0) - ARRIVED
        score = np.where(several.is_open(tried), several.find_errors(tried), change)
        chosen = _find_least(score[: count * begun].reshape(count, begun), ended)
        chosen = np.concatenate((np.sort(chosen), np.arange(count * begun, len(index))))
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


def _find_least(scores: Array, count: int) -> Counts:
    """Return the indices of so many least scores of each chain, of scores (B, each)."""
    least: Counts = np.argsort(scores, axis=1, kind="stable")[:, :count]
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
        count: How many poses to draw for each chain; the first is the middle of the ranges.
        fewer: How many of them to return.
    """
    several = run.take(np.repeat(np.arange(len(run.tolerance)), count))
    joints = several.tree.joints
    middle, half = joints.find_middles()
    shares = np.random.default_rng(SEED).uniform(-1.0, 1.0, (count, len(joints.kinds), 3))
    shares[0] = 0.0
    share = np.tile(np.moveaxis(shares, 0, -1), len(run.tolerance))
    angle = middle + share * half
    states = several.tree.clamp_state(turn_joints(angle), several.start[:-1, TURN])
    gap = several.find_errors(states).reshape(-1, count)
    gap[:, 0] = 0.0
    return take_rows(states, _find_least(gap, fewer))
