"""Reachable targets are reached; others give the closest pose, without jumps in between."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import Chain, Goal, SolveOptions, Solver, Status, solve
from tests.core import chains
from tests.core.limited_rigs import K, X, Z, make_rig
from tests.helpers import assert_positions_close, make_rng, vector_angles

# Accepted distance as a share of the chain's length: ten times finer than float32 storage.
TOLERANCE = 1e-8
# The precision of iterative solvers in float64, a share of the length: near full reach a step of
# this size across the chord changes the chord's length only by its square.
ROUNDING = 1e-12
# The ratio of the longest segment to the shortest, as in the published measurements of NEWTON.
UNEVEN = 9.0
# Distances of targets between the dead zone's edge (0) and full reach (1); both are reachable.
SHARES_OF_REACH = (0.0, 1e-6, 0.05, 0.6, 0.999, 1.0)
# The largest coordinate that Blender can store.
LARGEST_FLOAT32 = float(np.finfo(np.float32).max)

COUNTS_AND_SOLVERS = chains.counts_and_solvers(2, 3, 10)
every_solver = pytest.mark.parametrize(("count", "solver"), chains.EVERY_SOLVER)


def assert_reached(chain, target, solver):
    solution = chains.solved(chain, target, solver, tolerance=TOLERANCE)
    distance = np.linalg.norm(solution.joint_positions[-1] - target)
    place = (np.linalg.norm(target - chain.joint_positions[0]) - chain.min_reach) / (
        chain.max_reach - chain.min_reach
    )
    assert distance <= (TOLERANCE + ROUNDING) * chain.max_reach, (
        f"{solution.status} after {solution.iterations} iterations at share {place} of reach"
    )
    assert solution.status is Status.REACHED
    assert solution.is_converged


def at_share(chain, share, direction):
    """Return the target at a share of the distance from the dead zone's edge to full reach."""
    distance = chain.min_reach + share * (chain.max_reach - chain.min_reach)
    return chains.target_at(chain, distance, direction)


@pytest.mark.parametrize("pose", chains.POSES)
@pytest.mark.parametrize("ratio", [1.0, UNEVEN])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_reachable_target_is_reached(count, solver, ratio, pose):
    rng = make_rng(count)
    chain = chains.start_chain(pose, count, rng, ratio)
    for share in SHARES_OF_REACH:
        assert_reached(chain, at_share(chain, share, chains.random_direction(rng)), solver)


@pytest.mark.parametrize("pose", ["random", "straight"])
@pytest.mark.parametrize(
    ("count", "solver"),
    [
        *chains.counts_and_solvers(100),
        (300, Solver.NEWTON),
        *(
            pytest.param(*case, marks=pytest.mark.slow)
            for case in ((10, Solver.CCD), (100, Solver.CCD), (300, Solver.FABRIK))
        ),
    ],
)
def test_reachable_target_is_reached_by_long_chains(count, solver, pose):
    rng = make_rng(count)
    chain = chains.start_chain(pose, count, rng, UNEVEN)
    for share in (0.05, 0.6, 0.999):
        assert_reached(chain, at_share(chain, share, chains.random_direction(rng)), solver)


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (1.0, 2.0, -2.0)], ids=["exact", "rounded"])
@pytest.mark.parametrize("is_folded", [False, True], ids=["straight", "folded"])
@pytest.mark.parametrize(("count", "solver"), COUNTS_AND_SOLVERS)
def test_target_on_the_line_of_a_chain_is_reached(count, solver, is_folded, axis):
    axis = chains.unit(axis)
    steps = np.where(np.arange(count) % 2, -1.0 if is_folded else 1.0, 1.0)
    chain = Chain(np.concatenate(([0.0], np.cumsum(steps)))[:, None] * axis)
    for toward in (1.0, -1.0):
        for share in (1e-7, 0.1, 0.999):
            assert_reached(chain, at_share(chain, share, toward * axis), solver)


@pytest.mark.parametrize("beyond", [1e-6, 1e-2])
@pytest.mark.parametrize("angle", [0.1, 1.9])
@pytest.mark.parametrize("solver", chains.ITERATIVE)
def test_target_just_outside_a_tiny_dead_zone_is_reached(solver, angle, beyond):
    # Three bones on one line; the longest is slightly longer than the two others together.
    chain = Chain(np.array([0.0, -2.0, -0.4, -4.001])[:, None] * np.eye(3)[0], (0.0, 1.0, 0.0))
    toward = np.array([np.cos(angle), np.sin(angle), 0.0])
    assert_reached(chain, chain.min_reach * (1.0 + beyond) * toward, solver)


@pytest.mark.parametrize("pose", ["straight", "random", "closed"])
@pytest.mark.parametrize(("count", "solver"), [(1, chains.ITERATIVE[-1]), *chains.EVERY_SOLVER])
def test_target_too_far_straightens_the_chain_toward_it(count, solver, pose):
    rng = make_rng(count)
    chain = chains.start_chain(pose, count, rng, UNEVEN)
    for excess in (1e-6, 0.1, LARGEST_FLOAT32):
        toward = chains.random_direction(rng)
        target = chains.target_at(chain, chain.max_reach * (1.0 + excess), toward)
        solution = chains.solved(chain, target, solver, tolerance=TOLERANCE)
        travelled = np.concatenate(([0.0], np.cumsum(chain.segment_lengths)))
        straight = chain.joint_positions[0] + travelled[:, None] * toward
        assert_positions_close(solution.joint_positions, straight, ROUNDING * chain.max_reach)
        assert solution.status is Status.EXTENDED
        assert solution.residual == pytest.approx(chain.max_reach * excess, rel=1e-9)


@pytest.mark.parametrize("longest", [0, 1])
@every_solver
def test_target_in_the_dead_zone_folds_the_chain_toward_it(count, solver, longest):
    rng = make_rng(count)
    lengths = np.ones(count)
    lengths[longest] = count + 1.0
    joints = np.vstack(
        (np.zeros(3), np.cumsum(lengths[:, None] * chains.random_direction(rng), axis=0))
    )
    chain = Chain(joints)
    assert chain.min_reach == pytest.approx(2.0)
    for share in (1e-6, 0.3, 0.999):
        toward = chains.random_direction(rng)
        target = share * chain.min_reach * toward
        solution = chains.solved(chain, target, solver, tolerance=TOLERANCE)
        signs = np.where(np.arange(count) == longest, 1.0, -1.0)
        folded = (signs * lengths)[:, None] * toward
        assert_positions_close(
            chains.segments_of(solution.joint_positions), folded, ROUNDING * count
        )
        assert solution.status is Status.FOLDED
        assert solution.residual == pytest.approx((1.0 - share) * chain.min_reach, abs=ROUNDING)


@every_solver
def test_target_on_the_root_of_a_dead_zone_keeps_the_chord(count, solver):
    lengths = np.ones(count)
    lengths[-1] = count + 1.0
    rng = make_rng(count)
    joints = np.cumsum(lengths[:, None] * chains.unit(rng.normal(size=(count, 3))), axis=0)
    chain = Chain(np.vstack((np.zeros(3), joints)))
    solution = chains.solved(chain, np.zeros(3), solver)
    expected = chain.min_reach * chains.unit(joints[-1])
    assert_positions_close(solution.joint_positions[-1], expected, ROUNDING * chain.max_reach)
    assert solution.status is Status.FOLDED


# Small whole numbers give cases that random numbers never give: chains exactly straight, folded,
# closed or crossing themselves, targets exactly on a joint, on a segment or at full reach.
whole_vector = st.tuples(*[st.integers(-3, 3)] * 3)


@pytest.mark.parametrize("solver", chains.SOLVERS)
@settings(max_examples=40)
@given(st.lists(whole_vector.filter(any), min_size=1, max_size=6), whole_vector)
@example([(0, 0, 1)] * 3, (0, 0, 0))
def test_residual_is_the_distance_out_of_reach(solver, segments, target):
    assume(solver is not Solver.TWO_BONE or len(segments) >= 2)
    if solver is Solver.TWO_BONE:
        segments = segments[:2]
    chain = Chain(np.vstack((np.zeros(3), np.cumsum(segments, axis=0, dtype=float))))
    solution = chains.solved(chain, np.array(target, float), solver, tolerance=TOLERANCE)
    distance = np.linalg.norm(target)
    out_of_reach = max(0.0, distance - chain.max_reach, chain.min_reach - distance)
    assert solution.residual <= out_of_reach + (TOLERANCE + ROUNDING) * chain.max_reach
    error = np.abs(chains.lengths_of(solution.joint_positions) - chain.segment_lengths)
    assert np.max(error) <= ROUNDING * chain.max_reach


def eased(distance, reach, soft):
    """Return the softened distance, by the formula in docs/behaviour.md."""
    start = reach - soft
    excess = np.maximum(distance - start, 0.0)
    return np.where(excess > 0.0, start + soft * (1.0 - np.exp(-excess / soft)), distance)


def options_for(chain, solver, soft, **others):
    """Return options; the soft distance is a share of the reach."""
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
    targets = [chains.target_at(chain, distance, direction) for distance in distances]
    options = options_for(chain, Solver.TWO_BONE, soft)
    joints = np.array([solve(chain, Goal(place), options).joint_positions for place in targets])
    bends = vector_angles(*np.moveaxis(np.diff(joints, axis=1), 1, 0))
    speeds = np.abs(np.diff(bends) / np.diff(distances))
    bound = np.sqrt(chain.max_reach / (2.0 * first * second * zone))
    assert speeds.max() <= bound * (1.0 + soft)
    # The closed form assumes a short zone. The bound is tight: the elbow almost attains it.
    assert speeds.max() >= 0.9 * bound


@every_solver
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_the_effector_stops_where_the_formula_says_and_the_residual_agrees(count, solver, ratio):
    rng = make_rng(20 + count)
    chain = chains.start_chain("random", count, rng, ratio)
    soft = 0.1 if chain.min_reach < 0.7 * chain.max_reach else 0.02
    direction = chains.random_direction(rng)
    options = options_for(chain, solver, soft)
    for share in (0.85, 0.93, 0.99, 1.0 - 1e-9):
        distance = share * chain.max_reach
        solution = solve(chain, Goal(chains.target_at(chain, distance, direction)), options)
        softened = eased(distance, chain.max_reach, soft * chain.max_reach)
        expected = chains.target_at(chain, softened, direction)
        tolerance = 2.0 * options.tolerance
        assert_positions_close(solution.joint_positions[-1], expected, tolerance)
        assert solution.residual == pytest.approx(distance - softened, abs=tolerance)
        assert solution.status is (Status.SOFTENED if softened < distance else Status.REACHED)
        np.testing.assert_allclose(
            chains.lengths_of(solution.joint_positions), chain.segment_lengths
        )


@pytest.mark.parametrize("solver", chains.SOLVERS)
def test_with_a_tip_rotation_the_soft_zone_is_that_of_the_bones_before_the_tip(solver):
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
    softened = eased(0.98 * reach, reach, options.soft_distance)
    assert solution.residual == pytest.approx(0.98 * reach - softened, abs=1e-8)
    assert_positions_close(solution.joint_positions[-1] - solution.joint_positions[-2], tip)
    assert solution.status is Status.SOFTENED


@pytest.mark.parametrize("solver", chains.ITERATIVE)
def test_chains_with_joints_are_softened_in_the_same_way(solver):
    bends = [(X, 0), (X, 20), (Z, -15), (X, 10)]
    sides = [(K.SWING, ((-75, 75),) * 2)] * 3
    chain = make_rig([(K.BALL, ((-75, 75),) * 3), *sides], bends=bends).chain()
    direction = chains.unit(chain.joint_positions[-1])
    options = options_for(chain, solver, 0.1)
    for share in (0.89, 0.95, 1.0 - 1e-9, 1.2):
        distance = share * chain.max_reach
        solution = solve(chain, Goal(distance * direction), options)
        softened = eased(distance, chain.max_reach, options.soft_distance)
        assert_positions_close(solution.joint_positions[-1], softened * direction, 1e-6)
        expected = Status.SOFTENED if softened < distance else Status.REACHED
        assert solution.status is (Status.EXTENDED if share > 1.0 else expected)


def test_the_soft_zone_does_not_change_dead_zones():
    # The range from folded, 0.98 of the reach, to straight is shorter than the soft distance.
    chain = Chain(np.array([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.01, 1.0, 0.0]]))
    middle = 0.5 * (chain.min_reach + chain.max_reach)
    goal = Goal(np.array([0.0, middle, 0.0]))
    options = SolveOptions(solver=Solver.TWO_BONE, soft_distance=0.5, tolerance=1e-9)
    assert solve(chain, goal, options).status is Status.REACHED


@pytest.mark.parametrize("ulps", range(-4, 5))
def test_rounding_does_not_decide_whether_a_chain_at_full_reach_is_straight(ulps):
    """Once chains that had grown to their targets bent by a degree at many frames."""
    joints = np.cumsum(((0.0, 0.0, 0.0), (0.05, 0.0, 0.0), (0.02, 0.02, 0.0), (0.02, 0.0, 0.01)), 0)
    chain = Chain(joints, (0.0, 0.0, 1.0))
    distance = chain.max_reach * (1.0 + ulps * np.finfo(float).eps)
    solution = chains.solved(chain, (0.0, distance, 0.0), Solver.NEWTON, tolerance=1e-5)
    assert solution.status is Status.REACHED
    assert np.abs(solution.joint_positions[:, (0, 2)]).max() < TOLERANCE * chain.max_reach
