"""Chains that lie in a plane: NEWTON there takes the same steps as in space, in fewer numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import Chain, newton, planar_newton, single_newton, single_planar
from blender_ik_addon.core.start import IN_PLANE, started
from blender_ik_addon.core.vectors import laid
from tests.core.chains import start_chain, start_joints, uneven_lengths
from tests.helpers import make_rng

EXACT = 1e-12
POSES = ("straight", "folded", "arc", "closed")
counts = pytest.mark.parametrize("count", [2, 3, 10, 50])


def in_space(start):
    """Return the start pose of one chain without the knowledge that it is flat."""
    spatial = object.__new__(type(start))
    spatial.__dict__.update(start.__dict__, flat=None)
    return spatial


def planar_joints(count, rng, ratio=3.0):
    """Return the joints of a chain whose segments point anywhere in one plane."""
    angles = rng.uniform(-1.2, 1.2, count)
    frame = np.linalg.qr(rng.normal(size=(3, 3)))[0][:, :2]
    segments = np.stack((np.cos(angles), np.sin(angles)), axis=1) @ frame.T
    segments *= uneven_lengths(count, ratio, rng)[:, None]
    return np.vstack((np.zeros(3), np.cumsum(segments, axis=0))) + rng.normal(size=3)


@counts
@pytest.mark.parametrize("pose", POSES)
def test_poses_in_a_plane_are_known_to_be_flat(pose, count):
    for seed in range(5):
        chain = start_chain(pose, count, make_rng(seed), 3.0)
        assert chain.start.is_flat
        assert chain.single_start.flat is not None


@pytest.mark.parametrize("off", [1e-13, 1e-9, 1e-3])
def test_a_pose_that_leaves_its_plane_is_not_flat(off):
    joints = planar_joints(10, make_rng(1))
    normal = np.cross(joints[3] - joints[0], joints[6] - joints[0])
    joints[4] += off * Chain(joints).max_reach * normal / np.linalg.norm(normal)
    chain = Chain(joints)
    assert chain.start.off_plane[0] == pytest.approx(off, rel=0.5)
    assert not chain.start.is_flat
    assert chain.single_start.flat is None


@given(seed=st.integers(0, 100_000), count=st.integers(2, 30), distance=st.floats(0.3, 0.98))
def test_a_step_in_a_plane_is_the_step_in_space(seed, count, distance):
    rng = make_rng(seed)
    start = started(planar_joints(count, rng)[:, :, None], np.zeros((3, 1)))
    flat = laid(start.lengths[:, None] * start.directions[:, :2])
    spatial = np.concatenate((flat, np.zeros_like(flat[:, :1])), axis=1)
    goal = np.array([[distance * start.reach[0]], [0.0], [0.0]])
    damping = np.array([10.0 ** rng.uniform(-4.0, 1.0)])
    expected, expected_damping = newton.step(spatial, start.lengths, goal, damping)
    found, next_damping = planar_newton.step(flat, start.lengths, goal[:2], damping)
    np.testing.assert_allclose(found, expected[:, :2], rtol=0.0, atol=EXACT)
    assert np.abs(expected[:, 2]).max() == 0.0
    assert next_damping == pytest.approx(expected_damping, rel=EXACT)


@settings(max_examples=200)
@given(seed=st.integers(0, 100_000), count=st.integers(2, 30), share=st.floats(0.01, 0.99))
def test_one_chain_in_a_plane_takes_the_pose_that_it_takes_in_space(seed, count, share):
    start = Chain(planar_joints(count, make_rng(seed))).single_start
    distance = start.least + share * (start.reach - start.least)
    found, used = single_newton.solved(start, distance, 1e-9, 50)
    expected, expected_used = single_newton.solved(in_space(start), distance, 1e-9, 50)
    assert used == expected_used
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=EXACT)


def test_lengths_are_kept_over_many_steps():
    start = Chain(start_joints("arc", np.ones(300), make_rng(2))).single_start
    directions, used = single_newton.found(single_planar, start, 0.2 * start.reach, 0.0, 40)
    assert used > 5
    np.testing.assert_allclose(np.abs(directions), 1.0, rtol=0.0, atol=IN_PLANE)
