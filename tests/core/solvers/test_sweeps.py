"""FABRIK and CCD: the published sweeps, and the iterations of independent implementations."""

import numpy as np
import pytest

from blender_ik_addon.core import Chain, Solver, Status
from blender_ik_addon.core.algebra.arithmetic import ARRAYS, FLOATS
from blender_ik_addon.core.algebra.nested import to_numbers
from blender_ik_addon.core.solving.iteration import Method, Progress, Work, iterate
from blender_ik_addon.core.solving.sweeps import sweep_points
from tests.core import chains
from tests.core.peer_cases import median_iterations, peer_case, peer_solutions
from tests.helpers import make_rng

FABRIK, CCD, NEWTON = Solver.FABRIK, Solver.CCD, Solver.NEWTON
slow = pytest.mark.slow


def stepped_points(solver, joints, target):
    """Return the joints (n + 1, 3) after one iteration; floats and arrays must agree."""
    lengths = chains.lengths_of(joints)
    inputs = (joints, 2), (lengths, 1), (np.asarray(target), 1)
    one = [to_numbers(array, depth) for array, depth in inputs]
    many = [to_numbers(array[..., None], depth) for array, depth in inputs]
    alone = np.array(sweep_points(FLOATS, solver, *one, -1.0, 1)[0])
    limits = np.array([-1.0]), np.array([1])
    together = np.array(sweep_points(ARRAYS, solver, *many, *limits)[0])[..., 0]
    assert np.abs(alone - together).max() < 1e-12 * lengths.sum()
    return alone


def test_joints_that_meet_have_a_direction_all_the_same():
    joints = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    for target in (np.zeros(3), joints[1], 0.5 * joints[1]):
        lengths = chains.lengths_of(stepped_points(FABRIK, joints, target))
        assert lengths == pytest.approx(np.ones(3))


# Four independent FABRIKs agree on their medians, and CCDs on theirs; a difference of one iteration
# comes from the moment of counting, not from the algorithm.
@pytest.mark.parametrize(
    ("solver", "count", "tolerance", "median"),
    [
        (FABRIK, 2, 1e-3, 3.0),
        (FABRIK, 10, 1e-3, 4.0),
        (FABRIK, 10, 1e-6, 9.0),
        (CCD, 2, 1e-3, 9.0),
        pytest.param(FABRIK, 100, 1e-3, 20.0, marks=slow),
        pytest.param(CCD, 10, 1e-3, 26.0, marks=slow),
    ],
)
def test_iterations_are_those_of_the_peers(solver, count, tolerance, median):
    solutions = peer_solutions(count, solver, tolerance, use_finish=False)
    assert max(solution.residual for solution in solutions) <= tolerance * count
    assert abs(median_iterations(solutions) - median) <= 1.0


# Measured medians of sweeps to 1e-6 of the length near full reach: there sweeps alone converge very
# slowly, and NEWTON finishes them.
@pytest.mark.parametrize(
    ("count", "share", "bare", "finished"),
    [(4, 0.9, 20, 21), pytest.param(10, 0.99, 459, 25, marks=slow)],
)
def test_newton_finishes_what_sweeps_are_too_slow_for(count, share, bare, finished):
    rng = make_rng(count)
    counts = {True: [], False: []}
    for _ in range(15):
        joints = chains.start_joints("arc", np.ones(count), rng)
        target = joints[0] + share * count * chains.random_direction(rng)
        for use_finish, iterations in counts.items():
            options = {"use_finish": use_finish, "iterations": 2000}
            solution = chains.solved(Chain(joints), target, FABRIK, 1e-6, **options)
            assert solution.is_converged
            iterations.append(solution.iterations)
    assert np.median(counts[True]) <= finished
    assert np.median(counts[False]) == pytest.approx(bare, rel=0.1)


@pytest.mark.parametrize("solver", [FABRIK, CCD])
@pytest.mark.parametrize("cap", [1, 7, 20])
def test_without_a_finish_sweeps_use_their_cap_and_no_more(cap, solver):
    chain, _ = peer_case(10)
    target = chain.joint_positions[0] + np.array([0.0, 0.0, 0.9999 * chain.max_reach])
    solution = chains.solved(chain, target, solver, 1e-12, iterations=cap, use_finish=False)
    assert solution.iterations == cap
    assert solution.status is Status.ITERATIONS_USED_UP
    assert not solution.is_converged
    if solver is FABRIK:
        points = chain.joint_positions
        for _ in range(cap):
            points = stepped_points(FABRIK, points, target)
        assert abs(np.linalg.norm(points[-1] - target) - solution.residual) < 1e-9


@pytest.mark.parametrize("solver", [FABRIK, CCD, NEWTON])
def test_a_used_up_cap_gives_the_best_pose_so_far(solver):
    rng = make_rng(3)
    for _ in range(10):
        chain = chains.start_chain("random", 5, rng, ratio=3.0)
        share = 0.999 * (chain.max_reach - chain.min_reach)
        target = chains.target_at(chain, chain.min_reach + share, chains.random_direction(rng))
        residuals = [
            chains.solved(chain, target, solver, tolerance=0.0, iterations=cap).residual
            for cap in range(1, 12)
        ]
        # More iterations never make it worse, except for rounding.
        assert np.all(np.diff(residuals) <= 1e-13 * chain.max_reach)


# The least distance between the target's path and the root, as a share of the length.
PASSING_DISTANCE = 0.005


@pytest.mark.parametrize("count", [3, 5])
def test_a_target_that_passes_the_root_does_not_throw_the_joints_of_ccd(count):
    rng = make_rng(0)
    frame = chains.random_frame(rng)
    chain = Chain(chains.start_joints("arc", np.ones(count), rng), frame[:, 2])
    # Steps of 1/300 of the length.
    path = np.linspace(0.1, -0.1, 61)[:, None] * frame[:, 0] + PASSING_DISTANCE * frame[:, 1]
    targets = chain.joint_positions[0] + chain.max_reach * path
    poses = [chains.solved(chain, target, CCD).joint_positions for target in targets]
    moves = np.linalg.norm(np.diff(poses, axis=0), axis=-1)
    # The direction to the target turns by half a turn within three steps. In a chain that follows
    # it, one of these steps moves a joint by 0.2 to 0.5 of the length.
    assert np.max(moves) <= 0.15 * chain.max_reach


@pytest.mark.parametrize("m", [FLOATS, ARRAYS], ids=["floats", "arrays"])
def test_the_best_pose_is_returned_and_not_the_last(m):
    """Sweeps inside limits may lead away from a better pose."""
    start, target, tolerance, cap = (
        (value if m is FLOATS else np.full(2, value)) for value in (0.0, 2.4, 0.1, 5)
    )

    def step(_arithmetic, _chain, state, goal):
        return state + 1.0, abs(state + 1.0 - goal)

    progress = Progress(start, start, target - start, 0 * cap)
    result = iterate(m, Method(step), Work(None, target, tolerance, cap), progress)
    assert np.all(result.best == 2.0)
    assert np.all(result.used == 5)
