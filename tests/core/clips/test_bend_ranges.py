"""Joints that bend one way in a whole clip have ranges without straight and reversed poses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.clips.bend_ranges import LEAST_BEND_SHARE, BendRanges
from tests.core.chains import Array
from tests.helpers import assert_rotations_close, make_rng

FRAMES = 12
UP = np.array([0.0, 1.0, 0.0])
ROUNDING = 1e-9


def hinged(angles: Array) -> Array:
    """Return rotations (F, 2, 4) of two bones along Y; the second turns about X by angles (F,)."""
    turns = np.zeros((len(angles), 2, 3))
    turns[:, 1, 0] = angles
    return rotation.quaternion_from_vector(turns)


def ranges_of(local: Array) -> BendRanges:
    """Return the ranges of the second bone, which hangs under the first."""
    above = np.tile(UP, (len(local), 1, 1))
    return BendRanges.of(np.array([1]), above, rotation.rotate(local[:, 1:], above), local)


@given(st.integers(0, 10**6), st.floats(0.01, 1.2), st.sampled_from([-1.0, 1.0]))
def test_poses_of_the_clip_stay_and_others_bend_to_the_same_side(seed, least, side):
    rng = make_rng(seed)
    bends = least + (2.6 - least) * rng.random(FRAMES)
    ranges = ranges_of(hinged(side * bends))
    assert_rotations_close(ranges.hold(hinged(side * bends)), hinged(side * bends), ROUNDING)
    others = rotation.normalize(rng.normal(size=(FRAMES, 2, 4)))
    held = ranges.hold(others)
    sines = rotation.rotate(held[:, 1], UP)[:, 2] * side
    assert (sines >= LEAST_BEND_SHARE * np.sin(bends).min() - ROUNDING).all()
    assert_rotations_close(ranges.hold(held), held, 1e-6)
    np.testing.assert_array_equal(held[:, 0], others[:, 0])


@pytest.mark.parametrize(
    "angles", [(0.5, -0.1), (0.0, 0.0), (0.5, 3.0)], ids=["both ways", "straight", "folded"]
)
def test_joints_that_bend_both_ways_or_fold_have_no_range(angles):
    assert not ranges_of(hinged(np.array(angles))).bones.size


def test_some_frames_have_the_ranges_of_the_whole_clip():
    local = hinged(np.linspace(0.4, 1.0, FRAMES))
    part = ranges_of(local).take(np.array([3, 5]))
    straight = hinged(np.zeros(2))
    least = np.arcsin(LEAST_BEND_SHARE * np.sin(0.4))
    assert_rotations_close(part.hold(straight), hinged(np.full(2, least)), 1e-6)
