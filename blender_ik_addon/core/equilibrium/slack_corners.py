"""Poses bent to the corners of slack, to settle from: of several ends the one of least energy.

Slack is a box: bends about two axes at once cost as little as those about one, so there are up to
four poses in which no small turn saves energy, and some cost twice as much as others. Which of them
a chain settles in from its start pose would change at every few steps of its target.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Counts
from ..algebra.nested import repeat_single, take_rows
from ..kinematics.aims import Aims
from ..kinematics.posed import State
from ..solving.joint_run import Run
from .potential_energy import PotentialEnergy, measure_energy
from .settling import settle_chains

# Another end has to save this share of the energy: else last digits would choose between poses that
# are as good as mirrored.
WORTH_A_CHANGE = 1e-3
# A slack narrower than this, in radians, has no corners.
NO_WIDTH = 1e-3
# Iterations after which the corner of least energy is chosen.
ENOUGH_TO_TELL = 8


def settle_best(
    run: Run, state: State, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[State, Counts]:
    """Return the states of least energy in which chains settle, and the iterations used.

    Arguments as for ``settle_chains``; aims choose among poses by themselves.

    Source: derived for this project, tested in tests/core/equilibrium/test_slack_corners.py.
    """
    count, widths = len(used), energy.slack_high - energy.slack_low
    may_choose = (widths > NO_WIDTH).any(axis=(0, 1)) & energy.only_settles & ~run.is_open(state)
    rows = repeat_single(np.flatnonzero(may_choose), count)
    if energy.has_own_rest or aims is not None or not rows.size:
        return settle_chains(run, state, used, energy, aims)
    chosen, ends, spent = _settle_corners(run, state, energy, rows)
    index = np.concatenate((np.arange(count), chosen))
    ends = state.take(index).put(np.arange(count, len(index)), ends)
    spent = np.concatenate((used, spent))
    every, acting = run.take(index), energy.take(index)
    ends, spent = settle_chains(every, ends, spent, acting, None)
    best = _choose_ends(every, acting, ends, index, count)
    return take_rows(ends, best), spent[best]


def _settle_corners(
    run: Run, state: State, energy: PotentialEnergy, rows: Counts
) -> tuple[Counts, State, Counts]:
    """Return which chains have a corner that they reach, the best poses of these, and iterations.

    Some steps tell which corner costs least; they do not settle there.
    """
    widths = energy.slack_high - energy.slack_low
    # A twist leads nowhere.
    is_wide = (widths > NO_WIDTH).any(axis=(0, 2)) & [True, False, True]
    corners = np.array(list(product(*((0.0, 1.0) if wide else (0.5,) for wide in is_wide))))
    chosen, corners = np.repeat(rows, len(corners)), np.tile(corners, (len(rows), 1))
    several, acting = run.take(chosen), energy.take(chosen)
    bend = acting.slack_low + (acting.slack_high - acting.slack_low) * corners.T
    turn = several.tree.joints.clamped(turns.multiply(acting.rest, turns.from_vectors(bend)))
    begun = several.tree.make_state(turn, take_rows(state.slide, chosen))
    ends, spent = several.close(begun, np.zeros_like(chosen))
    few = replace(several, iterations=np.minimum(several.iterations, spent + ENOUGH_TO_TELL))
    ends, spent = settle_chains(few, ends, spent, acting, None)
    total = np.where(several.is_open(ends), np.inf, measure_energy(acting, several.tree, ends))
    each = total.reshape(len(rows), -1)
    best = each.argmin(axis=1) + each.shape[1] * np.arange(len(rows))
    best = best[np.isfinite(total[best])]
    return chosen[best], take_rows(ends, best), spent[best]


def _choose_ends(
    run: Run, energy: PotentialEnergy, ends: State, chains: Counts, count: int
) -> Counts:
    """Return which ends (R,) the first chains settle in, of those of the chains (R,)."""
    total = measure_energy(energy, run.tree, ends)
    is_open, best = run.is_open(ends), np.arange(count)
    for end in range(count, len(chains)):
        held = best[chains[end]]
        if total[held] - total[end] > WORTH_A_CHANGE * abs(total[held]) and not is_open[end]:
            best[chains[end]] = end
    return best
