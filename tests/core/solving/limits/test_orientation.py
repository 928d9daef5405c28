"""A limited tip takes its goal rotation as far as its limits allow, and reports the gap."""

import numpy as np
import pytest

from blender_ik_addon.core import Goal, Goals, SolveOptions, Solver, solve, solve_batch
from tests.core.chains import ITERATIVE
from tests.core.limited_rigs import (
    RIGS,
    K,
    Y,
    about,
    make_rig,
    multiply,
    quaternion,
    worst_violation,
)
from tests.helpers import angles_between, make_rng

pytestmark = pytest.mark.slow

every_solver = pytest.mark.parametrize("solver", ITERATIVE)


def gap_of(rig, solution, goal_rotation):
    """Return the radians between the posed tip's axes and the goal's."""
    return angles_between(quaternion(rig.frames(solution.local_rotations_wxyz)[-1]), goal_rotation)


def posed(rig, rng, share=0.5):
    """Return target and tip rotation of a random pose; tips at rest have the armature's axes."""
    rotations = rig.random_pose(rng, share)
    return rig.points(rotations)[-1], quaternion(rig.frames(rotations)[-1])


def draw_goals(rig, rng, count, share=0.5):
    """Return targets (count, 3) and tip rotations wxyz (count, 4) of random poses."""
    drawn = [posed(rig, rng, share) for _ in range(count)]
    return [np.array(column) for column in zip(*drawn, strict=True)]


@every_solver
def test_position_and_rotation_of_a_pose_within_limits_are_both_met(solver):
    rig, rng = make_rig([(K.BALL, ((-70, 70),) * 3)] * 5), make_rng(71)
    met, (targets, turns) = 0, draw_goals(rig, rng, 40)
    options = SolveOptions(solver, tolerance=1e-4)
    solutions = solve_batch(rig.chains(40), Goals(targets, tip_rotation_wxyz=turns), options)
    for solution, goal_rotation in zip(solutions, turns, strict=True):
        assert rig.violations(solution.local_rotations_wxyz).max() <= 1e-6
        gap = gap_of(rig, solution, goal_rotation)
        assert solution.tip_gap == pytest.approx(gap, abs=1e-5)
        met += solution.residual <= 5e-3 and gap <= 1e-2
    assert met >= 38, met


@every_solver
@pytest.mark.parametrize("axes", ["YXXYXY", "YXXXYXY"])
def test_arms_of_hinges_meet_position_and_rotation_of_nearly_all_their_poses(solver, axes):
    """Only a few poses meet both goals, and they lie far apart: restarts find them."""
    full = ((-170, 170),)
    kinds = [(K[f"HINGE_{axis}"], full) for axis in axes]
    rig, rng = make_rig(kinds, (0.4, 0.8, 0.3, 0.7, 0.2, 0.2, 0.15)[: len(axes)]), make_rng(78)
    targets, turns = draw_goals(rig, rng, 40, 0.9)
    goals = Goals(targets, tip_rotation_wxyz=turns)
    solutions = solve_batch(rig.chains(40), goals, rig.options(solver))
    assert worst_violation(rig, solutions) <= 1e-6
    is_met = (solutions.residual <= 1e-3 * rig.length) & (solutions.tip_gap <= 2e-3)
    assert is_met.sum() >= 36, is_met.sum()


@every_solver
def test_a_tip_turns_as_far_as_limits_let_it_where_its_head_has_a_target(solver):
    """Steps without curvature leave a mean gap of 0.24 to 0.25 radians."""
    rig, rng = make_rig([(K.BALL, ((-35, 35),) * 3)] * 3), make_rng(79)
    targets, turns = draw_goals(rig, rng, 40, 0.8)
    turns = turns + 0.15 * rng.normal(size=turns.shape)
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    goals = Goals(targets, tip_rotation_wxyz=turns)
    solutions = solve_batch(rig.chains(40), goals, rig.options(solver))
    assert (solutions.residual <= 1e-3 * rig.length).all()
    assert np.mean(solutions.tip_gap) < 0.225


@every_solver
@pytest.mark.parametrize("name", ["arm", "mixed_lengths", "offset_bones"])
def test_no_goal_rotation_costs_a_limit_or_a_target(name, solver):
    rig, rng = RIGS[name](), make_rng(72)
    drawn = [(posed(rig, rng)[0], rng.normal(size=4)) for _ in range(15)]
    targets, turns = (np.array(column) for column in zip(*drawn, strict=True))
    goals = Goals(targets, tip_rotation_wxyz=turns)
    solutions = solve_batch(rig.chains(15), goals, rig.options(solver))
    assert worst_violation(rig, solutions) <= 1e-6
    assert np.max(solutions.residual) <= 1e-3 * rig.length


@every_solver
def test_a_tip_that_may_twist_by_thirty_degrees_twists_by_thirty(solver):
    rig = make_rig(
        [(K.SWING, ()), (K.HINGE_X, ((0, 150),)), (K.ELBOW_X, ((-90, 90), (-30, 30)))],
        (1.0, 1.0, 0.4),
    )
    # The last joint's twist turns the tip about its axis, and does not move the effector.
    rotations = np.array([about(0, 0.2), about(0, 0.6), about(0, 0.3)])
    target, frame = rig.points(rotations)[-1], quaternion(rig.frames(rotations)[-1])
    goal_rotation = multiply(frame, about(Y, np.radians(80.0)))
    options = SolveOptions(solver, tolerance=1e-6)
    solution = solve(rig.chain(), Goal(target, tip_rotation_wxyz=goal_rotation), options)
    assert rig.violations(solution.local_rotations_wxyz).max() <= 1e-6
    assert solution.residual <= 1e-3
    assert np.degrees(gap_of(rig, solution, goal_rotation)) <= 50.5
    assert solution.tip_gap == pytest.approx(gap_of(rig, solution, goal_rotation), abs=1e-5)


@every_solver
def test_a_weight_turns_the_tip_by_its_share_of_the_angle(solver: Solver) -> None:
    rig, rng = make_rig([(K.BALL, ((-70, 70),) * 3)] * 5), make_rng(75)
    for weight in (0.3, 0.7, 0.5):
        target, goal_rotation = posed(rig, rng)
        goal = Goal(target, tip_rotation_wxyz=goal_rotation)
        free, turned = (
            solve(rig.chain(), goal, SolveOptions(solver, tolerance=1e-4, orient_weight=share))
            for share in (0.0, weight)
        )
        position_only = solve(rig.chain(), Goal(target), SolveOptions(solver, tolerance=1e-4))
        np.testing.assert_allclose(free.joint_positions, position_only.joint_positions, atol=1e-9)
        left = gap_of(rig, turned, goal_rotation) / gap_of(rig, free, goal_rotation)
        assert left == pytest.approx(1.0 - weight, abs=0.01)
        assert turned.residual <= 1e-3
