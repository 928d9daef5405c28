"""Feet that roll, about heel, ball and tip of the toes: set up, removed, mirrored, matched."""

from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Euler

import blender_ik_addon
from blender_ik_addon.properties.chain_lists import activate_chain_of
from blender_ik_addon.rig.reading.animation import curves
from blender_ik_addon.rig.reading.spec import Anchor
from tests.blender.controls import rolled
from tests.blender.operators.test_characters import add_rig, make_limbs
from tests.blender.setups import rigs
from tests.blender.setups.rigs import matrices as posed
from tests.blender.setups.selecting import press, refusal, symmetrize


def turn_between(before: dict[str, np.ndarray], after: dict[str, np.ndarray], bone: str) -> float:
    turn = before[bone][:3, :3].T @ after[bone][:3, :3]
    sine = np.linalg.norm(turn - turn.T) / np.sqrt(8.0)
    return float(np.degrees(np.arctan2(sine, (np.trace(turn) - 1.0) / 2.0)))


def test_roll_turns_about_the_ball_from_45_degrees_about_the_tip_and_below_0_about_the_heel(rigify):
    ob = rolled.human(down=0.05)
    before = posed(ob)
    heights = [before["foot.L"][2, 3]]
    for degrees in range(5, 91, 5):
        rolled.turn(ob, rolled.ROLL, degrees)
        after = posed(ob)
        heights.append(after["foot.L"][2, 3])
        assert turn_between(before, after, "foot.L") == pytest.approx(degrees, abs=1e-3)
        if degrees <= 45:
            assert rolled.moved_by(before, after, "toe.L", "thigh.R", "foot.R", "toe.R") < 1e-5
            assert heights[-1] > heights[0]
    # No step of 5 degrees makes the foot jump.
    assert np.abs(np.diff(heights)).max() < 0.05
    np.testing.assert_allclose(after["Leg Tip.L"][:3, 3], before["Leg Tip.L"][:3, 3], atol=1e-6)
    assert turn_between(before, after, "toe.L") == pytest.approx(90, abs=1e-3)
    rolled.turn(ob, rolled.ROLL, -25)
    after = posed(ob)
    np.testing.assert_allclose(after["Leg Heel.L"][:3, 3], before["Leg Heel.L"][:3, 3], atol=1e-6)
    assert after["toe.L"][2, 3] > before["toe.L"][2, 3] + 0.03
    assert before["Leg Heel.L"][1, 3] == pytest.approx(before["heel.02.L"][1, 3], abs=1e-5)
    assert abs(after["heel.02.L"][2, 3] - before["heel.02.L"][2, 3]) < 1e-5
    rolled.turn(ob, rolled.ROLL, 0)
    assert rolled.all_reached(ob)
    assert rolled.moved_by(before, posed(ob)) < 1e-5


@pytest.mark.parametrize(
    ("scale", "side", "outward"),
    [((1, 1, 1), "L", 1.0), ((-1, 1, 1), "R", -1.0), ((1, -2, 1), "L", 1.0)],
)
def test_bank_turns_the_foot_about_the_edges_of_its_sole(rigify, scale, side, outward):
    ob = rolled.human(scale=scale)
    before = posed(ob)
    for degrees, edge in ((20, "Outer"), (-20, "Inner")):
        rolled.turn(ob, rolled.BANK, degrees, side)
        after = posed(ob)
        name = f"Leg {edge}.{side}"
        np.testing.assert_allclose(after[name][:3, 3], before[name][:3, 3], atol=1e-6)
        moved = after[f"foot.{side}"][0, 3] - before[f"foot.{side}"][0, 3]
        assert np.sign(moved) == np.sign(outward * degrees)
        assert after[f"toe.{side}"][2, 3] > before[f"toe.{side}"][2, 3]
        assert rolled.all_reached(ob)


def test_a_rolled_foot_is_driven_without_python_and_plays_without_the_extension(rigify):
    ob = rolled.human()
    for curve in ob.animation_data.drivers:
        assert (curve.driver.type, list(curve.modifiers)) == ("SUM", [])
    control = ob.pose.bones["Leg Target.L"]
    rigs.key(control, f'["{rolled.ROLL}"]', {1: radians(-20.0), 20: radians(60.0)})
    ob.chain_ik.chains["Arm.L"].space = rolled.control_of(ob, "Neck")
    targets = [chain.subtarget for chain in ob.chain_ik.chains]
    poses = {}
    for frame in rigs.each_frame((1, 7, 13, 20)):
        poses[frame] = posed(ob)
        assert rolled.all_reached(ob)
    blender_ik_addon.unregister()
    for frame, matrices in poses.items():
        rigs.go_to(frame)
        assert rolled.moved_by(matrices, posed(ob), *targets) < 1e-6
    blender_ik_addon.register()


def test_a_click_on_the_control_activates_its_chain_and_one_on_the_diamond_the_control(rigify):
    ob = rolled.human()
    for chain in ("Leg.R", "Arm.L", "Leg.L", "Toe.L"):
        activate_chain_of(ob, Anchor(ob, rolled.control_of(ob, chain)))
        assert ob.chain_ik.chains[ob.chain_ik.active_index].name == chain
    bpy.ops.object.mode_set(mode="POSE")
    press(bpy.ops.pose.chain_ik_activate, index=ob.chain_ik.chains.find("Leg.L"))
    assert ob.data.bones.active.name == "Leg Target.L"


def test_a_foot_without_a_toe_has_heel_and_tip_only_and_a_leg_without_a_foot_its_chain():
    ob = make_limbs("{0}UpperArm {0}LowerArm {0}Hand {0}UpperLeg {0}LowerLeg Other", ".L")
    press(rolled.setup, control="BONE")
    assert "Leg.L" in ob.chain_ik.chains
    assert not rolled.mechanism(ob)
    ob = make_limbs("{0}UpperArm {0}LowerArm {0}Hand {0}UpperLeg {0}LowerLeg {0}Foot", ".L")
    rigs.updated()
    before = posed(ob)
    press(rolled.setup, control="BONE")
    assert rolled.moved_by(before, {k: v for k, v in posed(ob).items() if k in before}) < 1e-5
    words = {name.split()[1].removesuffix(".L") for name in rolled.mechanism(ob)}
    assert words == {"Outer", "Inner", "Heel", "Tip", "Ankle"}
    assert [chain.name for chain in ob.chain_ik.chains if "Toe" in chain.name] == []
    tip = posed(ob)["Leg Tip.L"][:3, 3]
    rolled.turn(ob, rolled.ROLL, 20)
    after = posed(ob)
    np.testing.assert_allclose(after["Leg Tip.L"][:3, 3], tip, atol=1e-6)
    assert after["Leg Ankle.L"][2, 3] > after["Leg Target.L"][2, 3]


def test_a_foot_that_lacks_a_bone_names_it_in_status_and_refusals_and_the_others_go_on(rigify):
    ob = rolled.human()
    rolled.remove_right_leg(ob)
    rolled.activate(ob, "Leg.L")
    for bone, text in (
        ("Root", "Reached. The space of 'Leg Target.L' no longer exists: choose another space"),
        (
            "Leg Target.L",
            "Reached. The control of this foot was deleted, so the foot cannot roll: remove the"
            " chain with Delete Controls, then press Set Up Limbs",
        ),
        ("Leg Ankle.L", "The target bone 'Leg Ankle.L' no longer exists: choose another."),
    ):
        rolled.delete(ob, bone)
        statuses = {chain.name: chain.status for chain in ob.chain_ik.chains}
        assert statuses.pop("Leg.L") == text
        if bone == "Leg Target.L":
            with rigs.changed(ob.chain_ik.chains["Leg.L"], bone="Nobody"):
                text = text.replace("Reached", "Bone 'Nobody' no longer exists: choose another tip")
                assert ob.chain_ik.chains["Leg.L"].status == text
        assert all(status.startswith("Reached") for status in statuses.values()), statuses
    for button in ("mirror", "switch_space", "snap_target", "move_target"):
        assert refusal(getattr(bpy.ops.pose, f"chain_ik_{button}")) == (
            "Bone 'Leg Ankle.L' of 'metarig' no longer exists: choose another bone for the chain to"
            " follow."
        ), button


@pytest.mark.parametrize("word", ["target", "pole"])
def test_a_leg_whose_target_or_pole_is_not_finite_is_not_mirrored_and_says_why(rigify, word):
    """Nothing is added: its place would not be finite either."""
    ob = rolled.human()
    rolled.remove_right_leg(ob)
    rolled.activate(ob, "Leg.L")
    if word == "target":
        ob.pose.bones["Leg Ankle.L"].location.x = np.nan
        reason = "The transform of bone 'Leg Ankle.L' is not finite or too large: check its"
    else:
        ob.chain_ik.chains["Leg.L"].pole_target = rigs.make_empty("Pole.L", (np.nan, 0.0, 0.0))
        reason = "The transform of the pole 'Pole.L' is not finite or too large: check"
    rigs.updated()
    names = ob.data.bones.keys(), bpy.data.objects.keys()
    assert refusal(bpy.ops.pose.chain_ik_mirror).startswith(reason)
    assert (ob.data.bones.keys(), bpy.data.objects.keys()) == names


def test_limbs_with_a_scale_of_zero_are_not_set_up_and_the_others_are(rigify):
    ob = add_rig("human")
    ob.pose.bones["foot.L"].scale = ob.pose.bones["hand.L"].scale = (0.0, 0.0, 0.0)
    rigs.updated()
    bpy.ops.pose.chain_ik_setup(control="BONE")
    assert {"Leg.R", "Toe.R", "Arm.R"} <= chains(ob)
    assert all(np.isfinite(matrix).all() for matrix in posed(ob).values())
    # The same holds for toes under the control of a foot.
    ob = rolled.human()
    names = chains(ob)
    for chain in ("Toe.L", "Arm.L"):
        rolled.press_for(ob, chain, bpy.ops.pose.chain_ik_remove, delete_controls=True)
    rigs.change(ob.pose.bones["Leg Target.L"], scale=(0.0, 0.0, 0.0))
    press(rolled.setup, control="BONE")
    assert names - chains(ob) == {"Toe.L"}


@pytest.mark.parametrize("gone", ["", "Leg Ball.L"])
def test_chains_that_are_removed_with_their_controls_leave_nothing(rigify, gone):
    ob = add_rig("human")
    bones = set(ob.data.bones.keys())
    press(rolled.setup, control="BONE")
    assert rolled.mechanism(ob)
    if gone:
        rolled.delete(ob, gone)
    while ob.chain_ik.chains:
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    assert set(ob.data.bones.keys()) == bones
    assert not any(bone.constraints or bone.custom_shape for bone in ob.pose.bones)
    assert not any("Chain IK" in name for name in ob.data.collections_all.keys())
    assert ob.chain_ik.body.root == ""
    driven = {curve.data_path.split('"')[1] for curve in ob.animation_data.drivers}
    # Blender 4.2 and 5.0 keep the drivers of a deleted bone.
    assert driven <= {gone}


@pytest.mark.parametrize("keep_pose", [True, False])
def test_a_leg_that_is_removed_leaves_what_the_user_has_parented_to_its_foot(rigify, keep_pose):
    ob = rolled.human()
    ob.data.collections["Chain IK Controls"].unassign(ob.data.bones["Toe Target.L"])
    rolled.turn(ob, rolled.ROLL, 70)
    rolled.activate(ob, "Leg.L")
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True, keep_pose=keep_pose)
    assert "Leg Tip.L" not in ob.data.bones
    assert "Toe.L" in ob.chain_ik.chains
    after = posed(ob)
    assert rolled.moved_by(before, after, "Toe Target.L") < 1e-5
    assert not keep_pose or rolled.moved_by(before, after, "foot.L", "toe.L") < 1e-5


def chains(ob: bpy.types.Object) -> set[str]:
    return {chain.name for chain in ob.chain_ik.chains}


@pytest.mark.parametrize("keep_pose", [True, False])
def test_a_leg_is_removed_with_its_toes_and_set_up_with_them_again(rigify, keep_pose):
    ob = rolled.human()
    names, bones = chains(ob), set(ob.data.bones.keys())
    rolled.turn(ob, rolled.ROLL, 20)
    rolled.activate(ob, "Leg.L")
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True, keep_pose=keep_pose)
    assert names - chains(ob) == {"Leg.L", "Toe.L"}
    assert not any(name.endswith(".L") for name in rolled.mechanism(ob))
    after = posed(ob)
    unmoved = ("foot.L", "toe.L") if keep_pose else ("foot.R", "toe.R")
    assert rolled.moved_by(before, after, *unmoved) < 1e-5
    rest = np.array(ob.pose.bones["toe.L"].matrix_basis)
    assert keep_pose or np.allclose(rest, np.eye(4), atol=1e-6)
    press(rolled.setup, control="BONE")
    assert (chains(ob), set(ob.data.bones.keys())) == (names, bones)
    assert rolled.moved_by(after, {name: posed(ob)[name] for name in after}) < 2e-5


def test_toes_that_were_removed_are_set_up_again_under_the_tip_of_their_foot(rigify):
    ob = rolled.human()
    names, size = chains(ob), ob.pose.bones["Toe Target.L"].custom_shape_scale_xyz.copy()
    rolled.press_for(ob, "Toe.L", bpy.ops.pose.chain_ik_remove, delete_controls=True)
    rigs.updated()
    before = posed(ob)
    for settings in ({"control": "EMPTY", "kinds": {"LEG"}}, {"control": "BONE", "kinds": {"ARM"}}):
        assert refusal(rolled.setup, **settings).startswith("Every limb that was found")
    press(rolled.setup, control="BONE")
    assert chains(ob) == names
    assert ob.data.bones["Toe Target.L"].parent.name == "Leg Tip.L"
    np.testing.assert_allclose(
        ob.pose.bones["Toe Target.L"].custom_shape_scale_xyz, size, rtol=1e-3
    )
    assert rolled.moved_by(before, {name: posed(ob)[name] for name in before}) < 1e-5
    before = posed(ob)
    rolled.turn(ob, rolled.ROLL, 20)
    assert rolled.moved_by(before, posed(ob), "toe.L") < 1e-5
    assert refusal(rolled.setup, control="BONE").startswith("Every limb that was found")


@pytest.mark.parametrize("is_symmetrized", [False, True])
def test_a_mirrored_foot_rolls_as_the_other_one(rigify, is_symmetrized):
    ob = rolled.human()
    rolled.remove_right_leg(ob)
    assert not any(name.endswith(".R") for name in rolled.mechanism(ob))
    if is_symmetrized:
        # Blender mirrors bones and constraints, but no drivers.
        ob.data.collections_all[rolled.MECHANISM].is_visible = True
        symmetrize(ob, *rolled.mechanism(ob), "Leg Target.L", "Toe Target.L")
    for chain in ("Leg.L", "Toe.L"):
        rolled.press_for(ob, chain, bpy.ops.pose.chain_ik_mirror)
    assert ob.chain_ik.chains["Leg.R"].subtarget == "Leg Ankle.R"
    for channel, degrees in (
        (rolled.ROLL, 30),
        (rolled.ROLL, -20),
        (rolled.BANK, 20),
        (rolled.BANK, -20),
    ):
        for side in "LR":
            rolled.turn(ob, rolled.ROLL, 0, side)
            rolled.turn(ob, rolled.BANK, 0, side)
            rolled.turn(ob, channel, degrees, side)
        after = posed(ob)
        for bone in ("foot", "toe"):
            left, right = (after[f"{bone}.{side}"][:3, 3] for side in "LR")
            np.testing.assert_allclose(left * (-1, 1, 1), right, atol=1e-4)
    assert rolled.all_reached(ob)


def test_mirrored_toes_follow_their_own_foot_although_symmetrize_mirrored_their_control_only(
    rigify,
):
    ob = rolled.human()
    rolled.remove_right_leg(ob)
    # The hidden pivots cannot be selected.
    symmetrize(ob, "Leg Target.L", "Toe Target.L")
    assert ob.data.bones["Toe Target.R"].parent.name == "Leg Tip.L"
    for chain in ("Leg.L", "Toe.L"):
        rolled.press_for(ob, chain, bpy.ops.pose.chain_ik_mirror)
    before = posed(ob)
    rolled.turn(ob, rolled.ROLL, -20, "L")
    after = posed(ob)
    assert rolled.moved_by(before, after, "toe.R", "Toe Target.R") < 1e-5
    rolled.turn(ob, rolled.ROLL, -20, "R")
    assert turn_between(after, posed(ob), "Toe Target.R") == pytest.approx(20.0, abs=1e-3)
    assert rolled.all_reached(ob)


@pytest.mark.parametrize("roll", [-15.0, 70.0])
def test_snap_target_moves_the_control_and_keeps_the_roll(rigify, roll):
    ob = rolled.human()
    rolled.turn(ob, rolled.ROLL, roll)
    rolled.press_for(ob, "Leg.L", bpy.ops.pose.chain_ik_apply)
    assert {chain.name for chain in ob.chain_ik.chains if chain.mute} == {"Leg.L", "Toe.L"}
    for bone, angle in (("thigh.L", -0.5), ("shin.L", 0.7), ("foot.L", 0.3), ("toe.L", 0.2)):
        rigs.updated()
        ob.pose.bones[bone].rotation_mode = "XYZ"
        ob.pose.bones[bone].rotation_euler = (angle, 0.05, 0.02)
    rigs.updated()
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_snap_target)
    for name in ("Leg.L", "Toe.L"):
        ob.chain_ik.chains[name].mute = False
    rigs.updated()
    assert rolled.moved_by(before, posed(ob), "thigh.L", "shin.L", "foot.L", "toe.L") < 2e-5
    assert ob.pose.bones["Leg Target.L"][rolled.ROLL] == pytest.approx(radians(roll))
    assert not any(any(ob.pose.bones[name].location) for name in rolled.mechanism(ob))


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1)])
def test_switching_to_ik_keys_the_control_and_moves_nothing(rigify, scale):
    ob = rolled.human(scale=scale)
    rolled.turn(ob, rolled.ROLL, 20)
    ob.pose.bones["Leg Target.L"].scale = (1.5, 1.5, 1.5)
    rolled.press_for(ob, "Leg.L", bpy.ops.pose.chain_ik_switch, to="FK")
    rigs.go_to(10)
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_switch, to="IK")
    assert rolled.moved_by(before, posed(ob), "thigh.L", "shin.L", "foot.L", "Leg Target.L") < 2e-5
    keyed = {curve.data_path for curve in curves(ob)}
    assert any('"Leg Target.L"' in path for path in keyed)
    assert not any(f'"{name}"' in path for path in keyed for name in rolled.mechanism(ob))


def test_a_leg_is_switched_with_its_toes_both_ways_and_leaves_toes_switched_already(rigify):
    ob = rolled.human()
    rolled.press_for(ob, "Leg.L", bpy.ops.pose.chain_ik_switch, to="FK")
    assert not ob.chain_ik.chains["Toe.L"].influence
    rigs.go_to(10)
    for bone, angle in (("thigh.L", -1.0), ("toe.L", 0.3)):
        moved = ob.pose.bones[bone]
        moved.rotation_quaternion = Euler((angle, 0.0, 0.0)).to_quaternion()
        moved.keyframe_insert("rotation_quaternion")
    rigs.updated()
    before, turned = posed(ob), ob.pose.bones["toe.L"].matrix_basis.to_euler()
    np.testing.assert_allclose(turned, (0.3, 0, 0), atol=1e-5)
    press(bpy.ops.pose.chain_ik_switch, to="IK")
    assert rolled.moved_by(before, posed(ob), "thigh.L", "shin.L", "foot.L", "toe.L") < 5e-5
    assert rolled.all_reached(ob)
    rigs.go_to(20)
    rolled.press_for(ob, "Toe.L", bpy.ops.pose.chain_ik_switch, to="FK")
    assert [chain.name for chain in ob.chain_ik.chains if not chain.influence] == ["Toe.L"]
    rigs.go_to(30)
    rolled.press_for(ob, "Leg.L", bpy.ops.pose.chain_ik_switch, to="FK")
    assert {chain.name for chain in ob.chain_ik.chains if not chain.influence} == {"Leg.L", "Toe.L"}
    toe_curves = [curve for curve in curves(ob) if '"toe.L"' in curve.data_path]
    assert max(point.co.x for curve in toe_curves for point in curve.keyframe_points) == 20.0
