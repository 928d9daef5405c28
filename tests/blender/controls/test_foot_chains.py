"""The chains of feet that roll: removed, set up again and mirrored, with those of their toes."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.controls.rolled import (
    BANK,
    ROLL,
    activate,
    all_reached,
    delete,
    human,
    mechanism,
    off,
    posed,
    remove_right_leg,
    setup,
    turn,
)
from tests.blender.operators.test_characters import add_rig
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal


@pytest.mark.parametrize("gone", ["", "Leg Target.L", "Leg Ball.L"])
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


def test_a_leg_that_is_removed_without_its_controls_leaves_its_toes(rigify):
    ob = human()
    made = chains(ob)
    activate(ob, "Leg.L")
    press(bpy.ops.pose.chain_ik_remove)
    assert made - chains(ob) == {"Leg.L"}


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
