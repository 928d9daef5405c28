"""Flip gives the solution mirrored across its chord."""

import numpy as np
import pytest

from blender_ik_addon.core import Goal, Status
from tests.core.chains import (
    counts_and_solvers,
    pole_beside,
    random_direction,
    side_of,
    solved,
    start_chain,
    target_at,
    unit,
)
from tests.helpers import assert_positions_close, make_rng

COUNTS_AND_SOLVERS = counts_and_solvers(2, 3, 6)
TOLERANCE = 1e-9


def problem(count, seed, pose, share):
    rng = make_rng(100 * count + seed)
    chain = start_chain(pose, count, rng)
    target = target_at(chain, share * chain.max_reach, random_direction(rng))
    return chain, target, pole_beside(chain, target, rng)


@pytest.mark.parametrize("use_pole", [True, False])
@pytest.mark.parametrize("pose", ["arc", "straight"])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_a_flipped_pose_bends_to_the_other_side(count, solver, pose, use_pole):
    for seed in range(3):
        chain, target, pole = problem(count, seed, pose, 0.75)
        goal = Goal(target, pole if use_pole else None)
        plain = solved(chain, goal, solver, TOLERANCE)
        flipped = solved(chain, goal, solver, TOLERANCE, use_flip_bend=True)
        assert flipped.status is Status.REACHED
        sides = [unit(side_of(s.joint_positions, target)) for s in (plain, flipped)]
        assert_positions_close(sides[1], -sides[0], 1e-6)


@pytest.mark.parametrize("use_pole", [True, False])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_a_flipped_pose_is_the_mirror_image(count, solver, use_pole):
    for seed in range(3):
        chain, target, pole = problem(count, seed, "arc", 0.75)
        goal = Goal(target, pole if use_pole else None)
        plain = solved(chain, goal, solver, TOLERANCE).joint_positions
        flipped = solved(chain, goal, solver, TOLERANCE, use_flip_bend=True).joint_positions
        side = unit(side_of(plain, target))
        root = chain.joint_positions[0]
        mirrored = plain - 2.0 * ((plain - root) @ side)[:, None] * side
        assert_positions_close(flipped, mirrored, 1e2 * TOLERANCE * chain.max_reach)


@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_an_extended_chain_has_nothing_to_flip(count, solver):
    chain, target, pole = problem(count, 0, "arc", 1.3)
    plain = solved(chain, Goal(target, pole), solver).joint_positions
    flipped = solved(chain, Goal(target, pole), solver, use_flip_bend=True).joint_positions
    assert np.array_equal(plain, flipped)
