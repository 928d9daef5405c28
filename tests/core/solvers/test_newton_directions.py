"""NEWTON: few iterations for any number of bones, and quadratic convergence."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Goal, SolveOptions, Solver, solve
from tests.core.chains import POSES, random_direction, solved, start_chain, target_at
from tests.core.peer_cases import CAP, median_iterations, peer_case, peer_solutions
from tests.helpers import make_rng

# The largest count of 42,000 measured cases was 35 iterations, to 1e-6 of the length; three more
# iterations square the error down to the precision of float64.
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
def test_every_target_of_the_peers_is_reached(count):
    chain, targets = peer_case(count)
    assert len(targets) == 100
    solutions = peer_solutions(count, Solver.NEWTON, 1e-6)
    assert sum(solution.is_converged for solution in solutions) == 100
    assert max(solution.residual for solution in solutions) <= 1e-6 * chain.max_reach
    # The peers of its kind (damped least squares) take 3 to 8.
    assert median_iterations(solutions) <= 8
    assert CAP > MOST_ITERATIONS >= max(solution.iterations for solution in solutions)


@pytest.mark.parametrize("step", [1e-4, 1e-2])
def test_a_limb_that_bends_to_both_sides_keeps_that_as_its_target_begins_to_move(step):
    hind_leg = np.array([(0, 0, 0), (0, -0.3, -0.4), (0, 0.25, -0.7), (0, 0, -1.0)], dtype=float)
    for direction in np.eye(3):
        goal = Goal(hind_leg[-1] + step * direction)
        joints = solve(Chain(hind_leg), goal, SolveOptions(stays_near=True)).joint_positions
        assert np.linalg.norm(joints - hind_leg, axis=1).max() < 4.0 * step
