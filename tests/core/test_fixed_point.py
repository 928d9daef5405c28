"""Solved again from where it stands, nothing moves."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, bone_rotations
from tests.core.chains import (
    POSES,
    counts_and_solvers,
    pole_beside,
    random_direction,
    random_frame,
    side_of,
    solved,
    start_chain,
    target_at,
    unit,
)
from tests.helpers import assert_positions_close, assert_rotations_close, make_rng

COUNTS_AND_SOLVERS = counts_and_solvers(2, 3, 6)
# From the dead zone's edge (0) to full reach (1), and beyond both; at the edges themselves rounding
# decides between the closed form of the closest pose and a pose bent within the tolerance.
SHARES_OF_REACH = (-0.2, 0.02, 0.15, 0.6, 0.95, 1.4)
TOLERANCE = 1e-9
# The effector lies within the tolerance of the target, and the chain turns by as much to aim at
# it: for a target at 1/50 of the length by 50 times the tolerance, as an angle.
STILL = 100.0 * TOLERANCE
# Where the pose is nearly straight, the side of its bend is a small part of the joints' numbers.
NOT_TURNED = 1e-4


def again(chain, solution):
    """Return the chain with the solution as its start pose."""
    return Chain(solution.joint_positions, chain.bend_direction)


def goals(chain, rng, use_pole):
    for share in SHARES_OF_REACH:
        distance = chain.min_reach + share * (chain.max_reach - chain.min_reach)
        if distance > 0.0:
            target = target_at(chain, distance, random_direction(rng))
            yield Goal(target, pole_beside(chain, target, rng) if use_pole else None)


@pytest.mark.parametrize("use_pole", [False, True])
@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_a_solved_chain_stays_where_it_is(count, solver, pose, use_pole):
    rng = make_rng(count)
    chain = start_chain(pose, count, rng, ratio=4.0 if pose in ("random", "arc") else 1.0)
    for goal in goals(chain, rng, use_pole):
        first = solved(chain, goal, solver, TOLERANCE)
        second = solved(again(chain, first), goal, solver, TOLERANCE)
        still = STILL * chain.max_reach
        assert_positions_close(second.joint_positions, first.joint_positions, still)
        assert second.status == first.status
        assert second.iterations == 0


@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_a_closed_chain_stays_closed_as_it_is(count, solver, pose):
    chain = start_chain(pose, count, make_rng(count))
    target = chain.joint_positions[0]
    first = solved(chain, target, solver, TOLERANCE)
    second = solved(again(chain, first), target, solver, TOLERANCE)
    still = STILL * chain.max_reach
    assert_positions_close(second.joint_positions, first.joint_positions, still)


@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_a_solved_chain_is_not_turned(count, solver):
    rng = make_rng(count)
    chain = start_chain("arc", count, rng)
    for goal in goals(chain, rng, use_pole=True):
        first = solved(chain, goal, solver, TOLERANCE)
        if not first.is_converged:
            # Joints on one line do not tell which way the chain was turned about it.
            continue
        standing = again(chain, first)
        rotations = bone_rotations(standing, solved(standing, goal, solver, TOLERANCE))
        nothing = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
        assert_rotations_close(rotations, nothing, NOT_TURNED)


@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_twenty_solves_do_not_drift(count, solver):
    rng = make_rng(count)
    chain = start_chain("arc", count, rng)
    target = target_at(chain, 0.7 * chain.max_reach, random_direction(rng))
    goal = Goal(target, pole_beside(chain, target, rng))
    first = solved(chain, goal, solver, TOLERANCE)
    standing = again(chain, first)
    for _ in range(20):
        standing = again(chain, solved(standing, goal, solver, TOLERANCE))
    assert_positions_close(standing.joint_positions, first.joint_positions, STILL * chain.max_reach)
    assert standing.segment_lengths == pytest.approx(chain.segment_lengths, rel=1e-12)


@pytest.mark.parametrize("off", [0.0, 5.0, 90.0])
@pytest.mark.parametrize(("use_flip", "angle"), [(True, 0.0), (False, 1.0), (True, -2.0)])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_a_chain_that_keeps_its_start_stays_on_its_side_of_a_pole(
    count, solver, use_flip, angle, off
):
    chain = start_chain("random", count, make_rng(count))
    along, aside, _ = random_frame(make_rng(count + 1)).T
    target = target_at(chain, 0.7 * chain.max_reach, along)
    beside = np.cos(np.radians(off)) * along + np.sin(np.radians(off)) * aside
    goal = Goal(target, target_at(chain, 2.0 * chain.max_reach, beside), angle)
    kept = {"use_flip_bend": use_flip, "keeps_start": True}
    first = solved(chain, goal, solver, TOLERANCE, **kept)
    second = solved(again(chain, first), goal, solver, TOLERANCE, **kept)
    assert_positions_close(second.joint_positions, first.joint_positions, STILL * chain.max_reach)
    if off == 90.0:
        # A pole well beside the line alone tells the side, as it does from any other start.
        keyed = solved(chain, goal, solver, TOLERANCE, use_flip_bend=use_flip)
        sides = [unit(side_of(each.joint_positions, target)) for each in (first, keyed)]
        assert_positions_close(*sides, NOT_TURNED)
