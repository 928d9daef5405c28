"""Properties of every solution: lengths, root, rotations, no warnings; records are copies."""

import dataclasses

import numpy as np
import pytest

from blender_ik_addon import core
from blender_ik_addon.core.algebra import rotation
from tests.core import chains
from tests.helpers import assert_positions_close, make_rng

# Largest error of a bone's length in promise 3, a share of the chain's length.
LENGTH_TOLERANCE = 1e-9
# Largest distance between the joints of the rotations and those of the solution, a share too.
ROTATION_TOLERANCE = 1e-9
# Largest error of a unit quaternion's length: rounding.
UNIT_TOLERANCE = 1e-12


# Distances of targets, shares of the full reach: root, dead zone, within, edges of reach, too far.
SHARES_OF_LENGTH = (0.0, 1e-9, 1e-6, 0.3, 0.999, 1.0, 1.5)


def goals_of(chain, rng):
    """Yield goals in random directions and on the chain's axis, with and without a pole."""
    root = chain.joint_positions[0]
    along = chains.segments_of(chain.joint_positions)[0] / chain.segment_lengths[0]
    for share in SHARES_OF_LENGTH:
        for toward in (chains.random_direction(rng), along, -along):
            target = chains.target_at(chain, share * chain.max_reach, toward)
            yield core.Goal(target)
        yield core.Goal(target, root + 2.0 * chain.max_reach * chains.random_direction(rng), 0.7)
        # A pole on the line from root to target, and one on the root itself.
        yield core.Goal(target, root + 2.0 * chain.max_reach * toward)
        yield core.Goal(target, root)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize(
    ("pose", "ratio"), [*((pose, 1.0) for pose in chains.POSES), ("random", 4.0)]
)
@pytest.mark.parametrize(("count", "solver"), [(1, core.Solver.NEWTON), *chains.EVERY_SOLVER])
def test_every_goal_gives_a_sound_solution_and_no_warning(count, solver, pose, ratio):
    rng = make_rng(count)
    chain = chains.start_chain(pose, count, rng, ratio)
    for goal in goals_of(chain, rng):
        solution = chains.solved(chain, goal, solver, iterations=25)
        joints = solution.joint_positions
        assert np.isfinite(joints).all()
        assert np.array_equal(joints[0], chain.joint_positions[0])
        error = np.abs(chains.lengths_of(joints) - chain.segment_lengths)
        assert np.max(error) <= LENGTH_TOLERANCE * chain.max_reach
        distance = np.linalg.norm(joints[-1] - goal.target_position)
        assert solution.residual == pytest.approx(distance, abs=1e-12)
        assert (solution.status is core.Status.REACHED) == solution.is_converged
        assert abs(np.linalg.norm(solution.chain_rotation_wxyz) - 1.0) <= UNIT_TOLERANCE
        # The rotations give the same joints as the solution.
        rotations = core.bone_rotations(chain, solution)
        assert rotations.shape == (len(chain.segment_lengths), 4)
        assert np.max(np.abs(np.linalg.norm(rotations, axis=1) - 1.0)) <= UNIT_TOLERANCE
        turned = rotation.rotate(rotations, chains.segments_of(chain.joint_positions))
        assert_positions_close(
            turned, chains.segments_of(joints), ROTATION_TOLERANCE * chain.max_reach
        )


@pytest.mark.parametrize("solver", chains.ITERATIVE)
def test_reached_means_within_the_tolerance_and_no_more(solver):
    chain = chains.start_chain("arc", 3, make_rng(6))
    target = chains.target_at(chain, 0.9 * chain.max_reach, chains.random_direction(make_rng(7)))
    # One iteration does not reach the target; its end does not depend on the tolerance.
    residual = chains.solved(chain, target, solver, tolerance=0.0, iterations=1).residual
    assert residual > 1e-4
    for share, status in ((0.999, core.Status.ITERATIONS_USED_UP), (1.001, core.Status.REACHED)):
        options = core.SolveOptions(solver=solver, tolerance=share * residual, iterations=1)
        assert core.solve(chain, core.Goal(target), options).status is status


def test_records_keep_read_only_copies():
    joints, target, pole = np.eye(3), np.ones(3), np.zeros(3)
    chain, goal = (
        core.Chain(joints, bend_direction=pole),
        core.Goal(target, pole, 0.0, np.eye(4)[0]),
    )
    many, goals = core.Chains(joints[None]), core.Goals(target[None], pole[None])
    fork = core.Topology((-1, 0, 0), (1, 2))
    tree = core.Chain(np.arange(15.0).reshape(5, 3) ** 2, topology=fork)
    joints[0], target[0], pole[0] = 9.0, 9.0, 9.0
    assert np.array_equal(chain.joint_positions, np.eye(3))
    assert np.array_equal(goal.target_position, np.ones(3))
    assert np.array_equal(goal.pole_position, np.zeros(3))
    arrays = (
        chain.joint_positions,
        chain.bend_direction,
        chain.segment_lengths,
        goal.target_position,
        goal.pole_position,
        goal.tip_rotation_wxyz,
        many.joint_positions,
        goals.target_position,
        tree.segment_lengths,
        core.Goal(np.ones((2, 3)), weight=[1, 2]).weight,
    )
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        goal.pole_angle = 1.0
