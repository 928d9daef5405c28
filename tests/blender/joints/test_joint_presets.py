"""Joints by anatomy: they bend as the rest pose does, and nothing moves when they are chosen."""

import math

import bpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind
from blender_ik_addon.rig.anatomy.joint_presets import JointPreset
from blender_ik_addon.rig.anatomy.wider_joints import is_inside, widened
from blender_ik_addon.rig.reading.spec import OwnJoint
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import any_turn, turn
from tests.blender.setups.selecting import press, refusal, select_bones
from tests.helpers import angles_of_ways, make_rng

preset = bpy.ops.pose.chain_ik_joint_preset
MOVED = 1e-6
BENDS = {"KNEE": 160.0, "ELBOW": 150.0, "FINGER": 100.0}


def make_limb(bend: float, roll: float = 0.0, seed: int = 0, **settings: object):
    """Return a limb of two bones somewhere, bent by degrees, and its chain.

    Its second bone bends about its X axis, turned by so many degrees about the bone.
    """
    frame = any_turn(seed)
    first, second = frame[:, 1], turn(frame[:, 0], math.radians(bend)) @ frame[:, 1]
    ob = rigs.make_rig([np.zeros(3), first, first + 0.8 * second])
    with rigs.editing(ob) as bones:
        for i, (along, turned) in enumerate(((first, 0.0), (second, math.radians(roll)))):
            bones[f"Bone.{i}"].align_roll(turn(along, turned) @ np.cross(frame[:, 0], along))
    target, chain = rigs.follow(ob, "Bone.1", first + 0.8 * second, **settings)
    bpy.context.view_layer.update()
    select_bones(ob, ["Bone.1"])
    return ob, chain, target


def bend_at(ob: bpy.types.Object, axis: str, angle: float) -> float:
    """Return how far the limb is bent with its second bone turned about an axis, in degrees."""
    first, second = (np.array(ob.data.bones[f"Bone.{i}"].matrix_local)[:3, :3] for i in range(2))
    return math.degrees(angles_of_ways(first[:, 1], second @ turn(axis, angle)[:, 1]))


@pytest.mark.parametrize("roll", [0.0, 90.0, 180.0, -90.0])
@pytest.mark.parametrize("kind", ["KNEE", "ELBOW"])
@pytest.mark.parametrize("seed", range(2))
def test_a_bone_bends_from_straight_to_the_side_of_its_rest_pose_whatever_its_axes(
    kind, roll, seed
):
    bend = float(make_rng(seed).uniform(1.0, 140.0))
    ob, chain, _ = make_limb(bend, roll, seed)
    press(preset, preset=kind)
    (joint,) = chain.joints
    axis = "x" if roll in (0.0, 180.0) else "z"
    assert joint.kind == f"{'HINGE' if kind == 'KNEE' else 'ELBOW'}_{axis.upper()}"
    ends = [getattr(joint, f"{end}_{axis}") for end in ("min", "max")]
    assert ends[0] < 0.0 < ends[1]
    bends = sorted(bend_at(ob, axis, end) for end in ends)
    np.testing.assert_allclose(bends, [0.0, BENDS[kind]], atol=0.02)
    if kind == "ELBOW":
        np.testing.assert_allclose(np.degrees([joint.min_y, joint.max_y]), [-80.0, 80.0])


@pytest.mark.parametrize("roll", [180.0, 90.0])
def test_a_straight_limb_bends_to_the_side_that_its_chain_takes(roll):
    ob, chain, target = make_limb(0.0, roll)
    rigs.change(target, location=0.7 * np.array(target.location))
    before = rigs.pose(ob)
    press(preset, preset="KNEE")
    assert chain.joints[0].kind == ("HINGE_Z" if roll == 90.0 else "HINGE_X")
    # As near as the chain's tolerance lets any solve come.
    np.testing.assert_allclose(rigs.pose(ob), before, atol=1e-5)


@pytest.mark.parametrize(("solver", "roll"), [("TWO_BONE", 0.0), ("NEWTON", 12.0)])
@pytest.mark.parametrize("kind", [each.name for each in JointPreset])
def test_choosing_a_joint_does_not_move_a_limb_that_its_chain_has_bent(kind, solver, roll):
    ob, chain, target = make_limb(30.0, roll, seed=3, solver=solver)
    rigs.change(target, location=0.75 * np.array(target.location))
    before = rigs.pose(ob)
    press(preset, preset=kind)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=MOVED)
    assert chain.status.startswith("Reached")


@pytest.mark.parametrize("kind", [each.name for each in JointPreset])
@pytest.mark.parametrize("seed", range(2))
def test_a_pose_outside_makes_the_range_wider_says_so_and_does_not_move(seed, kind, capfd):
    ob, chain, target = make_limb(30.0, 0.0, seed, mute=True)
    bone = ob.pose.bones["Bone.1"]
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = make_rng(seed).normal(size=4)
    bone.rotation_quaternion.normalize()
    bpy.context.view_layer.update()
    target.location = rigs.tail(ob, "Bone.1")
    before = rigs.pose(ob)
    press(preset, preset=kind)
    assert "Ranges are wider than by anatomy" in capfd.readouterr().out
    rigs.change(chain, start_from="CURRENT", mute=False)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=1e-5)


def test_the_first_bone_of_a_finger_spreads_and_the_others_are_hinges():
    ob = rigs.make_rig([(0, 0, 0), (0, 0, 1), (0, -0.1, 1.5), (0, -0.3, 1.9), (0, -0.5, 2.1)])
    _, chain = rigs.follow(ob, "Bone.3", (0, -0.5, 2.1), chain_count=3)
    select_bones(ob, ["Bone.1", "Bone.2", "Bone.3"])
    press(preset, preset="FINGER")
    kinds = {joint.bone: joint.kind for joint in chain.joints}
    assert kinds == {"Bone.1": "SWING", "Bone.2": "HINGE_X", "Bone.3": "HINGE_X"}


@pytest.mark.parametrize(("count", "share"), [(1, 1), (2, 2), (6, 3)])
def test_the_range_of_a_neck_is_shared_by_its_bones_three_at_most(count, share):
    ob = rigs.make_rig(rigs.zigzag(count))
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", rigs.make_empty(), mute=True)
    select_bones(ob, [f"Bone.{i}" for i in range(count)])
    press(preset, preset="NECK")
    assert len(chain.joints) == count
    for joint in chain.joints:
        assert joint.kind == "CONE"
        assert math.degrees(joint.cone_angle) == pytest.approx(45.0 / share)
        assert math.degrees(joint.max_y) == pytest.approx(60.0 / share)


def test_the_joint_that_a_bone_has_is_changed_and_keeps_stiffness_and_slide():
    _, chain, _ = make_limb(40.0)
    joint = chain.joints.add()
    joint.bone, joint.kind, joint.relative_to = "Bone.0", "BALL", "CHILD"
    rigs.change(joint, stiffness_x=0.3, use_limit_y=True)
    press(preset, preset="KNEE")
    (joint,) = chain.joints
    assert (joint.bone, joint.kind, joint.relative_to) == ("Bone.1", "HINGE_X", "REST")
    assert joint.stiffness_x == pytest.approx(0.3)


def test_bends_between_axes_and_bones_that_no_chain_drives_are_named_and_nothing_changes():
    ob, _, _ = make_limb(40.0, 45.0)
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Apart")
    select_bones(ob, ["Bone.1"])
    for kind in BENDS:
        assert "recalculate the roll" in refusal(preset, preset=kind)
    select_bones(ob, ["Apart.0"])
    assert refusal(preset) == "Left out, as no chain drives these bones: Apart.0."
    rigs.enter(ob, "OBJECT")
    assert "select the bones that are to get the joint" in refusal(preset)


ANGLES = st.floats(0.0, 3.1).map(lambda angle: round(angle, 3))
KINDS = st.sampled_from([kind for kind in JointKind if kind not in (7, 8)])
TURNS = st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: np.linalg.norm(q) > 0.1)


@settings(max_examples=60)
@given(KINDS, st.tuples(*[ANGLES] * 6), TURNS, st.booleans())
def test_a_wider_joint_holds_the_turn_rest_and_all_that_it_held(kind, ends, turned, is_cone):
    low, high = tuple(-end for end in ends[:3]), ends[3:]
    if is_cone:
        kind, high = JointKind.BALL, (ends[3], ends[4], ends[3])
        low = tuple(-end for end in high)
    joint = OwnJoint("Bone", kind, low, high, is_cone=is_cone)
    turned = np.array(turned) / np.linalg.norm(turned)
    wider = widened(joint, turned)
    assert is_inside(wider, turned)
    assert is_inside(wider, np.array([1.0, 0.0, 0.0, 0.0]))
    if wider.kind is kind:
        assert all(np.array(wider.low) <= low)
        assert all(np.array(wider.high) >= high)
