"""FABRIK: the published sweeps, with the iterations that independent implementations need."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Solver
from tests.core.chains import random_direction, solved, start_joints, uneven_lengths
from tests.core.peer_cases import median_iterations, peer_case, peer_solutions
from tests.core.solvers.steps import stepped_points
from tests.helpers import assert_positions_close, make_rng

# Four independent implementations agree on the medians; one iteration more or less is a
# different moment of counting, not a different algorithm.
ONE_ITERATION = 1.0


def textbook_iteration(joints, lengths, target):
    """Sweep inward from the target and outward from the root, one joint after the other."""
    joints, root, last = joints.copy(), joints[0].copy(), len(joints) - 1
    joints[last] = target
    for i in range(last - 1, -1, -1):
        ratio = lengths[i] / np.linalg.norm(joints[i + 1] - joints[i])
        joints[i] = (1.0 - ratio) * joints[i + 1] + ratio * joints[i]
    joints[0] = root
    for i in range(last):
        ratio = lengths[i] / np.linalg.norm(joints[i + 1] - joints[i])
        joints[i + 1] = (1.0 - ratio) * joints[i] + ratio * joints[i + 1]
    return joints


@pytest.mark.parametrize("count", [1, 2, 3, 10, 50])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_is_the_published_iteration(seed, count):
    rng = make_rng(seed)
    lengths = uneven_lengths(count, 4.0, rng)
    joints = start_joints("random", lengths, rng)
    joints -= joints[0]
    target = 0.6 * lengths.sum() * random_direction(rng)
    for _ in range(4):
        expected = textbook_iteration(joints, lengths, target)
        joints = stepped_points("FABRIK", joints, target)
        assert_positions_close(joints, expected, 1e-13 * lengths.sum())


def test_joints_that_meet_have_a_direction_all_the_same():
    joints = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    for target in (np.zeros(3), joints[1], 0.5 * joints[1]):
        lengths = np.linalg.norm(np.diff(stepped_points("FABRIK", joints, target), axis=0), axis=1)
        assert lengths == pytest.approx(np.ones(3))


# Many sweeps of many bones take seconds.
LONG_CHAINS = [pytest.param(count, marks=pytest.mark.slow) for count in (20, 50, 100)]


@pytest.mark.parametrize("count", [2, 3, 5, 10, *LONG_CHAINS])
def test_every_target_of_the_rivals_is_reached(count):
    solutions = peer_solutions(count, Solver.FABRIK, 1e-3)
    assert sum(solution.is_converged for solution in solutions) == 100
    assert max(solution.residual for solution in solutions) <= 1e-3 * count


@pytest.mark.parametrize(
    ("count", "median"),
    [(2, 3.0), (10, 4.0), pytest.param(100, 20.0, marks=pytest.mark.slow)],
)
def test_iterations_are_those_of_the_rivals(count, median):
    solutions = peer_solutions(count, Solver.FABRIK, 1e-3, use_finish=False)
    assert abs(median_iterations(solutions) - median) <= ONE_ITERATION


@pytest.mark.parametrize(("count", "median"), [(2, 7.0), (10, 9.0)])
def test_iterations_to_fine_tolerance_are_those_of_the_rivals(count, median):
    solutions = peer_solutions(count, Solver.FABRIK, 1e-6, use_finish=False)
    assert abs(median_iterations(solutions) - median) <= ONE_ITERATION


# Medians of sweeps to 1e-6 of the length near full reach, measured: bare ones die there, and are
# finished by NEWTON.
@pytest.mark.parametrize(
    ("count", "share", "bare", "finished"),
    [(4, 0.9, 20, 21), pytest.param(10, 0.99, 459, 25, marks=pytest.mark.slow)],
)
def test_what_sweeps_are_too_slow_for_is_finished(count, share, bare, finished):
    rng = make_rng(count)
    found = {True: [], False: []}
    for _ in range(15):
        joints = start_joints("arc", np.ones(count), rng)
        target = joints[0] + share * count * random_direction(rng)
        for use, iterations in found.items():
            options = {"use_finish": use, "iterations": 2000}
            solution = solved(Chain(joints), target, Solver.FABRIK, 1e-6, **options)
            assert solution.is_converged
            iterations.append(solution.iterations)
    assert np.median(found[True]) <= finished
    assert np.median(found[False]) == pytest.approx(bare, rel=0.1)


@pytest.mark.parametrize("cap", [1, 7, 20, 60])
def test_without_a_finish_sweeps_go_on_to_their_cap(cap):
    chain, _ = peer_case(10)
    target = chain.joint_positions[0] + np.array([0.0, 0.0, 0.9999 * chain.max_reach])
    solution = solved(chain, target, Solver.FABRIK, 1e-12, iterations=cap, use_finish=False)
    assert solution.iterations == cap
    bare = chain.joint_positions
    for _ in range(cap):
        bare = stepped_points("FABRIK", bare, target)
    assert abs(np.linalg.norm(bare[-1] - target) - solution.residual) < 1e-9
