"""Poses bent to the corners of comfort, to settle from: of several ends the one of least effort.

Comfort is a box: bends about two axes at once cost as little as those about one, so there are up to
four poses in which no small turn saves effort, and some cost twice as much as others. Which of them
a chain settles in from its start pose would change at every few steps of its target.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from . import forced, turns
from .effort import Effort
from .kinematics.aims import Aims
from .kinematics.kinematic_tree import KinematicTree
from .solving.joint_run import Run
from .vectors import Array, Counts, not_alone, taken

# Another end has to save this share of the effort: else last digits would choose between poses that
# are as good as mirrored.
WORTH_A_CHANGE = 1e-3
# Iterations from a corner after which it shows which end it leads to; few take so many.
ENOUGH_TO_CHOOSE = 40
# A comfort narrower than this, in radians, has no corners.
NO_WIDTH = 1e-3


def settled(
    run: Run, state: Array, used: Counts, effort: Effort, aims: Aims | None
) -> tuple[Array, Counts]:
    """Return the states of least effort in which chains settle, and the iterations used.

    Args:
        run: The chains and their targets.
        state: What they have come to, shape (n + 1, 7, B).
        used: Iterations used, shape (B,).
        effort: What acts on them.
        aims: What else has been met, and chooses among poses by itself; None for nothing.

    Source: derived for this project, tested in tests/core/test_comfort.py.
    """
    widths = effort.high - effort.low
    corners = _corners(widths)
    may_choose = (widths > NO_WIDTH).any(axis=(0, 1)) & forced.only_settle(effort)
    rows = not_alone(np.flatnonzero(may_choose & ~run.is_open(state)), len(used))
    if effort.goes_on or aims is not None or not rows.size:
        return forced.settled(run, state, used, effort, aims)
    chosen = np.repeat(rows, len(corners))
    several = run.take(chosen)
    bent = _bent(several.tree, effort.take(chosen), np.tile(corners, (len(rows), 1)))
    begun, spent = several.close(
        several.tree.make_state(bent, taken(state[:-1, 4], chosen)), np.zeros_like(chosen)
    )
    index = np.concatenate((np.arange(len(used)), chosen))
    begun, spent = np.concatenate((state, begun), axis=-1), np.concatenate((used, spent))
    caps = run.iterations[index]
    caps[len(used) :] = np.minimum(caps, spent + ENOUGH_TO_CHOOSE)[len(used) :]
    every, acting = run.take(index, caps), effort.take(index)
    ends, spent = forced.settled(every, begun, spent, acting, None)
    best = _least(every, acting, ends, index, len(used))
    state, used = taken(ends, best), spent[best]
    others = not_alone(np.flatnonzero(best >= len(best)), len(best))
    if others.size:
        # What had no more iterations to come to rest goes on.
        rest = run.take(others), taken(state, others), used[others], effort.take(others), None
        state[..., others], used[others] = forced.settled(*rest)
    return state, used


def _corners(widths: Array) -> Array:
    """Return shares (corners, 3) of the way from low to high ends of comforts (n, 3, B)."""
    is_wide = (widths > NO_WIDTH).any(axis=(0, 2))
    # A twist leads nowhere.
    ends = [(0.0, 1.0) if is_wide[axis] and axis != 1 else (0.5,) for axis in range(3)]
    return np.array(list(product(*ends)))


def _bent(chain: KinematicTree, effort: Effort, corners: Array) -> Array:
    """Return turns (n, 4, B) with all joints at corners (B, 3) of their comfort."""
    bend = effort.low + (effort.high - effort.low) * corners.T
    return chain.joints.clamped(turns.multiply(effort.optimum, turns.by_vectors(bend)))


def _least(run: Run, effort: Effort, ends: Array, chains: Counts, count: int) -> Counts:
    """Return which ends (R,) the first chains settle in, of those of the chains (R,)."""
    total = effort.total(run.tree.posed(ends), ends[:-1, :4])
    is_open, best = run.is_open(ends), np.arange(count)
    for end in range(count, len(chains)):
        held = best[chains[end]]
        saved = total[held] - total[end]
        if not is_open[end] and saved > WORTH_A_CHANGE * abs(total[held]):
            best[chains[end]] = end
    return best
