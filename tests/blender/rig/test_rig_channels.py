"""Rotation channels: the target is reached in every mode, none flips, and locked ones stay."""

import itertools

import numpy as np
import pytest
from mathutils import Euler, Quaternion

from tests.blender.setups import rigs, scaled_rigs

BONES = ["Bone.0", "Bone.1"]
POINT = np.array([0.9, 0.6, 0.8])
START = (0.2, -0.15, 0.3)
EULER_MODES = rigs.ROTATION_MODES[1:7]
HELD_BACK = "Held back by locked rotation channels"


def locked_rig(mode, locked, *, lock_w=None):
    """Return an arm whose first bone has these locks of its rotation channels."""
    ob = rigs.make_rig(modes=mode)
    pose_bone = ob.pose.bones["Bone.0"]
    if mode in EULER_MODES:
        pose_bone.rotation_euler = START
    elif mode == "QUATERNION":
        pose_bone.rotation_quaternion = Euler(START).to_quaternion()
    else:
        pose_bone.rotation_axis_angle = (0.4, 0.6, 0.0, 0.8)
    pose_bone.lock_rotation = locked
    # Blender's own default is True.
    pose_bone.lock_rotations_4d = lock_w is not None
    pose_bone.lock_rotation_w = bool(lock_w)
    return ob


def raw(ob, bone="Bone.0"):
    return np.array(rigs.rotations(ob)[bone])


# Quaternions and axis-angles have 4D locks here.
@pytest.mark.parametrize(
    ("mode", "axis"),
    [
        *itertools.product(EULER_MODES[::2], range(3)),
        *itertools.product(("QUATERNION", "AXIS_ANGLE"), range(4)),
    ],
)
def test_a_locked_channel_keeps_its_value_to_the_bit(mode, axis):
    is_euler = mode in EULER_MODES
    locked = [i == axis for i in range(3 if is_euler else 4)]
    lock_w = None if is_euler else locked.pop(0)
    ob = locked_rig(mode, locked, lock_w=lock_w)
    before = raw(ob)
    chain, target = scaled_rigs.follow(ob, BONES, POINT)
    assert raw(ob)[axis] == before[axis]
    assert not np.array_equal(raw(ob), before), "the free channels follow"
    if scaled_rigs.miss(ob, BONES, target) > 1e-5:
        assert chain.status.startswith(HELD_BACK), chain.status


@pytest.mark.parametrize("mode", rigs.ROTATION_MODES)
def test_a_bone_with_all_channels_locked_does_not_turn(mode):
    ob = locked_rig(mode, (True, True, True), lock_w=True)
    before = raw(ob)
    chain, _ = scaled_rigs.follow(ob, BONES, POINT)
    np.testing.assert_array_equal(raw(ob), before)
    assert chain.status.startswith(HELD_BACK), chain.status


@pytest.mark.parametrize("axis", range(3))
def test_without_4d_locks_a_lock_of_a_quaternion_means_its_euler_angle(axis):
    ob = locked_rig("QUATERNION", [i == axis for i in range(3)])
    before = raw(ob)
    scaled_rigs.follow(ob, BONES, POINT)
    assert Quaternion(raw(ob)).to_euler()[axis] == pytest.approx(START[axis], abs=1e-5)
    assert not np.array_equal(raw(ob), before), "the free angles follow"


def test_a_hinge_locked_to_its_plane_reaches_a_target_in_that_plane():
    ob = rigs.make_rig(modes="XYZ")
    rigs.set_each(ob.pose.bones, lock_rotation=(False, True, True))
    chain, target = scaled_rigs.follow(ob, BONES, np.array([0.0, 0.7, 1.0]), tolerance=1e-6)
    assert scaled_rigs.miss(ob, BONES, target) <= 1e-6
    assert chain.status.startswith("Reached"), chain.status
    for bone in BONES:
        assert tuple(raw(ob, bone)[1:]) == (0.0, 0.0)


# Largest distance to the target, as a share of the length of the limb.
MAX_MISS = 1e-6


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
    # The path avoids singularities of the modes: gimbal lock of Euler angles, and the rotation by
    # zero of axis-angle, which has no axis.
    ob = rigs.make_rig(rigs.zigzag(2 if solver == "TWO_BONE" else 4), modes=mode)
    bones = list(ob.pose.bones.keys())
    rigs.turn_bones(ob, seed=2, angle=0.6)
    reach = scaled_rigs.limb_length(ob, bones)
    _, target = scaled_rigs.follow(ob, bones, np.array([0.0, 0.0, 1.0]), solver=solver)
    path = []
    for angle in np.linspace(0.0, 2.0 * np.pi, 61):
        ring = (0.3 + 0.15 * np.sin(angle), 0.4 + 0.15 * np.cos(angle), 0.4 + 0.1 * np.sin(angle))
        rigs.change(target, location=np.multiply(ring, reach))
        path.append(list(rigs.rotations(ob).values()))
        assert scaled_rigs.miss(ob, bones, target) <= 1e-4
    # The target moves 0.015 of the reach a step; a flip is a jump of 2 (quaternion) or pi.
    largest = np.abs(np.diff(path, axis=0)).max()
    assert largest < 0.2, f"largest step of a channel: {largest:.3g}"
    np.testing.assert_allclose(path[-1], path[0], atol=1e-5)


# Chains whose bones are all in quaternion mode take a shorter path.
@pytest.mark.parametrize(
    ("mode", "other"),
    [*((mode, "QUATERNION") for mode in rigs.ROTATION_MODES[:7]), ("QUATERNION", "XYZ")],
)
def test_channels_stay_on_the_turn_or_side_that_the_animator_chose(mode, other):
    ob = rigs.make_rig(modes=(mode, other))
    bone = ob.pose.bones["Bone.0"]
    bone.rotation_euler = (0.2, 4.0 * np.pi + 0.1, -0.1)
    bone.rotation_quaternion = -Quaternion((0.98, 0.1, 0.1, 0.1)).normalized()
    before = raw(ob)
    chain, _ = scaled_rigs.follow(ob, BONES, rigs.tail(ob, "Bone.1"))
    assert chain.status.startswith("Reached"), chain.status
    np.testing.assert_allclose(raw(ob), before, atol=1e-5)


def test_a_quaternion_that_is_not_of_length_one_counts_as_its_rotation():
    ob = rigs.make_rig()
    ob.pose.bones["Bone.0"].rotation_quaternion = (3.0, 0.3, -0.6, 0.9)
    ob.pose.bones["Bone.1"].rotation_quaternion = (0.0, 0.0, 0.0, 0.0)
    bones = ["Bone.0", "Bone.1"]
    chain, target = scaled_rigs.follow(ob, bones, np.array([0.7, 0.4, 1.0]), tolerance=1e-7)
    assert scaled_rigs.miss(ob, bones, target) <= MAX_MISS, chain.status
