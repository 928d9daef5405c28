"""Jointed chains that start anew from a few other poses, and the best that comes of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import restarts
from .jointed import ASIDE, ENOUGH, Aims
from .limited_run import Run
from .vectors import Array, Counts, norm, taken

# Iterations for each new start.
ENOUGH_ANEW = 20
# A new start that does not arrive either replaces the first try only if it comes nearer by this
# share of the reach, and one that arrives as well if it is nearer to the side of the pole by so
# many radians: else poses would jump about for nothing.
WORTH_A_JUMP = 0.02
# What arrives comes before all that does not.
ARRIVED = 1e6


def bettered(
    run: Run,
    state: Array,
    used: Counts,
    rows: Counts,
    standing: Array,
    aims: Aims | None,
    count: int,
) -> tuple[Array, Counts]:
    """Start chains anew, and keep what is better.

    Args:
        run: All chains.
        state: What they have come to, shape (n + 1, 7, B).
        used: Iterations used, shape (B,).
        rows: Which chains to start anew.
        standing: The states of their start poses, shape (n + 1, 7, B).
        aims: Of all chains, or None.
        count: How often.
    """
    few, start = run.take(rows, np.full(len(rows), ENOUGH)), taken(standing, rows)
    chosen = np.repeat(np.arange(len(rows)), count)
    several = few.take(chosen, np.full(len(chosen), ENOUGH_ANEW))
    several = replace(several, is_fresh=np.ones(len(chosen), dtype=np.bool_))
    poses = restarts.restarted(few.chain, start[:-1, :4], count)
    tried, spent = several.closed(
        several.chain.state(poses, taken(start[:-1, 4], chosen)), np.zeros_like(chosen)
    )
    if aims is not None:
        aims = aims.take(rows)
        tried, spent = several.aimed(tried, spent, aims.take(chosen))
    best, spent = _best(few, several, tried, spent, start, taken(state, rows), aims)
    best, spent = few.closed(best, spent)
    state, used = state.copy(), used.copy()
    state[..., rows], used[rows] = best, used[rows] + spent
    return state, np.minimum(used, run.task.iterations)


def _best(
    few: Run,
    several: Run,
    tried: Array,
    spent: Counts,
    start: Array,
    present: Array,
    aims: Aims | None,
) -> tuple[Array, Counts]:
    """Return the best of several tries of each chain and of what stands, and its iterations."""
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
    found = taken(tried, best)
    standing_gap, has_stood = norm(few.task.target - present[-1, :3]), ~few.is_open(present)
    is_nearer = gap[best] + WORTH_A_JUMP * few.chain.reach < standing_gap
    is_better_side = side[best] + WORTH_A_JUMP < few.sides_past(present, aims)
    is_better = np.where(
        has_stood, has_arrived[best] & is_better_side, has_arrived[best] | is_nearer
    )
    return np.where(is_better, found, present), np.where(is_better, spent[best], 0)
