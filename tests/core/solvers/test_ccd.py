"""CCD: every joint turns toward the target, tip first; it does not jitter near the root."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Solver, Status
from tests.core.chains import (
    lengths_of,
    random_direction,
    random_frame,
    solved,
    start_chain,
    start_joints,
    target_at,
    turned_about,
    uneven_lengths,
    unit,
)
from tests.core.peer_cases import CAP, median_iterations, peer_case, peer_solutions
from tests.core.solvers.steps import stepped_points
from tests.helpers import assert_positions_close, make_rng


def textbook_iteration(joints, target):
    """Turn every joint, tip first, with all that hangs on it."""
    joints = joints.copy()
    for i in range(len(joints) - 2, -1, -1):
        source, wanted = unit(joints[-1] - joints[i]), unit(target - joints[i])
        axis = np.cross(source, wanted)
        angle = np.arctan2(np.linalg.norm(axis), source @ wanted)
        turn = turned_about(unit(axis), angle)
        joints[i + 1 :] = joints[i] + (joints[i + 1 :] - joints[i]) @ turn.T
    return joints


@pytest.mark.parametrize("count", [1, 2, 3, 10])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_the_published_iteration_where_levers_are_long(seed, count):
    rng = make_rng(seed)
    lengths = uneven_lengths(count, 2.0, rng)
    joints = start_joints("arc", lengths, rng)
    joints -= joints[0]
    # Beyond the chain, so that no joint comes near the target.
    target = 1.5 * lengths.sum() * unit(unit(joints[-1]) + 0.5 * random_direction(rng))
    moved = stepped_points("CCD", joints, target)
    if count < 10:
        # With more bones the effector comes near the inner joints of the tip, where CCD fades.
        assert_positions_close(moved, textbook_iteration(joints, target), 1e-12)
    assert np.max(np.abs(lengths_of(moved) - lengths)) <= 1e-13 * lengths.sum()


@pytest.mark.parametrize(("count", "tolerance"), [(2, 1e-3), (2, 1e-6), (3, 1e-3)])
def test_every_target_of_the_rivals_is_reached(count, tolerance):
    solutions = peer_solutions(count, Solver.CCD, tolerance)
    assert sum(solution.is_converged for solution in solutions) == 100
    assert max(solution.residual for solution in solutions) <= tolerance * count


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 10, 20, 50])
def test_targets_of_the_rivals_are_reached_by_long_chains(count):
    chain, targets = peer_case(count)
    for target in targets[: 400 // count]:
        assert solved(chain, target, Solver.CCD, 1e-3, iterations=CAP).is_converged


# Independent CCDs take these medians to 1e-3 of the length.
@pytest.mark.parametrize(
    ("count", "median"), [(2, 9.0), pytest.param(10, 26.0, marks=pytest.mark.slow)]
)
def test_iterations_are_those_of_the_rivals(count, median):
    solutions = peer_solutions(count, Solver.CCD, 1e-3, use_finish=False)
    assert abs(median_iterations(solutions) - median) <= 1.0


@pytest.mark.parametrize("solver", [Solver.FABRIK, Solver.CCD])
@pytest.mark.parametrize("cap", [1, 2, 5, 10, 20])
def test_a_small_cap_is_honoured_exactly(cap, solver):
    chain = start_chain("arc", 10, make_rng(1))
    target = target_at(chain, 0.98 * chain.max_reach, random_direction(make_rng(2)))
    solution = solved(chain, target, solver, tolerance=1e-12, iterations=cap, use_finish=False)
    assert solution.iterations == cap
    assert solution.status is Status.ITERATIONS_USED_UP
    assert not solution.is_converged


@pytest.mark.parametrize("solver", [Solver.FABRIK, Solver.CCD, Solver.NEWTON])
def test_a_used_up_cap_gives_the_best_pose_so_far(solver):
    rng = make_rng(3)
    for _ in range(10):
        chain = start_chain("random", 5, rng, ratio=3.0)
        share = 0.999 * (chain.max_reach - chain.min_reach)
        target = target_at(chain, chain.min_reach + share, random_direction(rng))
        residuals = [
            solved(chain, target, solver, tolerance=0.0, iterations=cap).residual
            for cap in range(1, 12)
        ]
        # More iterations never make it worse, but for rounding.
        assert np.all(np.diff(residuals) <= 1e-13 * chain.max_reach)


# Joints that the target all but touches: how near it passes the root, as a share of the length.
PASSING_DISTANCE = 0.005


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_a_target_that_passes_the_root_does_not_throw_the_joints(seed, count):
    rng = make_rng(seed)
    frame = random_frame(rng)
    chain = Chain(start_joints("arc", np.ones(count), rng), frame[:, 2])
    # Steps of 1/300 of the length.
    path = np.linspace(0.1, -0.1, 61)[:, None] * frame[:, 0] + PASSING_DISTANCE * frame[:, 1]
    targets = chain.joint_positions[0] + chain.max_reach * path
    poses = [solved(chain, target, Solver.CCD).joint_positions for target in targets]
    moves = np.linalg.norm(np.diff(poses, axis=0), axis=-1)
    # The direction to the target turns by half a turn within three steps. A chain that follows it
    # throws a joint by 0.2 to 0.5 of the length in one of them.
    assert np.max(moves) <= 0.15 * chain.max_reach
