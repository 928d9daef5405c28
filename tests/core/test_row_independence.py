"""What becomes of a jointed chain hangs on itself, not on which others are solved with it."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import FEW_JOINTED, Goals, SolveOptions, Solver, solve_batch
from tests.core.limited_rigs import RIGS, poles_of, targets_of
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

# Rig, solver, seed, pole: there are targets and poles among these where two poses are as good as
# each other, so that the last digit chooses.
FORKS = (
    ("one_limit_swing", Solver.NEWTON, 2, True),
    ("tail", Solver.NEWTON, 1, False),
    ("tail", Solver.FABRIK, 7, True),
    ("arm", Solver.FABRIK, 7, True),
    ("arm", Solver.CCD, 7, True),
)
# A share of the length.
ALIKE = 1e-9


@pytest.mark.parametrize("count", [8, FEW_JOINTED + 6])
@pytest.mark.parametrize(("name", "solver", "seed", "has_pole"), FORKS)
def test_some_of_the_chains_are_posed_as_all_of_them_together(name, solver, seed, has_pole, count):
    rig, rng = RIGS[name](), make_rng(seed)
    targets = targets_of(rig, count, rng, 1.0) * rng.uniform(0.7, 1.4, (count, 1))
    poles, chains = poles_of(rig, count, rng) if has_pole else None, rig.chains(count)
    options = SolveOptions(solver=solver, tolerance=1e-5 * rig.length)
    whole = solve_batch(chains, Goals(targets, poles), options).joint_positions
    for size in (1, 5):
        for first in range(0, count, size):
            rows = np.arange(first, min(first + size, count))
            goals = Goals(targets[rows], None if poles is None else poles[rows])
            some = solve_batch(chains.take(rows), goals, options).joint_positions
            off = np.abs(some - whole[rows]).max() / rig.length
            assert off <= ALIKE, f"chains {rows} of {count} are {off:.2g} elsewhere"
