"""The chains of feet that roll: removed, set up again, mirrored and matched, with toes."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Euler

from blender_ik_addon.rig.reading.animation import curves
from tests.blender.controls.rolled import (
    BANK,
    ROLL,
    activate,
    all_reached,
    delete,
    human,
    mechanism,
    off,
    remove_right_leg,
    setup,
    turn,
)
from tests.blender.operators.test_characters import add_rig
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal
from tests.blender.setups.twisted_rigs import matrices as posed


@pytest.mark.parametrize("gone", ["", "Leg Ball.L"])
def test_removed_with_its_controls_nothing_is_left(rigify, gone):
    ob = add_rig("human")
    bones = set(ob.data.bones.keys())
    press(setup, control="BONE")
    assert mechanism(ob)
    if gone:
        delete(ob, gone)
    while ob.chain_ik.chains:
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    assert set(ob.data.bones.keys()) == bones
    assert not any(bone.constraints or bone.custom_shape for bone in ob.pose.bones)
    assert not any("Chain IK" in name for name in ob.data.collections_all.keys())
    assert ob.chain_ik.body.root == ""
    turned = {curve.data_path.split('"')[1] for curve in ob.animation_data.drivers}
    # Of a bone that somebody deletes Blender 4.2 and 5.0 keep the driver.
    assert turned <= {gone}


@pytest.mark.parametrize("keep_pose", [True, False])
def test_a_leg_that_is_removed_leaves_what_somebody_has_hung_on_its_foot(rigify, keep_pose):
    ob = human()
    ob.data.collections["Chain IK Controls"].unassign(ob.data.bones["Toe Target.L"])
    turn(ob, ROLL, 70)
    activate(ob, "Leg.L")
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True, keep_pose=keep_pose)
    assert "Leg Tip.L" not in ob.data.bones
    assert "Toe.L" in ob.chain_ik.chains
    after = posed(ob)
    assert off(before, after, "Toe Target.L") < 1e-5
    assert not keep_pose or off(before, after, "foot.L", "toe.L") < 1e-5


def chains(ob: bpy.types.Object) -> set[str]:
    return {chain.name for chain in ob.chain_ik.chains}


@pytest.mark.parametrize("keep_pose", [True, False])
def test_a_leg_is_removed_with_its_toes_and_set_up_with_them_again(rigify, keep_pose):
    ob = human()
    made, bones = chains(ob), set(ob.data.bones.keys())
    turn(ob, ROLL, 20)
    activate(ob, "Leg.L")
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True, keep_pose=keep_pose)
    assert made - chains(ob) == {"Leg.L", "Toe.L"}
    assert not any(name.endswith(".L") for name in mechanism(ob))
    after = posed(ob)
    left = ("foot.L", "toe.L") if keep_pose else ("foot.R", "toe.R")
    assert off(before, after, *left) < 1e-5
    rest = np.array(ob.pose.bones["toe.L"].matrix_basis)
    assert keep_pose or np.allclose(rest, np.eye(4), atol=1e-6)
    press(setup, control="BONE")
    assert (chains(ob), set(ob.data.bones.keys())) == (made, bones)
    assert off(after, {name: posed(ob)[name] for name in after}) < 2e-5


def test_toes_that_were_removed_are_set_up_again_under_the_tip_of_their_foot(rigify):
    ob = human()
    made, look = chains(ob), ob.pose.bones["Toe Target.L"].custom_shape_scale_xyz.copy()
    activate(ob, "Toe.L")
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    rigs.updated()
    before = posed(ob)
    for settings in ({"control": "EMPTY", "kinds": {"LEG"}}, {"control": "BONE", "kinds": {"ARM"}}):
        assert refusal(setup, **settings).startswith("Every limb that was found")
    press(setup, control="BONE")
    assert chains(ob) == made
    assert ob.data.bones["Toe Target.L"].parent.name == "Leg Tip.L"
    np.testing.assert_allclose(
        ob.pose.bones["Toe Target.L"].custom_shape_scale_xyz, look, rtol=1e-3
    )
    assert off(before, {name: posed(ob)[name] for name in before}) < 1e-5
    before = posed(ob)
    turn(ob, ROLL, 20)
    assert off(before, posed(ob), "toe.L") < 1e-5
    assert refusal(setup, control="BONE").startswith("Every limb that was found")


def test_a_foot_that_is_scaled_to_nothing_gets_no_toes_and_another_limb_its_chain(rigify):
    ob = human()
    made = chains(ob)
    for chain in ("Toe.L", "Arm.L"):
        activate(ob, chain)
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    ob.pose.bones["Leg Target.L"].scale = (0.0, 0.0, 0.0)
    rigs.updated()
    press(setup, control="BONE")
    assert made - chains(ob) == {"Toe.L"}


def test_mirrored_the_other_foot_rolls_the_same(rigify):
    ob = human()
    remove_right_leg(ob)
    assert not any(name.endswith(".R") for name in mechanism(ob))
    for chain in ("Leg.L", "Toe.L"):
        activate(ob, chain)
        press(bpy.ops.pose.chain_ik_mirror)
    assert ob.chain_ik.chains["Leg.R"].subtarget == "Leg Ankle.R"
    for channel, degrees in ((ROLL, 30), (ROLL, -20), (BANK, 20), (BANK, -20)):
        for side in "LR":
            turn(ob, ROLL, 0, side)
            turn(ob, BANK, 0, side)
            turn(ob, channel, degrees, side)
        after = posed(ob)
        for bone in ("foot", "toe"):
            left, right = (after[f"{bone}.{side}"][:3, 3] for side in "LR")
            np.testing.assert_allclose(left * (-1, 1, 1), right, atol=1e-4)
    assert all_reached(ob)


@pytest.mark.parametrize("roll", [-15.0, 70.0])
def test_snap_target_moves_the_control_and_keeps_the_roll(rigify, roll):
    ob = human()
    turn(ob, ROLL, roll)
    activate(ob, "Leg.L")
    press(bpy.ops.pose.chain_ik_apply)
    assert {each.name for each in ob.chain_ik.chains if each.mute} == {"Leg.L", "Toe.L"}
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
    assert off(before, posed(ob), "thigh.L", "shin.L", "foot.L", "toe.L") < 2e-5
    assert ob.pose.bones["Leg Target.L"][ROLL] == pytest.approx(radians(roll))
    assert not any(any(ob.pose.bones[name].location) for name in mechanism(ob))


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1)])
def test_switching_to_ik_keys_the_control_and_moves_nothing(rigify, scale):
    ob = human(scale=scale)
    turn(ob, ROLL, 20)
    ob.pose.bones["Leg Target.L"].scale = (1.5, 1.5, 1.5)
    activate(ob, "Leg.L")
    press(bpy.ops.pose.chain_ik_switch, to="FK")
    rigs.go_to(10)
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_switch, to="IK")
    assert off(before, posed(ob), "thigh.L", "shin.L", "foot.L", "Leg Target.L") < 2e-5
    keyed = {curve.data_path for curve in curves(ob)}
    assert any('"Leg Target.L"' in path for path in keyed)
    assert not any(f'"{name}"' in path for path in keyed for name in mechanism(ob))


def kick(ob: bpy.types.Object) -> None:
    """Pose and key a leg as an animator does in FK."""
    for bone, angle in (("thigh.L", -1.0), ("toe.L", 0.3)):
        moved = ob.pose.bones[bone]
        moved.rotation_quaternion = Euler((angle, 0.0, 0.0)).to_quaternion()
        moved.keyframe_insert("rotation_quaternion")
    rigs.updated()


def test_a_leg_is_switched_with_its_toes_there_and_back(rigify):
    ob = human()
    activate(ob, "Leg.L")
    press(bpy.ops.pose.chain_ik_switch, to="FK")
    assert not ob.chain_ik.chains["Toe.L"].influence
    rigs.go_to(10)
    kick(ob)
    before = posed(ob)
    np.testing.assert_allclose(
        ob.pose.bones["toe.L"].matrix_basis.to_euler(), (0.3, 0, 0), atol=1e-5
    )
    press(bpy.ops.pose.chain_ik_switch, to="IK")
    assert off(before, posed(ob), "thigh.L", "shin.L", "foot.L", "toe.L") < 5e-5
    assert all_reached(ob)


def test_toes_alone_are_switched_alone_and_a_leg_leaves_those_that_are_over_already(rigify):
    ob = human()
    activate(ob, "Toe.L")
    press(bpy.ops.pose.chain_ik_switch, to="FK")
    assert [each.name for each in ob.chain_ik.chains if not each.influence] == ["Toe.L"]
    rigs.go_to(10)
    activate(ob, "Leg.L")
    press(bpy.ops.pose.chain_ik_switch, to="FK")
    assert {each.name for each in ob.chain_ik.chains if not each.influence} == {"Leg.L", "Toe.L"}
    frames = {
        point.co.x
        for curve in curves(ob)
        if '"toe.L"' in curve.data_path
        for point in curve.keyframe_points
    }
    assert frames == {0.0, 1.0}
