"""Soft distance: no joint pops straight as the target leaves reach, in every path of the core."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, SolveOptions, Solver, Status, solve
from tests.core import chains
from tests.core.limited_rigs import K, X, Z, make_rig
from tests.helpers import angles_of_ways, assert_positions_close, make_rng

cases = pytest.mark.parametrize(("count", "solver"), chains.EVERY_SOLVER)
every_solver = pytest.mark.parametrize("solver", chains.SOLVERS)


def eased(distance, reach, soft):
    """Return the distance that is solved for, as the formula in docs/behaviour.md says."""
    first = reach - soft
    past = np.maximum(distance - first, 0.0)
    return np.where(past > 0.0, first + soft * (1.0 - np.exp(-past / soft)), distance)


def options_for(chain, solver, soft, **others):
    """Return options with a soft distance told as a share of the reach."""
    reach = chain.max_reach
    return SolveOptions(solver=solver, tolerance=1e-9 * reach, soft_distance=soft * reach, **others)


@pytest.mark.parametrize(("ratio", "soft"), [(1.0, 0.02), (3.0, 0.1)])
def test_the_elbow_of_a_soft_limb_never_turns_faster_than_the_bound(ratio, soft):
    rng = make_rng(7)
    chain = chains.start_chain("arc", 2, rng, ratio)
    first, second = chain.segment_lengths
    zone = soft * chain.max_reach
    distances, direction = (
        np.linspace(1.0 - soft, 1.5, 1500) * chain.max_reach,
        chains.random_direction(rng),
    )
    targets = [chains.target_at(chain, each, direction) for each in distances]
    options = options_for(chain, Solver.TWO_BONE, soft)
    joints = np.array([solve(chain, Goal(each), options).joint_positions for each in targets])
    bends = angles_of_ways(*np.moveaxis(np.diff(joints, axis=1), 1, 0))
    speeds = np.abs(np.diff(bends) / np.diff(distances))
    bound = np.sqrt(chain.max_reach / (2.0 * first * second * zone))
    assert speeds.max() <= bound * (1.0 + soft)
    # The closed form counts the zone as short. It is no idle bound: the elbow comes near to it.
    assert speeds.max() >= 0.9 * bound


@cases
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_the_effector_stops_where_the_formula_says_and_the_residual_tells(count, solver, ratio):
    rng = make_rng(20 + count)
    chain = chains.start_chain("random", count, rng, ratio)
    soft = 0.1 if chain.min_reach < 0.7 * chain.max_reach else 0.02
    direction = chains.random_direction(rng)
    options = options_for(chain, solver, soft)
    for share in (0.85, 0.93, 0.99, 1.0 - 1e-9):
        distance = share * chain.max_reach
        solution = solve(chain, Goal(chains.target_at(chain, distance, direction)), options)
        near = eased(distance, chain.max_reach, soft * chain.max_reach)
        expected = chains.target_at(chain, near, direction)
        tolerance = 2.0 * options.tolerance
        assert_positions_close(solution.joint_positions[-1], expected, tolerance)
        assert solution.residual == pytest.approx(distance - near, abs=tolerance)
        assert solution.status is (Status.SOFTENED if near < distance else Status.REACHED)
        np.testing.assert_allclose(
            chains.lengths_of(solution.joint_positions), chain.segment_lengths
        )


@every_solver
def test_tips_that_take_a_rotation_leave_the_zone_to_the_bones_before_them(solver):
    rng = make_rng(80)
    chain = chains.start_chain("arc", 3, rng)
    turn = rng.normal(size=4)
    tip_goal = Goal(chain.joint_positions[0], tip_rotation_wxyz=turn)
    folded = solve(chain, tip_goal, options_for(chain, solver, 0.0)).joint_positions
    tip = folded[-1] - folded[-2]
    reach = chain.segment_lengths[:2].sum()
    head = chain.joint_positions[0] + 0.98 * reach * chains.random_direction(rng)
    options = options_for(chain, solver, 0.1)
    solution = solve(chain, Goal(head + tip, tip_rotation_wxyz=turn), options)
    near = eased(0.98 * reach, reach, options.soft_distance)
    assert solution.residual == pytest.approx(0.98 * reach - near, abs=1e-8)
    assert_positions_close(solution.joint_positions[-1] - solution.joint_positions[-2], tip)
    assert solution.status is Status.SOFTENED


@pytest.mark.parametrize("solver", chains.ITERATIVE)
def test_chains_with_joints_are_as_soft(solver):
    bends = [(X, 0), (X, 20), (Z, -15), (X, 10)]
    sides = [(K.SWING, ((-75, 75),) * 2)] * 3
    chain = make_rig([(K.BALL, ((-75, 75),) * 3), *sides], bends=bends).chain()
    direction = chains.unit(chain.joint_positions[-1])
    options = options_for(chain, solver, 0.1)
    for share in (0.89, 0.95, 1.0 - 1e-9, 1.2):
        distance = share * chain.max_reach
        solution = solve(chain, Goal(distance * direction), options)
        near = eased(distance, chain.max_reach, options.soft_distance)
        assert_positions_close(solution.joint_positions[-1], near * direction, 1e-6)
        expected = Status.SOFTENED if near < distance else Status.REACHED
        assert solution.status is (Status.EXTENDED if share > 1.0 else expected)


def test_the_zone_leaves_dead_zones_alone():
    # Between folded, 0.98 of the reach, and stretched there is no room for the whole distance.
    chain = Chain(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.01, 1.0, 0.0]]))
    middle = 0.5 * (chain.min_reach + chain.max_reach)
    goal = Goal(np.array([0.0, middle, 0.0]))
    options = SolveOptions(solver=Solver.TWO_BONE, soft_distance=0.5, tolerance=1e-9)
    assert solve(chain, goal, options).status is Status.REACHED
