"""Chains that have arrived settle where they make least effort."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from . import settle
from .aims import Aims
from .effort import Effort
from .jointed import AIM_WEIGHTS, STATE_COLUMNS, Jointed
from .settle import RESTS
from .solvers.newton_directions import FIRST_DAMPING
from .solving.iteration import Method, Work, swept
from .strained import Strained
from .vectors import Array, Counts, Flags, not_alone, taken

# Iterations to settle. Most take about ten; long loose chains with much comfort up to 200.
ENOUGH_TO_SETTLE = 250
# Numbers of equations that are solved at once: the systems of many long chains fill a memory.
MOST_EQUATIONS = 4_000_000
SETTLE = Method(settle.step, is_damped=True)


def settled(
    chain: Jointed,
    effort: Effort,
    state: Array,
    target: Array,
    aims: Aims | None,
    used: Counts,
    caps: Counts,
) -> tuple[Array, Counts]:
    """Return poses of least effort nearby, and the iterations used.

    Args:
        chain: The chains.
        effort: What acts on them.
        state: Where they stand, shape (n + 1, 7, B).
        target: Where their effectors stay, shape (3, B).
        aims: What else is kept as far as it has been met; None for nothing.
        used: Shape (B,).
        caps: Shape (B,).
    """
    weighted = None if aims is None else replace(aims, weight=AIM_WEIGHTS[-1] * chain.reach)
    # How readily a joint turns tells nothing of where it rests.
    free = replace(chain, mobility=np.ones_like(chain.mobility), aims=weighted)
    state, used = free.state(state[:-1, :4], state[:-1, 4]), used.copy()
    kept = np.zeros((STATE_COLUMNS + 1, state.shape[-1]))
    kept[:STATE_COLUMNS] = state[-1]
    kept[:3] = target
    can_move = effort.acts & (caps > used) & (free.free_axes.size > 0)
    for rows in _portions(can_move, 3 * len(chain.kinds) + STATE_COLUMNS):
        strained = Strained(free.take(rows), effort.take(rows))
        work = Work(strained, taken(kept, rows), RESTS * chain.reach[rows], caps[rows])
        begun = settle.begun(taken(state, rows))
        rested, used[rows] = swept(
            SETTLE, work, begun, used[rows], np.full(len(rows), FIRST_DAMPING)
        )
        state[..., rows] = rested[:, :STATE_COLUMNS]
    return chain.state(state[:-1, :4], state[:-1, 4]), used


def _portions(is_moved: Flags, equations: int) -> list[Counts]:
    rows = not_alone(np.flatnonzero(is_moved), len(is_moved))
    if not rows.size:
        return []
    most = max(1, MOST_EQUATIONS // (equations * equations))
    return [rows[first : first + most] for first in range(0, len(rows), most)]
