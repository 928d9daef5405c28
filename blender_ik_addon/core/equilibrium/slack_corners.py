"""Start poses at the corners of slack: chains settle from them, and the least energy is chosen.

Slack is a box: bends about two axes at once cost as little as bends about one. So there are up to
four local minima of the energy, and some cost twice as much as others. From its start pose alone a
chain would change from one to another every few steps of its target.
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

# Share of the energy that another minimum must save: otherwise rounding would choose between poses
# that mirror each other.
MIN_SAVING = 1e-3
# Width in radians below which a slack has no corners.
MIN_WIDTH = 1e-3
# Iterations after which the corner of least energy is chosen.
CORNER_ITERATIONS = 8


def settle_best(
    run: Run, state: State, used: Counts, energy: PotentialEnergy, aims: Aims | None
) -> tuple[State, Counts]:
    """Return the states of least energy in which chains settle, and the iterations used.

    Arguments as for ``settle_chains``. With aims chains settle from their states: aims choose.

    Source: derived for this project, tested in tests/core/equilibrium/test_slack_corners.py.
    """
    count, widths = len(used), energy.slack_high - energy.slack_low
    may_choose = (widths > MIN_WIDTH).any(axis=(0, 1)) & energy.only_settles & ~run.is_open(state)
    rows = repeat_single(np.flatnonzero(may_choose), count)
    if energy.has_custom_rest or aims is not None or not rows.size:
        return settle_chains(run, state, used, energy, aims)
    chosen, ends, iterations = _settle_corners(run, state, energy, rows)
    chains = np.concatenate((np.arange(count), chosen))
    ends = state.take(chains).put(np.arange(count, len(chains)), ends)
    iterations = np.concatenate((used, iterations))
    all_runs, all_energies = run.take(chains), energy.take(chains)
    ends, iterations = settle_chains(all_runs, ends, iterations, all_energies, None)
    best = _choose_ends(all_runs, all_energies, ends, chains, count)
    return take_rows(ends, best), iterations[best]


def _settle_corners(
    run: Run, state: State, energy: PotentialEnergy, rows: Counts
) -> tuple[Counts, State, Counts]:
    """Return the chains that reach a corner, their best poses there, and the iterations.

    A few iterations show which corner costs least; they do not settle there.
    """
    widths = energy.slack_high - energy.slack_low
    # Corners of the twist lead to no other minimum.
    is_wide = (widths > MIN_WIDTH).any(axis=(0, 2)) & [True, False, True]
    corners = np.array(list(product(*((0.0, 1.0) if wide else (0.5,) for wide in is_wide))))
    chains, corners = np.repeat(rows, len(corners)), np.tile(corners, (len(rows), 1))
    runs, energies = run.take(chains), energy.take(chains)
    bend = energies.slack_low + (energies.slack_high - energies.slack_low) * corners.T
    turn = runs.tree.joints.clamped(turns.multiply(energies.rest, turns.from_vectors(bend)))
    start = runs.tree.make_state(turn, take_rows(state.slide, chains))
    ends, iterations = runs.close(start, np.zeros_like(chains))
    short = replace(runs, iterations=np.minimum(runs.iterations, iterations + CORNER_ITERATIONS))
    ends, iterations = settle_chains(short, ends, iterations, energies, None)
    total = np.where(runs.is_open(ends), np.inf, measure_energy(energies, runs.tree, ends))
    by_chain = total.reshape(len(rows), -1)
    best = by_chain.argmin(axis=1) + by_chain.shape[1] * np.arange(len(rows))
    best = best[np.isfinite(total[best])]
    return chains[best], take_rows(ends, best), iterations[best]


def _choose_ends(
    run: Run, energy: PotentialEnergy, ends: State, chains: Counts, count: int
) -> Counts:
    """Return the best end of each of the first ``count`` chains, among the ends of chains (R,)."""
    total = measure_energy(energy, run.tree, ends)
    is_open, best = run.is_open(ends), np.arange(count)
    for end in range(count, len(chains)):
        present = best[chains[end]]
        if total[present] - total[end] > MIN_SAVING * abs(total[present]) and not is_open[end]:
            best[chains[end]] = end
    return best
