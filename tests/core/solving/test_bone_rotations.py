"""Bone rotations: hinges stay hinges, and bones do not twist without need."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import Chain, Goal, Solver, bone_rotations
from blender_ik_addon.core.algebra import rotation
from tests.core import chains
from tests.helpers import make_rng

# The largest part of a unit quaternion that turns about another axis than the hinge's.
HINGE_TOLERANCE = 1e-9


# Sweeps end within their tolerance of the target. This error tilts the plane of the bend by up to
# so much: for a target at a hundredth of the length, and a limb bent by a degree.
SWEEP_HINGE_TOLERANCE = 1e-5


@pytest.mark.parametrize("solver", chains.SOLVERS)
@settings(max_examples=40)
@given(
    seed=st.integers(0, 100_000),
    degrees=st.just(0.0) | st.floats(1.0, 175.0),
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
    frame, bend = chains.random_frame(rng), np.radians(degrees)
    upper, lower = frame[:, 0], np.cos(bend) * frame[:, 0] + np.sin(bend) * frame[:, 1]
    root = rng.normal(size=3)
    joints = np.array([root, root + upper, root + upper + ratio * lower])
    chain, normal = Chain(joints, bend_direction=frame[:, 1]), frame[:, 2]
    target = chains.target_at(chain, share * chain.max_reach, chains.random_direction(rng))
    is_sweep = solver in (Solver.FABRIK, Solver.CCD, Solver.FORCE)
    # Without a pole sweeps choose another side.
    pole = chains.pole_beside(chain, target, rng) if use_pole or is_sweep else None
    goal = Goal(target, pole, pole_angle)
    solution = chains.solved(
        chain, goal, solver, 1e-9 if is_sweep else 1e-6, use_flip_bend=use_flip_bend
    )
    upper, lower = bone_rotations(chain, solution)
    axis = rotation.multiply(rotation.conjugate(upper), lower)[1:]
    off_hinge = np.linalg.norm(axis - (axis @ normal) * normal)
    assert off_hinge <= (SWEEP_HINGE_TOLERANCE if is_sweep else HINGE_TOLERANCE)


@settings(max_examples=30)
@given(seed=st.integers(0, 100_000))
def test_bones_swing_from_the_turn_of_the_chain_without_twist(seed):
    rng = make_rng(seed)
    chain = chains.start_chain("random", 4, rng)
    target = chains.target_at(chain, 0.5 * chain.max_reach, chains.random_direction(rng))
    assume(chain.min_reach < 0.5 * chain.max_reach)
    solution = chains.solved(chain, target, Solver.NEWTON)
    rotations = bone_rotations(chain, solution)
    before = np.vstack((solution.chain_rotation_wxyz, rotations[:-1]))
    start = chains.unit(np.diff(chain.joint_positions, axis=0))
    # Relative to its parent a bone turns about an axis across itself, so without twist.
    turns = rotation.multiply(rotation.conjugate(before), rotations)
    assert np.max(np.abs(np.sum(turns[:, 1:] * start, axis=1))) <= 1e-9
