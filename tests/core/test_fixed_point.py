"""Solved again from where it stands, nothing moves."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, bone_rotations
from tests.core.chains import (
    EVERY_SOLVER,
    POSES,
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

# From the dead zone's edge (0) to full reach (1), and beyond both; at the edges themselves rounding
# decides between the closed form of the closest pose and a pose bent within the tolerance.
SHARES_OF_REACH = (-0.2, 0.02, 0.15, 0.6, 0.95, 1.4)
TOLERANCE = 1e-9
# The effector lies within the tolerance of the target, and the chain turns by as much to aim at
# it: for a target at 1/50 of the length by 50 times the tolerance, as an angle.
STILL = 100.0 * TOLERANCE
# Where the pose is nearly straight, the side of its bend is a small part of the joints' numbers.
NOT_TURNED = 1e-4
every_solver = pytest.mark.parametrize(("count", "solver"), EVERY_SOLVER)


def again(chain, solution):
    """Return the chain with the solution as its start pose."""
    return Chain(solution.joint_positions, chain.bend_direction)


def goals(chain, rng):
    """Yield goals near and far, with a pole and without one."""
    for share in SHARES_OF_REACH:
        distance = chain.min_reach + share * (chain.max_reach - chain.min_reach)
        if distance > 0.0:
            target = target_at(chain, distance, random_direction(rng))
            yield Goal(target)
            yield Goal(target, pole_beside(chain, target, rng))


@pytest.mark.parametrize("pose", POSES)
@every_solver
def test_a_solved_chain_stays_where_it_is(count, solver, pose):
    rng = make_rng(count)
    chain = start_chain(pose, count, rng, ratio=4.0 if pose in ("random", "arc") else 1.0)
    still = STILL * chain.max_reach
    for goal in goals(chain, rng):
        first = solved(chain, goal, solver, TOLERANCE)
        standing = again(chain, first)
        second = solved(standing, goal, solver, TOLERANCE)
        assert_positions_close(second.joint_positions, first.joint_positions, still)
        assert second.status == first.status
        assert second.iterations == 0
        if pose == "arc" and first.is_converged:
            # Joints on one line would not tell which way the chain was turned about it.
            nothing = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
            assert_rotations_close(bone_rotations(standing, second), nothing, NOT_TURNED)
    for _ in range(10):
        standing = again(chain, solved(standing, goal, solver, TOLERANCE))
    assert_positions_close(standing.joint_positions, first.joint_positions, still)


@pytest.mark.parametrize(("use_flip", "angle"), [(True, 0.0), (False, 1.0), (True, -2.0)])
@every_solver
def test_a_chain_that_keeps_its_start_stays_on_its_side_of_a_pole(count, solver, use_flip, angle):
    chain = start_chain("random", count, make_rng(count))
    along, aside, _ = random_frame(make_rng(count + 1)).T
    target, kept = target_at(chain, 0.7 * chain.max_reach, along), {"use_flip_bend": use_flip}
    for off in np.radians([0.0, 5.0, 90.0]):
        pole = target_at(chain, 2.0 * chain.max_reach, np.cos(off) * along + np.sin(off) * aside)
        goal = Goal(target, pole, angle)
        first = solved(chain, goal, solver, TOLERANCE, keeps_start=True, **kept)
        second = solved(again(chain, first), goal, solver, TOLERANCE, keeps_start=True, **kept)
        still = STILL * chain.max_reach
        assert_positions_close(second.joint_positions, first.joint_positions, still)
    # A pole well beside the line alone tells the side, as it does from any other start.
    keyed = solved(chain, goal, solver, TOLERANCE, **kept)
    sides = [unit(side_of(each.joint_positions, target)) for each in (first, keyed)]
    assert_positions_close(*sides, NOT_TURNED)
