"""Every rotation mode: the target is reached, channels do not flip, locked ones stay."""

import numpy as np
import pytest
from mathutils import Quaternion

from tests.blender.setups import rigs, scaled_rigs
from tests.helpers import make_rng

# Thorough: thousands of solves, left out of the quick subset.
pytestmark = pytest.mark.slow

MISS = 1e-6


@pytest.mark.parametrize("solver", ["FABRIK", "CCD", "NEWTON"])
@pytest.mark.parametrize("seed", range(2))
def test_each_bone_may_have_a_mode_of_its_own(solver, seed):
    rng = make_rng(seed)
    ob, bones = scaled_rigs.random_rig(rng, 8, above=0)
    for bone, mode in zip(bones, rng.permutation(rigs.ROTATION_MODES), strict=True):
        ob.pose.bones[bone].rotation_mode = mode
    rigs.turn_bones(ob, seed + 1)
    length = scaled_rigs.limb_length(ob, bones)
    tolerance, direction = 1e-7 * length, rng.normal(size=3) + np.array([0.0, 0.0, 1.0])
    point = direction / np.linalg.norm(direction) * rng.uniform(0.3, 0.9) * length
    chain, target = scaled_rigs.follow(ob, bones, point, solver=solver, tolerance=tolerance)
    assert scaled_rigs.miss(ob, bones, target) <= MISS, chain.status


def channels_along_a_ring(mode, solver, steps=60):
    """Return the channels (steps + 1, bones, 3 or 4) while the target goes around once.

    The ring stays clear of where a mode itself has no neighbour: gimbal lock of Euler angles, and
    the turn by zero of axis-angle, which has no axis.
    """
    ob = rigs.make_rig(rigs.zigzag(2 if solver == "TWO_BONE" else 4), modes=mode)
    bones = list(ob.pose.bones.keys())
    rigs.turn_bones(ob, seed=2, angle=0.6)
    reach = scaled_rigs.limb_length(ob, bones)
    _, target = scaled_rigs.follow(ob, bones, np.array([0.0, 0.0, 1.0]), solver=solver)
    seen = []
    for angle in np.linspace(0.0, 2.0 * np.pi, steps + 1):
        ring = (0.3 + 0.15 * np.sin(angle), 0.4 + 0.15 * np.cos(angle), 0.4 + 0.1 * np.sin(angle))
        target.location = np.multiply(ring, reach)
        scaled_rigs.update()
        seen.append(list(rigs.rotations(ob).values()))
        assert scaled_rigs.miss(ob, bones, target) <= 1e-4
    return np.array(seen)


@pytest.mark.parametrize(
    ("mode", "solver"),
    [
        *((mode, "TWO_BONE") for mode in rigs.ROTATION_MODES[::2]),
        *((mode, "NEWTON") for mode in rigs.ROTATION_MODES[1::2]),
        ("QUATERNION", "FABRIK"),
        ("XYZ", "CCD"),
    ],
)
def test_channels_do_not_flip_along_a_path(mode, solver):
    seen = channels_along_a_ring(mode, solver)
    # The target moves 0.015 of the reach a step; a flip is a jump of 2 (quaternion) or pi.
    largest = np.abs(np.diff(seen, axis=0)).max()
    assert largest < 0.2, f"largest step of a channel: {largest:.3g}"
    np.testing.assert_allclose(seen[-1], seen[0], atol=1e-5)


def test_axis_angle_from_rest_keeps_its_side_while_the_target_goes_around():
    """A bone at rest has the angle 0, and every swing of it has its axis across Blender's Y."""
    ob = rigs.make_rig(modes="AXIS_ANGLE")
    bones = list(ob.pose.bones.keys())
    _, target = scaled_rigs.follow(ob, bones, np.array([1.2, 0.0, 0.9]), solver="TWO_BONE")
    seen = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 73):
        target.location = (1.2 * np.cos(angle), 1.2 * np.sin(angle), 0.9)
        scaled_rigs.update()
        seen.append(np.array(rigs.rotations(ob)["Bone.0"]))
    largest = np.abs(np.diff(seen, axis=0)).max()
    assert largest < 0.3, f"largest step of a channel: {largest:.3g}"


@pytest.mark.parametrize("mode", rigs.ROTATION_MODES[:7])
def test_channels_stay_on_the_turn_or_side_that_the_animator_chose(mode):
    ob = rigs.make_rig(modes=mode)
    bone = ob.pose.bones["Bone.0"]
    bone.rotation_euler = (0.2, 4.0 * np.pi + 0.1, -0.1)
    bone.rotation_quaternion = -Quaternion((0.98, 0.1, 0.1, 0.1)).normalized()
    before = np.array(rigs.rotations(ob)["Bone.0"])
    scaled_rigs.follow(ob, ["Bone.0", "Bone.1"], rigs.tail(ob, "Bone.1"))
    np.testing.assert_allclose(np.array(rigs.rotations(ob)["Bone.0"]), before, atol=1e-4)


def test_a_quaternion_that_is_not_of_length_one_is_taken_as_its_rotation():
    ob = rigs.make_rig()
    ob.pose.bones["Bone.0"].rotation_quaternion = (3.0, 0.3, -0.6, 0.9)
    ob.pose.bones["Bone.1"].rotation_quaternion = (0.0, 0.0, 0.0, 0.0)
    bones = ["Bone.0", "Bone.1"]
    chain, target = scaled_rigs.follow(ob, bones, np.array([0.7, 0.4, 1.0]), tolerance=1e-7)
    assert scaled_rigs.miss(ob, bones, target) <= MISS, chain.status
