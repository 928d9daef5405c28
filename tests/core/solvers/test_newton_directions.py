"""NEWTON: few iterations whatever the number of bones, and quadratic convergence."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, SolveOptions, Solver, solve
from blender_ik_addon.core.algebra.arithmetic import ARRAYS
from blender_ik_addon.core.algebra.arrays import sum_segments
from blender_ik_addon.core.solvers import newton_directions
from tests.core.chains import (
    POSES,
    lengths_of,
    random_direction,
    solved,
    start_chain,
    start_joints,
    target_at,
    uneven_lengths,
)
from tests.core.peer_cases import CAP, median_iterations, peer_case, peer_solutions
from tests.helpers import make_rng

# The most that 42,000 measured cases took was 35 iterations, to 1e-6 of the length; three more
# square the error down to where float64 ends.
MOST_ITERATIONS = 40
TOLERANCE = 1e-9
SHARES_OF_REACH = (0.0, 0.05, 0.3, 0.6, 0.9, 0.99, 0.999, 1.0 - 1e-6, 1.0 - 1e-12, 1.0)
ROUNDING = 1e-14


@pytest.mark.parametrize("ratio", [1.0, 9.0])
@pytest.mark.parametrize("pose", POSES)
@pytest.mark.parametrize("count", [2, 4, 20, 300])
def test_every_reachable_target_takes_few_iterations(count, pose, ratio):
    rng = make_rng(count)
    chain = start_chain(pose, count, rng, ratio)
    for share in SHARES_OF_REACH:
        distance = chain.min_reach + share * (chain.max_reach - chain.min_reach)
        target = target_at(chain, distance, random_direction(rng))
        solution = solved(chain, target, Solver.NEWTON, TOLERANCE, iterations=MOST_ITERATIONS)
        error = solution.residual / chain.max_reach
        assert error <= TOLERANCE + ROUNDING, f"at share {share}: {error}, {solution.status}"


@pytest.mark.parametrize("count", [2, 3, 10, 100])
def test_every_target_of_the_rivals_is_reached(count):
    chain, targets = peer_case(count)
    assert len(targets) == 100
    solutions = peer_solutions(count, Solver.NEWTON, 1e-6)
    assert sum(solution.is_converged for solution in solutions) == 100
    assert max(solution.residual for solution in solutions) <= 1e-6 * chain.max_reach
    # The rivals of its kind (damped least squares) take 3 to 8.
    assert median_iterations(solutions) <= 8
    assert CAP > MOST_ITERATIONS >= max(solution.iterations for solution in solutions)


def small_problem(seed, count):
    """Return a bent pose, its lengths, and a direction, in the layout of the solvers."""
    rng = make_rng(seed)
    lengths = uneven_lengths(count, 3.0, rng)
    lengths /= lengths.sum()
    joints = start_joints("random", lengths, rng)
    return (joints - joints[0])[..., None], lengths[:, None], random_direction(rng)[:, None]


def stepped(points, lengths, target, damping):
    """Return the joints after one iteration, and the damping for the next one."""
    squares, segments = lengths * lengths, np.diff(points, axis=0)
    ones = np.ones_like(lengths)
    chain = lengths, squares, squares.sum(axis=0), lengths.sum(axis=0), ones
    gap = newton_directions.find_gap(ARRAYS, ones, segments, tuple(target))
    state = segments, np.array([damping]), *gap
    (moved, damping, *_), _ = newton_directions.step(ARRAYS, chain, state, tuple(target))
    return sum_segments(moved), damping


@pytest.mark.parametrize("count", [2, 3, 40])
@pytest.mark.parametrize("seed", range(2))
def test_the_error_after_a_step_goes_as_the_square_of_the_error_before(seed, count):
    points, lengths, toward = small_problem(seed, count)
    ratios = []
    for error in (1e-2, 1e-3, 1e-4):
        target = points[-1] + error * toward
        moved, _ = stepped(points, lengths, target, 1e-4)
        ratios.append(np.linalg.norm(target - moved[-1]) / error**2)
    # The constant is the curvature of the chain's reach, not the error.
    assert ratios[2] <= 3.0 * ratios[0] + 1.0


@pytest.mark.parametrize("seed", range(2))
def test_a_step_turns_segments_by_their_share_of_one_multiplier(seed):
    points, lengths, toward = small_problem(seed, 6)
    directions = np.diff(points, axis=0)[..., 0] / lengths
    error = 1e-7 * toward[:, 0]
    target = points[-1] + error[:, None]
    moved, _ = stepped(points, lengths, target, 0.0)
    change = np.diff(moved, axis=0)[..., 0] / lengths - directions
    # Least change under the task: l_i (x - d_i (d_i . x)) with one x for all segments.
    squares = lengths[:, 0] ** 2
    outer = np.einsum("i,ij,ik->jk", squares, directions, directions)
    x = np.linalg.solve(squares.sum() * np.eye(3) - outer, error)
    expected = lengths * (x - directions * (directions @ x)[:, None])
    assert np.max(np.abs(change - expected)) <= 1e-12


@pytest.mark.parametrize("damping", [0.0, 1e-4, 1.0, 1e3])
def test_a_step_never_comes_out_farther_and_keeps_lengths(damping):
    for seed in range(10):
        points, lengths, toward = small_problem(seed, 5)
        target = 0.8 * toward
        moved, next_damping = stepped(points, lengths, target, damping)
        before, after = (np.linalg.norm(target - p[-1]) for p in (points, moved))
        assert after <= before
        assert np.max(np.abs(lengths_of(moved[..., 0]) - lengths[:, 0])) <= ROUNDING
        # A refused step changes nothing but the damping.
        assert after < before or (
            np.allclose(moved, points, 0, ROUNDING) and next_damping > damping
        )


@pytest.mark.parametrize("step", [1e-4, 1e-2])
def test_a_limb_that_bends_to_both_sides_keeps_that_as_its_target_begins_to_move(step):
    hind_leg = np.array([(0, 0, 0), (0, -0.3, -0.4), (0, 0.25, -0.7), (0, 0, -1.0)], dtype=float)
    for way in np.eye(3):
        goal = Goal(hind_leg[-1] + step * way)
        joints = solve(Chain(hind_leg), goal, SolveOptions(stays_near=True)).joint_positions
        assert np.linalg.norm(joints - hind_leg, axis=1).max() < 4.0 * step
