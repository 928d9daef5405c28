"""Bone rotations: hinges stay hinges, and nothing twists that need not."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import Chain, Goal, Solver, Status, bone_rotations
from blender_ik_addon.core.algebra import rotation
from tests.core.chains import (
    SOLVERS,
    pole_beside,
    random_direction,
    random_frame,
    solved,
    start_chain,
    target_at,
    unit,
)
from tests.helpers import assert_rotations_close, make_rng

# The part of a unit quaternion that turns about another axis than the hinge's.
HINGE_TOLERANCE = 1e-9


def turns_seen_from_the_parent(rotations):
    return rotation.multiply(rotation.conjugate(rotations[:-1]), rotations[1:])


def off_hinge(turns, axis):
    """Return how far turns are from turning about the axis alone."""
    return np.max(np.linalg.norm(turns[:, 1:] - (turns[:, 1:] @ axis)[:, None] * axis, axis=1))


def bent_limb(rng, degrees, ratio):
    """Return a two-bone chain bent by some degrees, and its bend normal."""
    frame = random_frame(rng)
    bend = np.radians(degrees)
    upper, lower = frame[:, 0], np.cos(bend) * frame[:, 0] + np.sin(bend) * frame[:, 1]
    root = rng.normal(size=3)
    return Chain(np.array([root, root + upper, root + upper + ratio * lower])), frame[:, 2]


# Sweeps end within their tolerance of the target: seen from the root at a hundredth of the length,
# and again over a limb bent by a degree, that tilts the plane of the bend by so much.
SWEEP_HINGE_TOLERANCE = 1e-5


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=60)
@given(
    seed=st.integers(0, 100_000),
    degrees=st.floats(1.0, 175.0),
    ratio=st.floats(0.3, 3.0),
    share=st.floats(0.01, 1.2),
    pole_angle=st.floats(-7.0, 7.0),
    use_flip_bend=st.booleans(),
    use_pole=st.booleans(),
)
def test_an_elbow_bends_about_its_hinge_with_a_pole_and_without(
    solver, seed, degrees, ratio, share, pole_angle, use_flip_bend, use_pole
):
    rng = make_rng(seed)
    chain, normal = bent_limb(rng, degrees, ratio)
    target = target_at(chain, share * chain.max_reach, random_direction(rng))
    is_sweep = solver in (Solver.FABRIK, Solver.CCD, Solver.FORCE)
    # Sweeps choose a side of their own where no pole is set.
    pole = pole_beside(chain, target, rng) if use_pole or is_sweep else None
    goal = Goal(target, pole, pole_angle)
    solution = solved(chain, goal, solver, 1e-9 if is_sweep else 1e-6, use_flip_bend=use_flip_bend)
    turns = turns_seen_from_the_parent(bone_rotations(chain, solution))
    assert off_hinge(turns, normal) <= (SWEEP_HINGE_TOLERANCE if is_sweep else HINGE_TOLERANCE)


@pytest.mark.parametrize("use_flip_bend", [False, True])
@pytest.mark.parametrize("solver", [Solver.TWO_BONE, Solver.NEWTON])
@pytest.mark.parametrize("ratio", [0.4, 2.5])
def test_an_elbow_stays_a_hinge_even_if_it_folds_flat(solver, ratio, use_flip_bend):
    for seed in range(5):
        rng = make_rng(seed)
        frame = random_frame(rng)
        upper = frame[:, 0]
        straight = Chain(np.array([0.0 * upper, upper, (1.0 + ratio) * upper]), frame[:, 1])
        for chain in (straight, bent_limb(rng, 30.0, ratio)[0]):
            segments = np.diff(chain.joint_positions, axis=0)
            normal = frame[:, 2] if chain is straight else unit(np.cross(*segments))
            target = target_at(chain, 0.1 * chain.max_reach, random_direction(rng))
            goal = Goal(target, pole_beside(chain, target, rng))
            solution = solved(chain, goal, solver, use_flip_bend=use_flip_bend)
            assert solution.status is Status.FOLDED
            turns = turns_seen_from_the_parent(bone_rotations(chain, solution))
            assert off_hinge(turns, normal) <= HINGE_TOLERANCE


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_straight_chain_swings_without_twist(solver):
    chain = Chain(np.array([[0.0, 0, 0], [0, 1, 0], [0, 2, 0]]), bend_direction=(0.0, 0, 1))
    toward = unit([1.0, 1.0, 0.0])
    rotations = bone_rotations(chain, solved(chain, 5.0 * toward, solver))
    expected = rotation.between(np.array([0.0, 1.0, 0.0]), toward)
    assert_rotations_close(rotations, np.tile(expected, (2, 1)), 1e-12)


@settings(max_examples=30)
@given(seed=st.integers(0, 100_000))
def test_bones_swing_from_the_turn_of_the_chain_without_twist(seed):
    rng = make_rng(seed)
    chain = start_chain("random", 4, rng)
    target = target_at(chain, 0.5 * chain.max_reach, random_direction(rng))
    assume(chain.min_reach < 0.5 * chain.max_reach)
    solution = solved(chain, target, Solver.NEWTON)
    rotations = bone_rotations(chain, solution)
    before = np.vstack((solution.chain_rotation_wxyz, rotations[:-1]))
    start = unit(np.diff(chain.joint_positions, axis=0))
    # Seen from the parent, a bone turns about an axis across itself: there is no twist in it.
    turns = rotation.multiply(rotation.conjugate(before), rotations)
    assert np.max(np.abs(np.sum(turns[:, 1:] * start, axis=1))) <= 1e-9
