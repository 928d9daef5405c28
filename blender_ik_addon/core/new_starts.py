"""Jointed chains that start anew from a few other poses, and the best that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from . import restarts
from .aims import Aims
from .jointed import ASIDE, ENOUGH, NEAR
from .limited_run import Run
from .vectors import Array, Counts, norm, taken

# Iterations for each new start, and after how many of them only the nearest go on.
ENOUGH_ANEW, ENOUGH_TO_TELL = 20, 6
# A new start that does not arrive either replaces the first try only if it comes nearer by this
# share of the reach, and one that arrives as well if it is nearer to the side of the pole by so
# many radians: else poses would jump about for nothing.
WORTH_A_JUMP = 0.02
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


def bettered(
    run: Run,
    state: Array,
    used: Counts,
    rows: Counts,
    standing: Array,
    aims: Aims | None,
    tries: Tries,
) -> tuple[Array, Counts]:
    """Start chains anew, and keep what is better.

    Args:
        run: All chains.
        state: What they have come to, shape (n + 1, 7, B).
        used: Iterations used, shape (B,).
        rows: Which chains to start anew.
        standing: The states of their start poses, shape (n + 1, 7, B).
        aims: Of all chains, or None.
        tries: How often.
    """
    few, start = run.take(rows, np.full(len(rows), ENOUGH)), taken(standing, rows)
    tried, spent = _tried(few, start, taken(state, rows), tries)
    present, spent_on_it = tried[..., -1], spent[..., -1]
    if not tries.goes_on:
        present, spent_on_it = taken(state, rows), np.zeros_like(rows)
    each = np.repeat(np.arange(len(rows)), tries.ended)
    several = _anew(few, each, ENOUGH_ANEW)
    tried, spent = tried[..., :-1].reshape(*start.shape[:2], -1), spent[:, :-1].ravel()
    if aims is not None:
        aims = aims.take(rows)
        tried, spent = several.aimed(tried, spent, aims.take(each))
    best, spent = _best(few, several, (tried, spent), start, (present, spent_on_it), aims)
    best, spent = few.closed(best, spent)
    state, used = state.copy(), used.copy()
    state[..., rows], used[rows] = best, used[rows] + spent
    return state, np.minimum(used, run.task.iterations)


def _tried(few: Run, start: Array, present: Array, tries: Tries) -> tuple[Array, Counts]:
    """Return what becomes of new starts (n + 1, 7, B, each), and the iterations (B, each).

    What stands goes on beside them, and is the last: iterations that have crept on it may find
    another way with little damping.
    """
    chains = start.shape[-1]
    poses = restarts.nearest_drawn(few.chain, start, few.task.target, tries.drawn, tries.begun)
    each = np.repeat(np.arange(chains), tries.begun)
    begun = few.chain.take(each).state(poses, taken(start[:-1, 4], each))
    states = np.concatenate((_by_chain(begun, chains), present[..., None]), axis=3)
    spent = np.zeros((chains, tries.begun + 1), dtype=np.int64)
    if tries.ended < tries.begun:
        states, spent = _gone_on(few, states, spent, ENOUGH_TO_TELL)
        gap = norm((few.task.target[..., None] - states[-1, :3, :, :-1]).swapaxes(0, 1))
        # Of those that have arrived the least change: how nearly they have is rounding.
        cosine = np.einsum("nibe,nib->nbe", states[:-1, :4, :, :-1], start[:-1, :4])
        change = (1.0 - cosine**2).sum(axis=0) - ARRIVED
        order = np.argsort(np.where(gap <= few.accepted[:, None], change, gap), kind="stable")
        nearest = np.sort(order[:, : tries.ended], axis=1)
        last = np.full((chains, 1), tries.begun)
        chosen = np.concatenate((nearest, last), axis=1)
        states = np.take_along_axis(states, chosen[None, None], axis=3)
        spent = np.take_along_axis(spent, chosen, axis=1)
    return _gone_on(few, states, spent, ENOUGH_ANEW)


def _gone_on(few: Run, states: Array, spent: Counts, iterations: int) -> tuple[Array, Counts]:
    """Return several states of each chain (n + 1, 7, B, each) after some iterations."""
    chains, count = spent.shape
    several = _anew(few, np.repeat(np.arange(chains), count), iterations)
    found, used = several.closed(states.reshape(*states.shape[:2], -1), spent.ravel())
    return _by_chain(found, chains), used.reshape(chains, count)


def _by_chain(states: Array, chains: int) -> Array:
    """Return states (n + 1, 7, B * each) as (n + 1, 7, B, each)."""
    return states.reshape(*states.shape[:2], chains, -1)


def _anew(few: Run, chosen: Counts, iterations: int) -> Run:
    """Return the run of chains, each several times, from other poses."""
    several = few.take(chosen, np.full(len(chosen), iterations))
    return replace(several, is_fresh=np.ones(len(chosen), dtype=np.bool_))


def _best(
    few: Run,
    several: Run,
    tries: tuple[Array, Counts],
    start: Array,
    standing: tuple[Array, Counts],
    aims: Aims | None,
) -> tuple[Array, Counts]:
    """Return the best of several tries of each chain and of what stands, and its iterations."""
    (tried, spent), (present, spent_on_it) = tries, standing
    chains = present.shape[-1]
    count = len(spent) // chains
    each = np.repeat(np.arange(chains), count)
    # Of the poses that arrive the one on the right side, then the one that is least of a change.
    cosine = np.einsum("nib,nib->nb", tried[:-1, :4], taken(start[:-1, :4], each))
    change = (1.0 - cosine**2).sum(axis=0) + norm(tried[-1, 3:])
    side = several.sides_past(tried, None if aims is None else aims.take(each))
    gap, has_arrived = norm(several.task.target - tried[-1, :3]), ~several.is_open(tried)
    score = np.where(
        has_arrived, ARRIVED * (np.maximum(side, ASIDE) - np.pi) + change, gap
    ).reshape(chains, count)
    best = np.argmin(score, axis=1) + count * np.arange(chains)
    standing_gap, has_stood = norm(few.task.target - present[-1, :3]), ~few.is_open(present)
    is_nearer = gap[best] + WORTH_A_JUMP * few.chain.reach < standing_gap
    is_better_side = side[best] + WORTH_A_JUMP < few.sides_past(present, aims)
    is_better = np.where(
        has_stood, has_arrived[best] & is_better_side, has_arrived[best] | is_nearer
    )
    cosine = np.einsum("nib,nib->nb", tried[:-1, :4], taken(present[:-1, :4], each))
    is_by = (1.0 - cosine**2).max(axis=0) <= NO_JUMP
    nearest = np.argmin(np.where(is_by, gap, np.inf).reshape(chains, count), axis=1)
    nearest += count * np.arange(chains)
    is_by = is_by[nearest] & (gap[nearest] < standing_gap - NEAR * few.chain.reach)
    creeps = ~is_better & ~has_stood & is_by
    best = np.where(creeps, nearest, best)
    is_better |= creeps
    found = np.where(is_better, taken(tried, best), present)
    return found, np.where(is_better, spent[best], spent_on_it)
