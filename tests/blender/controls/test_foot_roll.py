"""Foot Roll: one channel turns a foot about its heel, its ball and the tip of its toes."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest

import blender_ik_addon
from blender_ik_addon.properties.lists import activate_chain_of
from blender_ik_addon.rig.reading.spec import Anchor
from tests.blender.controls.rolled import (
    BANK,
    ROLL,
    activate,
    all_reached,
    control_of,
    delete,
    human,
    mechanism,
    off,
    remove_right_leg,
    setup,
    turn,
)
from tests.blender.operators.test_characters import add_rig, make_limbs
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, state
from tests.blender.setups.twisted_rigs import matrices as posed


def turned_by(before: dict[str, np.ndarray], after: dict[str, np.ndarray], bone: str) -> float:
    turned = before[bone][:3, :3].T @ after[bone][:3, :3]
    return float(np.degrees(np.arccos((np.trace(turned) - 1) / 2)))


def test_it_turns_about_ball_and_tip_and_below_zero_about_its_heel(rigify):
    ob = human()
    before = posed(ob)
    for degrees in (5, 45):
        turn(ob, ROLL, degrees)
        after = posed(ob)
        assert off(before, after, "toe.L", "thigh.R", "foot.R", "toe.R") < 1e-5
        assert turned_by(before, after, "foot.L") == pytest.approx(degrees, abs=0.01)
        assert after["foot.L"][2, 3] > before["foot.L"][2, 3]
        assert all_reached(ob)
    turn(ob, ROLL, -25)
    after = posed(ob)
    np.testing.assert_allclose(after["Leg Heel.L"][:3, 3], before["Leg Heel.L"][:3, 3], atol=1e-6)
    assert after["toe.L"][2, 3] > before["toe.L"][2, 3] + 0.03
    assert before["Leg Heel.L"][1, 3] == pytest.approx(before["heel.02.L"][1, 3], abs=1e-5)
    assert abs(after["heel.02.L"][2, 3] - before["heel.02.L"][2, 3]) < 1e-5
    assert all_reached(ob)
    turn(ob, ROLL, 0)
    assert off(before, posed(ob)) < 1e-5


def test_beyond_45_degrees_it_turns_about_the_tip_of_its_toes_and_the_ball_goes_back(rigify):
    ob = human(down=0.05)
    before, heights = posed(ob), []
    for degrees in range(0, 91, 5):
        turn(ob, ROLL, degrees)
        heights.append(posed(ob)["foot.L"][2, 3])
    # No step is far from the one before: 5 degrees of a foot.
    assert np.abs(np.diff(heights)).max() < 0.05
    after = posed(ob)
    np.testing.assert_allclose(after["Leg Tip.L"][:3, 3], before["Leg Tip.L"][:3, 3], atol=1e-6)
    for bone in ("foot.L", "toe.L"):
        assert turned_by(before, after, bone) == pytest.approx(90, abs=0.01)


@pytest.mark.parametrize(
    ("scale", "side", "outward"),
    [((1, 1, 1), "L", 1.0), ((-1, 1, 1), "R", -1.0), ((1, -2, 1), "L", 1.0)],
)
def test_bank_turns_it_about_the_edges_of_its_sole(rigify, scale, side, outward):
    ob = human(scale=scale)
    before = posed(ob)
    for degrees, edge in ((20, "Outer"), (-20, "Inner")):
        turn(ob, BANK, degrees, side)
        after = posed(ob)
        name = f"Leg {edge}.{side}"
        np.testing.assert_allclose(after[name][:3, 3], before[name][:3, 3], atol=1e-6)
        moved = after[f"foot.{side}"][0, 3] - before[f"foot.{side}"][0, 3]
        assert np.sign(moved) == np.sign(outward * degrees)
        assert after[f"toe.{side}"][2, 3] > before[f"toe.{side}"][2, 3]
        assert all_reached(ob)


def test_it_is_driven_without_python_and_plays_without_the_extension(rigify):
    ob = human()
    for curve in ob.animation_data.drivers:
        assert (curve.driver.type, list(curve.modifiers)) == ("SUM", [])
    control = ob.pose.bones["Leg Target.L"]
    for frame, degrees in ((1, -20.0), (20, 60.0)):
        control[ROLL] = radians(degrees)
        control.keyframe_insert(f'["{ROLL}"]', frame=frame)
    ob.chain_ik.chains["Arm.L"].space = control_of(ob, "Neck")
    targets = [chain.subtarget for chain in ob.chain_ik.chains]
    shown = {}
    for frame in (1, 7, 13, 20):
        rigs.go_to(frame)
        shown[frame] = posed(ob)
        assert all_reached(ob)
    blender_ik_addon.unregister()
    try:
        for frame, matrices in shown.items():
            rigs.go_to(frame)
            assert off(matrices, posed(ob), *targets) < 1e-6
    finally:
        blender_ik_addon.register()


def test_a_click_on_the_control_activates_its_chain_and_one_on_the_diamond_the_control(rigify):
    ob = human()
    for chain in ("Leg.R", "Arm.L", "Leg.L", "Toe.L"):
        activate_chain_of(ob, Anchor(ob, control_of(ob, chain)))
        assert ob.chain_ik.chains[ob.chain_ik.active_index].name == chain
    bpy.ops.object.mode_set(mode="POSE")
    press(bpy.ops.pose.chain_ik_activate, index=ob.chain_ik.chains.find("Leg.L"))
    assert ob.data.bones.active.name == "Leg Target.L"


def test_a_foot_without_a_toe_has_heel_and_tip_only():
    ob = make_limbs("{0}UpperArm {0}LowerArm {0}Hand {0}UpperLeg {0}LowerLeg {0}Foot", ".L")
    rigs.updated()
    before = posed(ob)
    press(setup, control="BONE")
    assert off(before, {k: v for k, v in posed(ob).items() if k in before}) < 1e-5
    words = {name.split()[1].removesuffix(".L") for name in mechanism(ob)}
    assert words == {"Outer", "Inner", "Heel", "Tip", "Ankle"}
    assert [chain.name for chain in ob.chain_ik.chains if "Toe" in chain.name] == []
    tip = posed(ob)["Leg Tip.L"][:3, 3]
    turn(ob, ROLL, 20)
    after = posed(ob)
    np.testing.assert_allclose(after["Leg Tip.L"][:3, 3], tip, atol=1e-6)
    assert after["Leg Ankle.L"][2, 3] > after["Leg Target.L"][2, 3]


@pytest.mark.parametrize(
    ("bone", "chain", "said"),
    [
        ("Leg Ankle.L", "Leg.L", "The target bone 'Leg Ankle.L' no longer exists: choose another."),
        (
            "Root",
            "Leg.L",
            "Reached. The space of 'Leg Target.L' no longer exists: choose another space",
        ),
    ],
)
def test_a_foot_that_lacks_a_bone_says_which_and_the_others_go_on(rigify, bone, chain, said):
    ob = human()
    delete(ob, bone)
    assert ob.chain_ik.chains[chain].status == said
    others = [each.status for each in ob.chain_ik.chains if each.name != chain]
    assert all(text.startswith("Reached") for text in others), others


def test_a_leg_whose_ankle_was_deleted_says_so_to_whoever_moves_or_mirrors_its_control(rigify):
    ob = human()
    remove_right_leg(ob)
    delete(ob, "Leg Ankle.L")
    activate(ob, "Leg.L")
    before = state()
    for button in ("mirror", "switch_space", "snap_target", "move_target"):
        assert refusal(getattr(bpy.ops.pose, f"chain_ik_{button}")) == (
            "Bone 'Leg Ankle.L' of 'metarig' no longer exists: choose another bone for the chain to"
            " follow."
        ), button
        assert state() == before


@pytest.mark.parametrize("word", ["target", "pole"])
def test_a_leg_whose_target_or_pole_is_nowhere_is_not_mirrored_and_says_why(rigify, word):
    """Nothing is made then: it would be nowhere as well."""
    ob = human()
    remove_right_leg(ob)
    activate(ob, "Leg.L")
    if word == "target":
        ob.pose.bones["Leg Ankle.L"].location.x = np.nan
        said = "The transform of bone 'Leg Ankle.L' is not finite or too large: check its"
    else:
        ob.chain_ik.chains["Leg.L"].pole_target = rigs.make_empty("Pole.L", (np.nan, 0.0, 0.0))
        said = "The transform of the pole 'Pole.L' is not finite: check its"
    rigs.updated()
    names = ob.data.bones.keys(), bpy.data.objects.keys()
    assert refusal(bpy.ops.pose.chain_ik_mirror).startswith(said)
    assert (ob.data.bones.keys(), bpy.data.objects.keys()) == names


def test_a_leg_without_a_foot_is_set_up_as_well():
    ob = make_limbs("{0}UpperArm {0}LowerArm {0}Hand {0}UpperLeg {0}LowerLeg Other", ".L")
    press(setup, control="BONE")
    assert "Leg.L" in [chain.name for chain in ob.chain_ik.chains]
    assert not mechanism(ob)


def test_a_foot_and_a_hand_that_are_scaled_to_nothing_keep_the_others(rigify):
    ob = add_rig("human")
    ob.pose.bones["foot.L"].scale = (0.0, 0.0, 0.0)
    ob.pose.bones["hand.L"].scale = (0.0, 0.0, 0.0)
    rigs.updated()
    bpy.ops.pose.chain_ik_setup(control="BONE")
    names = [chain.name for chain in ob.chain_ik.chains]
    assert {"Leg.R", "Toe.R", "Arm.R"} <= set(names)
    assert all(np.isfinite(matrix).all() for matrix in posed(ob).values())
