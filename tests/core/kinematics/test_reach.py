"""A reachable target is reached; an unreachable one gives the closest pose."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import Chain, Solver, Status
from tests.core import chains
from tests.helpers import assert_positions_close, make_rng

# Accepted distance as a share of the chain's length: ten times finer than float32 storage.
TOLERANCE = 1e-8
# What the iterative solvers promise where float64 itself limits them: near full reach a step of
# this size across the chord changes its length by its square only.
ROUNDING = 1e-12
# The longest segment against the shortest, as in the published measurements of NEWTON.
UNEVEN = 9.0
# Where between the dead zone (0) and full reach (1) targets lie; both ends are reachable.
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
    """Return the target at a share of the way from the dead zone's edge to full reach."""
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
            pytest.param(*each, marks=pytest.mark.slow)
            for each in ((10, Solver.CCD), (100, Solver.CCD), (300, Solver.FABRIK))
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
    # Three bones on one line, the longest of them longer than the two others by a trifle.
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


# Small whole numbers make what random numbers never do: chains exactly straight, folded, closed or
# crossing themselves, targets exactly on a joint, on a segment or at full reach.
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
