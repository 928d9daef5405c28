"""Easing of joints: one law at any frame rate, inside the ranges, and never past the aim."""

import math

import numpy as np
import pytest

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.rig.posing.easing import JointPose, eased
from blender_ik_addon.rig.reading.spec import Easing

# One joint: it turns about any axis, and slides; a slide of 2 counts as one radian.
AXIS, SIZE = np.array([0.36, 0.48, 0.8]), 2.0


def pose_at(angle: float) -> JointPose:
    """Return the pose of one joint, turned and slid by an angle from rest, radians."""
    half = 0.5 * angle
    turn = np.concatenate(([math.cos(half)], math.sin(half) * AXIS))
    return JointPose(turn[None, None], np.array([[SIZE * angle]]))


def measure(pose: JointPose) -> tuple[float, float]:
    """Return the turn of the joint, and its slide as an angle, both in radians."""
    vector = rotation.vector_from_quaternion(pose.turn)[0, 0]
    return float(vector @ AXIS), float(pose.way[0, 0]) / SIZE


@pytest.mark.parametrize(
    "easing", [Easing(0.2), Easing(0.4, 1.5), Easing(0.0, 2.0), Easing(0.05)], ids=str
)
@pytest.mark.parametrize("seconds", [1.0 / 24.0, 0.5, 1.3])
def test_the_distance_left_shrinks_by_the_law(easing, seconds):
    gap, steps = 2.0, 20_000
    for _ in range(steps):
        speed = easing.fastest if easing.ease == 0.0 else min(gap / easing.ease, easing.fastest)
        gap = max(0.0, gap - speed * seconds / steps)
    aim = pose_at(0.7)
    sizes = np.full((1, 1), SIZE)
    angles = measure(eased(pose_at(0.7 - 2.0), aim, aim, sizes, easing, seconds, lambda turn: turn))
    np.testing.assert_allclose(angles, 0.7 - gap, atol=2e-4)
    assert max(angles) <= 0.7 + 1e-12, "none goes past its aim"


def test_turns_stay_in_their_ranges_on_the_way():
    low = pose_at(-0.1).turn
    aim, sizes = pose_at(1.0), np.ones((1, 1))
    pose = eased(pose_at(-0.5), aim, aim, sizes, Easing(1.0), 0.05, lambda t: np.maximum(t, low))
    assert (pose.turn >= low - 1e-12).all()
