"""Joints of chains, whose limits Blender's bones cannot have, and their presets by anatomy."""

import math

import bpy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blender_ik_addon.core import JointKind
from blender_ik_addon.rig.anatomy.joint_presets import JointPreset
from blender_ik_addon.rig.anatomy.wider_joints import is_inside, widened
from blender_ik_addon.rig.reading.spec import JointSpec
from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.jointed_rigs import READ_ERROR, add_joint, any_turn, tails_at, turn
from tests.blender.setups.selecting import press, refusal, select_bones
from tests.helpers import make_rng, vector_angles

STRAIGHT_LIMB = ((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, 1.9))
BENT_LIMB = (
    (0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0),
    (0.0, -np.sin(np.radians(40)), 1 + np.cos(np.radians(40))),
)
"""A rest pose whose second bone points 40 degrees away from the first."""
# Ranges in degrees: beside and around zero, narrow and wide, and across half a turn.
RANGES = ((10, 90), (-90, -10), (60, 150), (-150, -60), (-35, 70), (100, 260), (-250, -110))


def make_limb(joints=STRAIGHT_LIMB, **bones):
    return rigs.make_rig(joints, **bones), rigs.make_empty()


def follow(ob, target, tip="Bone.1", **settings):
    return rigs.add_chain(ob, tip, target, **{"solver": "NEWTON", **settings})


def move(target, location) -> None:
    rigs.change(target, location=location)


def assert_within(angle: float, least: float, greatest: float) -> None:
    """Check an angle in radians against a range in degrees, on the circle."""
    middle = np.radians(0.5 * (least + greatest))
    offset = (angle - middle + np.pi) % (2.0 * np.pi) - np.pi
    assert abs(offset) <= np.radians(0.5 * (greatest - least)) + READ_ERROR, np.degrees(angle)


@pytest.mark.slow
@pytest.mark.parametrize("solver", rigs.SOLVERS)
@pytest.mark.parametrize("axis", ["x", "z"])
@pytest.mark.parametrize("limits", RANGES)
def test_a_hinge_keeps_to_its_range_and_reaches_all_that_it_allows(limits, axis, solver):
    ob, target = make_limb()
    chain = follow(ob, target, solver=solver)
    add_joint(chain, "Bone.1", f"HINGE_{axis.upper()}", **{axis: limits})
    for seed, share in enumerate((0.03, 0.3, 0.5, 0.8, 0.97)):
        angle = np.radians(limits[0] + share * (limits[1] - limits[0]))
        move(target, tails_at(ob, [any_turn(seed), turn(axis, angle)], "Bone.1")[0])
        rigs.assert_reaches(ob, "Bone.1", target)
        assert_within(jointed_rigs.about(jointed_rigs.local(ob, "Bone.1"), axis), *limits)


@pytest.mark.slow
@pytest.mark.parametrize("limits", [(10, 90), (-90, -10)])
def test_a_bone_at_rest_outside_its_range_goes_to_the_end_that_is_nearest(limits):
    ob, target = make_limb()
    chain = follow(ob, target)
    # A hinge about X ignores the ranges of the other axes.
    add_joint(chain, "Bone.1", "HINGE_X", x=limits, y=(40, 30), z=(5, 2))
    move(target, (0.0, 0.0, 2.0))
    angle = jointed_rigs.about(jointed_rigs.local(ob, "Bone.1"), "x")
    assert angle == pytest.approx(np.radians(min(limits, key=abs)), abs=READ_ERROR)
    assert "Bone.1 X" in chain.status, chain.status


@pytest.mark.slow
def test_a_cone_has_the_same_angle_on_all_sides():
    """Blender's ranges about two axes make an ellipse; a cone has one angle."""
    ob, target = make_limb()
    chain = follow(ob, target, chain_count=1)
    add_joint(chain, "Bone.1", "CONE", cone=35)
    for side in np.linspace(0.0, 2.0 * np.pi, 9)[:-1]:
        move(target, (3.0 * np.cos(side), 3.0 * np.sin(side), 1.0))
        rotation = jointed_rigs.local(ob, "Bone.1")
        assert jointed_rigs.swing(rotation) == pytest.approx(np.radians(35.0), abs=READ_ERROR)
        along = rigs.tail(ob, "Bone.1")[:2]
        assert np.arctan2(*along[::-1]) % (2 * np.pi) == pytest.approx(side, abs=1e-5)


def knee_angle(ob) -> float:
    """Return the angle from thigh to shin about the shin's own X axis, in radians."""
    posed = rigs.evaluated(ob).pose.bones["Bone.1"]
    along, from_thigh = np.array(posed.y_axis), np.array(posed.parent.y_axis)
    return float(
        np.arctan2(np.cross(from_thigh, along) @ np.array(posed.x_axis), along @ from_thigh)
    )


@pytest.mark.slow
@pytest.mark.parametrize("relative_to", ["PARENT", "CHILD"])
@pytest.mark.parametrize("roll", [0.0, np.pi])
def test_a_knee_bent_at_rest_counts_from_straight(roll, relative_to):
    ob, target = make_limb(BENT_LIMB, rolls=[roll, roll])
    bpy.context.view_layer.update()
    assert abs(knee_angle(ob)) == pytest.approx(np.radians(40.0), abs=1e-6)
    limits = (0, 150) if knee_angle(ob) > 0.0 else (-150, 0)
    chain = follow(ob, target)
    bone = "Bone.1" if relative_to == "PARENT" else "Bone.0"
    add_joint(chain, bone, "HINGE_X", x=limits, relative_to=relative_to)
    for distance in (1.9999, 1.9, 1.3, 0.6, 2 * np.cos(np.radians(74.9))):
        move(target, turn((1, 1, 0), 0.3) @ (0.0, 0.0, distance))
        rigs.assert_reaches(ob, "Bone.1", target)
        assert abs(jointed_rigs.local(ob, "Bone.1")[0, 0] - 1.0) < READ_ERROR, "a hinge"
        assert_within(knee_angle(ob), *limits)
    move(target, (0.0, 0.0, 3.0))
    assert knee_angle(ob) == pytest.approx(0.0, abs=1e-5), "straight, as far as the tip can tell"
    assert_within(knee_angle(ob), *limits)
    move(target, (0.0, 0.0, 0.1))
    assert abs(knee_angle(ob)) == pytest.approx(np.radians(150.0), abs=READ_ERROR)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [(-1.0, 1.0, 1.0), (0.5, 2.0, 1.3), (100.0, 100.0, 100.0)])
def test_joints_hold_on_scaled_and_mirrored_objects(scale):
    ob, target = make_limb(BENT_LIMB)
    ob.scale = scale
    chain = follow(ob, target, tolerance=1e-5 * max(scale))
    add_joint(chain, "Bone.1", "HINGE_X", x=(-150, -10), relative_to="PARENT")
    shin = turn("x", np.radians(-70.0))
    for seed in range(4):
        move(target, scale * tails_at(ob, [any_turn(seed), shin], "Bone.1")[0])
        assert chain.status.startswith("Reached"), chain.status
        assert_within(knee_angle(ob), -150, -10)


@pytest.mark.slow
def test_a_joint_of_the_chain_replaces_the_limits_locks_and_stiffness_of_its_bone():
    ob, target = make_limb()
    bone = ob.pose.bones["Bone.1"]
    bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
    bone.ik_min_x, bone.ik_max_x, bone.ik_stiffness_x = 0.0, 0.2, 0.9
    chain = follow(ob, target)
    move(target, (0.3, 0.2, 0.9))
    assert "Bone.1 X" in chain.status, chain.status
    add_joint(chain, "Bone.1", "BALL")
    bpy.context.view_layer.update()
    rigs.assert_reaches(ob, "Bone.1", target)
    chain.joints.remove(0)
    rigs.tagged(ob)
    assert "Bone.1 X" in chain.status, chain.status
    add_joint(chain, "Bone.1", "FIXED")
    rigs.change(chain, use_limits=False)
    rigs.assert_reaches(ob, "Bone.1", target)


@pytest.mark.slow
def test_a_stiff_joint_turns_less_and_exactly_like_a_stiff_bone():
    swings, poses = [], []
    for name, in_joint, in_bone in (("Free", 0, 0), ("Own", 0.9, 0), ("Bone's", 0, 0.9)):
        ob, target = make_limb(rigs.zigzag(3), name=name)
        for axis in "xyz":
            setattr(ob.pose.bones["Bone.1"], f"ik_stiffness_{axis}", in_bone)
        chain = follow(ob, target, "Bone.2")
        if in_joint:
            add_joint(chain, "Bone.1", "BALL", **{f"stiffness_{axis}": in_joint for axis in "xyz"})
        move(target, (0.9, 0.4, 1.6))
        rigs.assert_reaches(ob, "Bone.2", target)
        swings.append(jointed_rigs.swing(jointed_rigs.local(ob, "Bone.1")))
        poses.append(rigs.pose(ob))
    assert swings[1] < 0.5 * swings[0]
    np.testing.assert_array_equal(poses[1], poses[2])


@pytest.mark.slow
@pytest.mark.parametrize("influence", [1e-6, 0.3])
def test_influence_stays_inside_a_range_that_leaves_out_rest(influence):
    ob, target = make_limb(BENT_LIMB)
    chain = follow(ob, target, influence=influence)
    sign = 1 if knee_angle(ob) > 0.0 else -1
    limits = sorted((60 * sign, 90 * sign))
    add_joint(chain, "Bone.1", "HINGE_X", x=limits, relative_to="PARENT")
    move(target, (0.4, 0.3, 1.2))
    assert_within(knee_angle(ob), *limits)


@pytest.mark.slow
@pytest.mark.parametrize("relative_to", ["REST", "PARENT"])
def test_a_tip_beyond_the_effector_turns_as_far_as_its_cone_lets_it(relative_to):
    ob, target = make_limb(np.vstack((BENT_LIMB, (0.5, -1.2, 2.4))))
    target.rotation_euler = (1.5, 0.4, 2.0)
    chain = follow(ob, target, "Bone.2", use_rotation=True, use_tail=False)
    add_joint(chain, "Bone.2", "CONE", cone=25, y=(-10, 10), relative_to=relative_to)
    for location in ((0.5, 0.6, 0.9), (0.2, -0.9, 0.8)):
        move(target, location)
        np.testing.assert_allclose(rigs.head(ob, "Bone.2"), location, atol=rigs.TARGET_GAP)
        if relative_to == "PARENT":
            angle = jointed_rigs.bend_from_parent(ob, "Bone.2")
        else:
            angle = jointed_rigs.swing(jointed_rigs.local(ob, "Bone.2"))
        assert angle == pytest.approx(np.radians(25.0), abs=READ_ERROR)
        assert chain.status.endswith(", because its own joint limits it"), chain.status
    rigs.change(chain, use_tail=True)
    rigs.assert_reaches(ob, "Bone.2", target)
    assert "degrees, because position and joints come first" in chain.status


@pytest.mark.slow
def test_a_joint_of_a_bone_outside_the_chain_has_no_effect_and_the_status_says_so():
    ob, target = make_limb(rigs.zigzag(3))
    rigs.add_bones(ob, np.add(rigs.ARM, (2.0, 0.0, 0.0)), prefix="Other")
    chain = follow(ob, target, "Bone.2")
    for bone in ("Bone.0", "Other.0"):
        add_joint(chain, bone, "FIXED")
    rigs.change(chain, chain_count=2)
    assert "have no effect: Bone.0, Other.0" in chain.status
    chain.joints.remove(1)
    chain.chain_count = 3
    move(target, (0.5, 0.3, 1.4))
    assert "no effect" not in chain.status
    assert jointed_rigs.swing(jointed_rigs.local(ob, "Bone.0")) < 1e-6, "it counts again"


preset = bpy.ops.pose.chain_ik_joint_preset
MAX_CHANGE = 1e-6
BENDS = {"KNEE": 160.0, "ELBOW": 150.0, "FINGER": 100.0}


def make_bent_limb(bend: float, roll: float = 0.0, seed: int = 0, **settings: object):
    """Return a limb of two bones in a random direction, its chain and its target.

    It is bent by `bend` degrees about the X axis of the second bone, which `roll` degrees turn.
    """
    frame = any_turn(seed)
    first, second = frame[:, 1], turn(frame[:, 0], math.radians(bend)) @ frame[:, 1]
    ob = rigs.make_rig([np.zeros(3), first, first + 0.8 * second])
    with rigs.editing(ob) as bones:
        for i, (along, angle) in enumerate(((first, 0.0), (second, math.radians(roll)))):
            bones[f"Bone.{i}"].align_roll(turn(along, angle) @ np.cross(frame[:, 0], along))
    target, chain = rigs.follow(ob, "Bone.1", first + 0.8 * second, **settings)
    bpy.context.view_layer.update()
    select_bones(ob, ["Bone.1"])
    return ob, chain, target


@pytest.mark.parametrize("roll", [0.0, 90.0, 180.0, -90.0])
@pytest.mark.parametrize("kind", ["KNEE", "ELBOW"])
@pytest.mark.parametrize("seed", range(2))
def test_a_bone_bends_from_straight_to_the_side_of_its_rest_pose_whatever_its_axes(
    kind, roll, seed
):
    bend = float(make_rng(seed).uniform(1.0, 140.0))
    ob, chain, _ = make_bent_limb(bend, roll, seed)
    press(preset, preset=kind)
    (joint,) = chain.joints
    axis = "x" if roll in (0.0, 180.0) else "z"
    assert joint.kind == f"{'HINGE' if kind == 'KNEE' else 'ELBOW'}_{axis.upper()}"
    ends = [getattr(joint, f"{end}_{axis}") for end in ("min", "max")]
    assert ends[0] < 0.0 < ends[1]
    first, second = (np.array(bone.matrix_local)[:3, :3] for bone in ob.data.bones)
    bends = [vector_angles(first[:, 1], second @ turn(axis, end)[:, 1]) for end in ends]
    np.testing.assert_allclose(np.degrees(np.sort(bends)), [0.0, BENDS[kind]], atol=2e-4)
    if kind == "ELBOW":
        np.testing.assert_allclose(np.degrees([joint.min_y, joint.max_y]), [-80.0, 80.0])


@pytest.mark.parametrize("roll", [180.0, 90.0])
def test_a_straight_limb_bends_to_the_side_that_its_chain_takes(roll):
    ob, chain, target = make_bent_limb(0.0, roll)
    rigs.change(target, location=0.7 * np.array(target.location))
    before = rigs.pose(ob)
    press(preset, preset="KNEE")
    assert chain.joints[0].kind == ("HINGE_Z" if roll == 90.0 else "HINGE_X")
    # The tolerance of the chain allows no closer comparison.
    np.testing.assert_allclose(rigs.pose(ob), before, atol=1e-5)


@pytest.mark.parametrize(("solver", "roll"), [("TWO_BONE", 0.0), ("NEWTON", 12.0)])
@pytest.mark.parametrize("kind", [preset.name for preset in JointPreset])
def test_choosing_a_joint_does_not_move_a_limb_that_its_chain_has_bent(kind, solver, roll):
    ob, chain, target = make_bent_limb(30.0, roll, seed=3, solver=solver)
    rigs.change(target, location=0.75 * np.array(target.location))
    before = rigs.pose(ob)
    press(preset, preset=kind)
    np.testing.assert_allclose(rigs.pose(ob), before, atol=MAX_CHANGE)
    assert chain.status.startswith("Reached")


@pytest.mark.parametrize("kind", [preset.name for preset in JointPreset])
@pytest.mark.parametrize("seed", range(2))
def test_a_pose_outside_makes_the_range_wider_says_so_and_does_not_move(seed, kind, capfd):
    ob, chain, target = make_bent_limb(30.0, 0.0, seed, mute=True)
    bone = ob.pose.bones["Bone.1"]
    bone.rotation_mode = "QUATERNION"
    bone.rotation_quaternion = make_rng(seed).normal(size=4)
    bone.rotation_quaternion.normalize()
    bpy.context.view_layer.update()
    target.location = rigs.tail(ob, "Bone.1")
    before = rigs.pose(ob)
    press(preset, preset=kind)
    assert "Ranges are wider than in anatomy books" in capfd.readouterr().out
    rigs.change(chain, start_from="CURRENT", mute=False)
    assert chain.status.startswith("Reached")
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
    _, chain, _ = make_bent_limb(40.0)
    joint = chain.joints.add()
    joint.bone, joint.kind, joint.relative_to = "Bone.0", "BALL", "CHILD"
    rigs.change(joint, stiffness_x=0.3, use_limit_y=True)
    press(preset, preset="KNEE")
    (joint,) = chain.joints
    assert (joint.bone, joint.kind, joint.relative_to) == ("Bone.1", "HINGE_X", "REST")
    assert joint.stiffness_x == pytest.approx(0.3)


def test_bends_between_axes_and_bones_that_no_chain_drives_are_named_and_nothing_changes():
    ob, _, _ = make_bent_limb(40.0, 45.0)
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Apart")
    select_bones(ob, ["Bone.1"])
    for kind in BENDS:
        assert "recalculate their roll" in refusal(preset, preset=kind)
    select_bones(ob, ["Apart.0"])
    assert refusal(preset) == "Left out because no chain drives these bones: Apart.0."
    rigs.enter(ob, "OBJECT")
    assert "select the bones that should get the joint" in refusal(preset)


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
    joint = JointSpec("Bone", kind, low, high, is_cone=is_cone)
    turned = np.array(turned) / np.linalg.norm(turned)
    wider = widened(joint, turned)
    assert is_inside(wider, turned)
    assert is_inside(wider, np.array([1.0, 0.0, 0.0, 0.0]))
    if wider.kind is kind:
        assert all(np.array(wider.low) <= low)
        assert all(np.array(wider.high) >= high)
