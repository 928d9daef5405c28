"""Influence: every bone turns its share of the way from the start pose to the solution."""

import numpy as np
import pytest

from blender_ik_addon.core import Goal, Status, bone_rotations, rotation
from tests.core.chains import (
    counts_and_solvers,
    lengths_of,
    pole_beside,
    random_direction,
    solved,
    start_chain,
    target_at,
)
from tests.helpers import assert_positions_close, assert_rotations_close, make_rng

COUNTS_AND_SOLVERS = counts_and_solvers(2, 3, 6)
ROTATION_TOLERANCE = 1e-9
TIP_ROTATION = np.array([0.6, 0.0, 0.8, 0.0])


def problem(count, share=0.6):
    rng = make_rng(count)
    chain = start_chain("arc", count, rng, ratio=2.0)
    target = target_at(chain, share * chain.max_reach, random_direction(rng))
    return chain, Goal(target, pole_beside(chain, target, rng))


def turns_seen_from_the_parent(chain, solution):
    """Return the rotation of every bone, those of its parent taken off."""
    rotations = bone_rotations(chain, solution)
    parents = np.vstack(([[1.0, 0.0, 0.0, 0.0]], rotations[:-1]))
    return rotation.multiply(rotation.conjugate(parents), rotations)


@pytest.mark.parametrize("share", [0.6, 1.5])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_no_influence_gives_the_start_pose_exactly(count, solver, share):
    chain, goal = problem(count, share)
    solution = solved(chain, goal, solver, influence=0.0)
    assert np.array_equal(solution.joint_positions, chain.joint_positions)
    nothing = np.tile([1.0, 0.0, 0.0, 0.0], (count, 1))
    assert_rotations_close(bone_rotations(chain, solution), nothing, ROTATION_TOLERANCE)
    distance = np.linalg.norm(chain.joint_positions[-1] - goal.target_position)
    assert solution.residual == pytest.approx(distance)
    assert solution.status is Status.BLENDED


@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_full_influence_is_the_solution_and_comes_without_a_jump(count, solver):
    chain, goal = problem(count)
    full = solved(chain, goal, solver, influence=1.0)
    assert full.status is Status.REACHED
    assert np.array_equal(solved(chain, goal, solver).joint_positions, full.joint_positions)
    almost = solved(chain, goal, solver, influence=1.0 - 1e-9)
    assert_positions_close(almost.joint_positions, full.joint_positions, 1e-7 * chain.max_reach)
    assert_rotations_close(bone_rotations(chain, almost), bone_rotations(chain, full), 1e-7)


@pytest.mark.parametrize("influence", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("share", [0.6, 1.5])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_every_bone_turns_its_share_seen_from_its_parent(count, solver, share, influence):
    chain, goal = problem(count, share)
    whole = turns_seen_from_the_parent(chain, solved(chain, goal, solver))
    blend = solved(chain, goal, solver, influence=influence)
    expected = rotation.power(whole, influence)
    assert_rotations_close(turns_seen_from_the_parent(chain, blend), expected, ROTATION_TOLERANCE)
    error = np.abs(lengths_of(blend.joint_positions) - chain.segment_lengths)
    assert np.max(error) <= 1e-12 * chain.max_reach


@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_turns_grow_evenly_with_influence(count, solver):
    chain, goal = problem(count)
    angles = []
    for influence in np.linspace(0.0, 1.0, 11):
        blend = solved(chain, goal, solver, influence=influence)
        turns = turns_seen_from_the_parent(chain, blend)
        sines = np.linalg.norm(turns[:, 1:], axis=1)
        angles.append(2.0 * np.arctan2(sines, np.abs(turns[:, 0])))
    steps = np.diff(angles, axis=0)
    assert np.max(np.abs(steps - np.mean(steps, axis=0))) <= 1e-7


@pytest.mark.parametrize("influence", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("count", "solver"), [pair for pair in COUNTS_AND_SOLVERS if pair[0] > 2])
def test_the_tip_takes_its_share_of_a_wanted_rotation(count, solver, influence):
    chain, plain = problem(count, 0.4)
    goal = Goal(plain.target_position, plain.pole_position, 0.0, TIP_ROTATION)
    if count == 3:
        assert solved(chain, goal, solver).is_converged
    whole = turns_seen_from_the_parent(chain, solved(chain, goal, solver))
    blend = solved(chain, goal, solver, influence=influence)
    expected = rotation.power(whole, influence)
    assert_rotations_close(turns_seen_from_the_parent(chain, blend), expected, ROTATION_TOLERANCE)
    assert_rotations_close(
        bone_rotations(chain, blend)[-1], blend.tip_rotation_wxyz, ROTATION_TOLERANCE
    )
