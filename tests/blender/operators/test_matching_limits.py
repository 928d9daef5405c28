"""Poses that limits do not allow: matching says which chains turn, and by how much."""

import math
import re

import bpy
import numpy as np
import pytest
from mathutils import Euler

from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.selecting import press, select_bones, warnings
from tests.helpers import angles_between

switch = bpy.ops.pose.chain_ik_switch
snap = bpy.ops.pose.chain_ik_snap_target

CHAIN = np.array([(0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.0, 2.4)])
SIDES = {"Arm.L": 0.0, "Arm.R": 3.0}
# Turns of forearms that the joint allows, and one with half a degree about a second axis.
BENT, NEARLY_BENT = (40.0, 0.0, 0.0), (40.0, 0.0, 0.5)
SIDEWAYS, WRONG_WAY = (40.0, 0.0, 20.0), (-70.0, 0.0, 0.0)


def make_arms() -> bpy.types.Object:
    """Return two muted arms with hands, whose elbows bend about X, to one side only."""
    ob = rigs.make_armature()
    for name, aside in SIDES.items():
        names = [f"{name}.{part}" for part in range(3)]
        rigs.add_bones(ob, CHAIN + np.array([aside, 0.0, 0.0]), names=names)
        select_bones(ob, names)
        press(bpy.ops.pose.chain_ik_add, control="BONE")
        chain = ob.chain_ik.chains[-1]
        chain.name = name
        add_joint(chain, names[1], "ELBOW_X", x=(-10, 140))
        rigs.change(chain, mute=True)
    return ob


def turn_elbow(ob: bpy.types.Object, name: str, degrees: tuple[float, ...]) -> None:
    turn = Euler([math.radians(angle) for angle in degrees]).to_quaternion()
    rigs.change(ob.pose.bones[f"{name}.1"], rotation_quaternion=turn)


def turns(ob: bpy.types.Object, name: str) -> np.ndarray:
    bones = rigs.evaluated(ob).pose.bones
    return np.array([bones[f"{name}.{part}"].matrix.to_quaternion() for part in range(3)])


@pytest.mark.parametrize("button", [switch, snap])
@pytest.mark.parametrize("use_limits", [True, False])
@pytest.mark.parametrize("pole_mode", ["TARGET", "FOLLOW"])
@pytest.mark.parametrize("degrees", [BENT, NEARLY_BENT, SIDEWAYS, WRONG_WAY])
def test_a_pose_that_limits_will_turn_is_reported(button, use_limits, pole_mode, degrees, capfd):
    ob = make_arms()
    rigs.change(ob.chain_ik.chains["Arm.L"], use_limits=use_limits, pole_mode=pole_mode)
    turn_elbow(ob, "Arm.L", degrees)
    before = turns(ob, "Arm.L")
    select_bones(ob, ["Arm.L.1"])
    capfd.readouterr()
    press(button)
    said = warnings(capfd)
    rigs.change(ob.chain_ik.chains["Arm.L"], mute=False)
    turned = np.degrees(angles_between(turns(ob, "Arm.L"), before)).max()
    is_turned = use_limits and degrees in (SIDEWAYS, WRONG_WAY)
    assert (turned > 1.0) == is_turned
    expected = (
        f"Warning: Limits turn Arm.L ({turned:.0f}°) out of this pose: to keep the pose, change"
        " the joints or untick Limits, or undo this and pose inside of the limits first."
    )
    assert said == ([expected] if is_turned else [])


@pytest.mark.parametrize("button", [switch, snap])
def test_what_constraints_turn_is_not_blamed_on_limits(button, capfd):
    ob = make_arms()
    turn_elbow(ob, "Arm.L", (40.0, 0.0, 0.05))
    turned = rigs.make_empty(location=(0.0, 5.0, 0.0))
    turned.rotation_euler = 1.0, 2.0, 3.0
    ob.pose.bones["Arm.L.2"].constraints.new("COPY_ROTATION").target = turned
    rigs.updated()
    select_bones(ob, ["Arm.L.1"])
    press(button)
    assert not warnings(capfd)


@pytest.mark.parametrize("button", [switch, snap])
def test_one_sentence_names_all_chains_that_limits_will_turn(button, capfd):
    ob = make_arms()
    for name, degrees in zip(SIDES, (SIDEWAYS, WRONG_WAY), strict=True):
        turn_elbow(ob, name, degrees)
    select_bones(ob, [f"{name}.1" for name in SIDES])
    capfd.readouterr()
    press(button)
    (said,) = warnings(capfd)
    assert re.search(r"Limits turn Arm\.L \(\d+°\), Arm\.R \(\d+°\) out", said)
    # A live chain starts from the same pose as before.
    for chain in ob.chain_ik.chains:
        rigs.change(chain, mute=False)
    press(snap)
    assert warnings(capfd) == []


def test_a_range_names_the_frame_whose_pose_is_farthest_outside_of_limits(capfd):
    ob = make_arms()
    for frame, degrees in ((1, BENT), (5, SIDEWAYS), (9, BENT)):
        turn_elbow(ob, "Arm.L", degrees)
        ob.pose.bones["Arm.L.1"].keyframe_insert("rotation_quaternion", frame=frame)
    rigs.go_to(5)
    before = turns(ob, "Arm.L")
    rigs.go_to(1)
    select_bones(ob, ["Arm.L.1"])
    capfd.readouterr()
    press(snap, use_range=True, frame_start=1, frame_end=9)
    (said,) = warnings(capfd)
    assert bpy.context.scene.frame_current == 1
    rigs.change(ob.chain_ik.chains["Arm.L"], mute=False)
    rigs.go_to(5)
    turned = np.degrees(angles_between(turns(ob, "Arm.L"), before)).max()
    assert f"Limits turn Arm.L ({turned:.0f}° at frame 5) out of this pose" in said


def test_a_warning_keeps_a_pose_without_keys_on_animated_bones(capfd):
    ob = make_arms()
    ob.pose.bones["Arm.L.1"].keyframe_insert("rotation_quaternion", frame=1)
    turn_elbow(ob, "Arm.L", SIDEWAYS)
    before = turns(ob, "Arm.L")
    select_bones(ob, ["Arm.L.1"])
    press(snap)
    assert "Limits turn Arm.L" in capfd.readouterr().out
    np.testing.assert_allclose(turns(ob, "Arm.L"), before, atol=1e-6)


@pytest.mark.parametrize("button", [switch, snap])
def test_a_chain_with_a_joint_that_cannot_be_used_is_matched_as_others(button, capfd):
    ob = make_arms()
    chain = ob.chain_ik.chains["Arm.L"]
    add_joint(chain, "Arm.L.1", "HINGE_X")
    turn_elbow(ob, "Arm.L", SIDEWAYS)
    select_bones(ob, ["Arm.L.1"])
    before = rigs.evaluated(ob).pose.bones[chain.subtarget].matrix.copy()
    capfd.readouterr()
    press(button)
    assert warnings(capfd) == []
    assert rigs.evaluated(ob).pose.bones[chain.subtarget].matrix != before
