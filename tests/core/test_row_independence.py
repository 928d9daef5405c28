"""What becomes of a jointed chain hangs on itself, not on which others are solved with it."""

from __future__ import annotations

import numpy as np
import pytest

from blender_ik_addon.core import (
    Goal,
    Goals,
    SolveOptions,
    Solver,
    solve,
    solve_batch,
)
from tests.core.limited_rigs import RIGS, K, Rig, make_rig, poles_beside, poles_of, targets_of
from tests.helpers import make_rng

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
# What rounding makes of some ten iterations, as the sine of half an angle squared.
ALIKE_ALONE = 1e-8


@pytest.mark.slow
@pytest.mark.parametrize(("name", "solver", "seed", "has_pole"), FORKS)
def test_some_of_the_chains_are_posed_as_all_of_them_together(name, solver, seed, has_pole):
    rig, rng, count = RIGS[name](), make_rng(seed), 30
    targets = targets_of(rig, count, rng, 1.0) * rng.uniform(0.7, 1.4, (count, 1))
    poles, chains = poles_of(rig, count, rng) if has_pole else None, rig.chains(count)
    options = SolveOptions(solver=solver, tolerance=1e-5 * rig.length)
    whole = solve_batch(chains, Goals(targets, poles), options).joint_positions
    for size in (1, 5):
        for first in range(0, count, 3 * size):
            rows = np.arange(first, min(first + size, count))
            goals = Goals(targets[rows], None if poles is None else poles[rows])
            some = solve_batch(chains.take(rows), goals, options).joint_positions
            off = np.abs(some - whole[rows]).max() / rig.length
            assert off <= ALIKE, f"chains {rows} of {count} are {off:.2g} elsewhere"


def apart_alone(rig: Rig, goals: Goals, options: SolveOptions) -> float:
    """Return how far chains solved alone are turned from what they are side by side."""
    together = solve_batch(rig.chains(len(goals.target_position)), goals, options)
    poles, alone = goals.pole_position, []
    for row, target in enumerate(goals.target_position):
        goal = Goal(target, None if poles is None else poles[row])
        alone.append(solve(rig.chain(), goal, options).local_rotations_wxyz)
    cosine = np.einsum("bnk,bnk->bn", np.array(alone), together.local_rotations_wxyz)
    return float(np.abs(np.abs(cosine) - 1.0).max())


@pytest.mark.parametrize("has_pole", [False, True], ids=["free", "pole"])
@pytest.mark.parametrize("name", ["arm", "ten_hinges", "mixed_lengths"])
def test_a_chain_alone_turns_as_side_by_side(name, has_pole):
    rig, rng = RIGS[name](), make_rng(81)
    targets = targets_of(rig, 12, rng)
    goals = Goals(targets, poles_beside(targets, rig.length, rng) if has_pole else None)
    assert apart_alone(rig, goals, SolveOptions(tolerance=1e-5 * rig.length)) <= ALIKE_ALONE


def test_a_start_in_the_corner_of_a_range_without_rest_turns_alike_alone():
    ranges = ((-10, 20), (5, 80))
    bones = [(K.BALL, ()), (K.SWING, ranges), (K.BALL, ((10, 60), (-90, 90), (-30, 30)))]
    rig = make_rig(bones)
    assert apart_alone(rig, Goals(targets_of(rig, 12, make_rng(83))), SolveOptions()) <= ALIKE_ALONE


@pytest.mark.parametrize("solver", [Solver.NEWTON, Solver.FABRIK, Solver.CCD])
@pytest.mark.parametrize(("name", "has_pole"), [("arm", True), ("spider_leg", False)])
def test_few_chains_of_which_some_are_stopped_by_limits_are_posed_as_each_alone(
    name, solver, has_pole
):
    rig, rng = RIGS[name](), make_rng(85)
    targets = targets_of(rig, 5, rng)
    # Too far, and too near for the limits.
    targets[1] *= 3.0
    targets[3] *= 0.02
    goals, chains = Goals(targets, poles_of(rig, 5, rng) if has_pole else None), rig.chains(5)
    options = SolveOptions(solver=solver)
    together = solve_batch(chains, goals, options)
    assert len(set(together.statuses)) > 1
    for row, beside in enumerate(together):
        rows = np.array([row])
        (alone,) = solve_batch(chains.take(rows), goals.take(rows), options)
        np.testing.assert_array_equal(beside.joint_positions, alone.joint_positions)
        np.testing.assert_array_equal(beside.local_rotations_wxyz, alone.local_rotations_wxyz)
        np.testing.assert_array_equal(beside.holds, alone.holds)
        assert (beside.iterations, beside.status) == (alone.iterations, alone.status)
