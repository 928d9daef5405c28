"""The tip bone takes the goal rotation, and the effector stays on the target."""

from dataclasses import replace

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, Solver, Status, bone_rotations
from blender_ik_addon.core.algebra import rotation
from tests.core import chains
from tests.helpers import assert_positions_close, assert_rotations_close, make_rng

TOLERANCE = 1e-9
EXACT = 1e-12
COUNTS_AND_SOLVERS = [
    (3, Solver.TWO_BONE),
    *((4, solver) for solver in chains.ITERATIVE),
    *((3, Solver.NEWTON), (8, Solver.FABRIK)),
]


def problem(count, seed, share=0.5):
    """Return a chain and a goal whose tip rotation leaves the target within reach."""
    rng = make_rng(100 * count + seed)
    chain = chains.start_chain("arc", count, rng)
    target = chains.target_at(chain, share * chain.max_reach, chains.random_direction(rng))
    return chain, Goal(
        target, chains.pole_beside(chain, target, rng), 0.0, chains.unit(rng.normal(size=4))
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_the_tip_rotation_is_exact_and_the_effector_on_the_target(count, solver, seed):
    # At this distance the other bones reach the tip's head in any direction: its distance is at
    # most 0.3 + 1/3 of the length, and they are two thirds long.
    chain, goal = problem(count, seed, share=0.3)
    # A quaternion of any length is the same rotation.
    goal = replace(goal, tip_rotation_wxyz=-7.0 * goal.tip_rotation_wxyz)
    solution = chains.solved(chain, goal, solver, TOLERANCE)
    assert solution.status is Status.REACHED
    assert_rotations_close(solution.tip_rotation_wxyz, goal.tip_rotation_wxyz, EXACT)
    rotations = bone_rotations(chain, solution)
    assert_rotations_close(rotations[-1], goal.tip_rotation_wxyz, EXACT)
    turned = rotation.rotate(rotations, chains.segments_of(chain.joint_positions))
    assert_positions_close(turned, chains.segments_of(solution.joint_positions), 1e-9)


@pytest.mark.parametrize("weight", [0.25, 0.75])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS[1:])
def test_the_tip_takes_the_share_of_the_rotation_that_its_weight_says(count, solver, weight):
    chain, goal = problem(count, 1, share=0.3)
    plain = Goal(goal.target_position, goal.pole_position)
    present = bone_rotations(chain, chains.solved(chain, plain, solver, TOLERANCE))[-1]
    turn = rotation.multiply(goal.tip_rotation_wxyz, rotation.conjugate(present))
    expected = rotation.multiply(rotation.power(turn, weight), present)
    solution = chains.solved(chain, goal, solver, TOLERANCE, orient_weight=weight)
    assert_rotations_close(bone_rotations(chain, solution)[-1], expected, 1e-6)
    assert solution.residual <= (TOLERANCE + EXACT) * chain.max_reach


def hand_that_turns(count):
    """Return a bent chain and a goal near its effector that turns the tip by one radian."""
    rng = make_rng(count)
    chain = chains.start_chain("arc", count, rng)
    start = chain.joint_positions
    turn = np.concatenate(([np.cos(0.5)], np.sin(0.5) * chains.random_direction(rng)))
    return chain, Goal(start[0] + 0.9 * (start[-1] - start[0]), tip_rotation_wxyz=turn)


# FABRIK and CCD are left out: their poses are not flat, and without a tip rotation a pole turns the
# mean bend of the whole chain, with one that of the bones before the tip.
@pytest.mark.parametrize(("count", "solver"), [(3, Solver.NEWTON), (6, Solver.NEWTON)])
def test_a_tiny_weight_moves_nothing(count, solver):
    for chain, goal in (hand_that_turns(count), problem(count, 0)):
        plain = Goal(goal.target_position, goal.pole_position)
        without = chains.solved(chain, plain, solver, TOLERANCE).joint_positions
        weighted = chains.solved(chain, goal, solver, TOLERANCE, orient_weight=1e-9).joint_positions
        assert_positions_close(weighted, without, 1e-6 * chain.max_reach)


@pytest.mark.parametrize(("count", "solver"), [(6, Solver.FABRIK), (6, Solver.NEWTON)])
def test_the_pose_follows_the_weight_without_a_jump(solver, count):
    chain, goal = hand_that_turns(count)
    weights, step = np.linspace(0.0, 1.0, 33, retstep=True)
    poses = [
        chains.solved(chain, goal, solver, TOLERANCE, orient_weight=weight).joint_positions
        for weight in weights
    ]
    moves = np.linalg.norm(np.diff(poses, axis=0), axis=-1)
    # The tip is one bone long and turns by about a radian in total, so its head moves by a bone's
    # length times the step; the other joints move as far, and more where the chain is straight.
    assert np.max(moves) <= 5.0 * step
    assert np.max(np.linalg.norm(poses[-1] - poses[0], axis=1)) >= 0.2


@pytest.mark.parametrize("solver", chains.ITERATIVE)
def test_one_bone_takes_the_rotation_and_keeps_its_root(solver):
    chain = Chain([[1.0, 0.0, 0.0], [1.0, 2.0, 0.0]])
    quarter_about_z = np.array([np.sqrt(0.5), 0.0, 0.0, np.sqrt(0.5)])
    for target in ([-1.0, 0.0, 0.0], [5.0, 0.0, 0.0]):
        goal = Goal(target, tip_rotation_wxyz=quarter_about_z)
        solution = chains.solved(chain, goal, solver)
        expected = [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]
        assert_positions_close(solution.joint_positions, expected, EXACT)
        assert_rotations_close(bone_rotations(chain, solution)[0], quarter_about_z, EXACT)
        assert solution.residual == pytest.approx(np.linalg.norm(np.subtract(target, expected[1])))
        assert solution.is_converged == (solution.residual < 1e-6)


@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_out_of_reach_the_rotation_holds_and_the_other_bones_point_at_the_tip_head(count, solver):
    chain, goal = problem(count, 3, share=2.5)
    solution = chains.solved(chain, goal, solver)
    assert solution.status is Status.EXTENDED
    assert_rotations_close(bone_rotations(chain, solution)[-1], goal.tip_rotation_wxyz, EXACT)
    tip = rotation.rotate(goal.tip_rotation_wxyz, chains.segments_of(chain.joint_positions)[-1])
    toward = chains.unit(goal.target_position - tip - chain.joint_positions[0])
    directions = chains.unit(chains.segments_of(solution.joint_positions)[:-1])
    assert_positions_close(directions, np.tile(toward, (count - 1, 1)), EXACT)
