"""How joints ease: by one law at any frame rate, into their ranges, and never past their aim."""

import math

import numpy as np
import pytest

from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.rig.posing.easing import JointPose, eased
from blender_ik_addon.rig.reading.spec import Easing

EASINGS = [Easing(0.2), Easing(0.4, 1.5), Easing(0.0, 2.0), Easing(0.05)]
every_easing = pytest.mark.parametrize("easing", EASINGS, ids=str)
# Of one joint: a turn about an axis of no importance, and a slide that counts as 2 a radian.
AXIS, SIZE = np.array([0.36, 0.48, 0.8]), 2.0


def stance(angle: float) -> JointPose:
    """Return one joint turned and slid away from rest."""
    half = 0.5 * angle
    turn = np.concatenate(([math.cos(half)], math.sin(half) * AXIS))
    return JointPose(turn[None, None], np.array([[SIZE * angle]]))


def angles(at: JointPose) -> tuple[float, float]:
    """Return how far the joint is turned, and slid in radians."""
    vector = rotation.vector_from_quaternion(at.turn)[0, 0]
    return float(vector @ AXIS), float(at.way[0, 0]) / SIZE


@every_easing
@pytest.mark.parametrize("seconds", [1.0 / 24.0, 0.5, 1.3])
def test_what_is_left_goes_by_the_law(easing, seconds):
    left, steps = 2.0, 20_000
    for _ in range(steps):
        speed = easing.fastest if easing.ease == 0.0 else min(left / easing.ease, easing.fastest)
        left = max(0.0, left - speed * seconds / steps)
    aim = stance(0.7)
    sizes = np.full((1, 1), SIZE)
    found = angles(eased(stance(0.7 - 2.0), aim, aim, sizes, easing, seconds, lambda turn: turn))
    np.testing.assert_allclose(found, 0.7 - left, atol=2e-4)
    assert max(found) <= 0.7 + 1e-12, "none goes past its aim"


def test_turns_stay_in_their_ranges_on_the_way():
    low = stance(-0.1).turn
    aim, sizes = stance(1.0), np.ones((1, 1))
    found = eased(stance(-0.5), aim, aim, sizes, Easing(1.0), 0.05, lambda t: np.maximum(t, low))
    assert (found.turn >= low - 1e-12).all()
