"""FK and IK of feet that roll: their control is moved, and toes go along with their leg."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Euler

from blender_ik_addon.rig.reading.animation import curves
from tests.blender.controls.rolled import (
    ROLL,
    activate,
    all_reached,
    human,
    mechanism,
    off,
    posed,
    turn,
)
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press


@pytest.mark.parametrize("roll", [-15.0, 70.0])
def test_snap_target_moves_the_control_and_keeps_the_roll(rigify, roll):
    ob = human()
    turn(ob, ROLL, roll)
    chain = ob.chain_ik.chains["Leg.L"]
    activate(ob, "Leg.L")
    chain.mute = True
    for bone, angle in (("thigh.L", -0.5), ("shin.L", 0.7), ("foot.L", 0.3)):
        rigs.updated()
        ob.pose.bones[bone].rotation_mode = "XYZ"
        ob.pose.bones[bone].rotation_euler = (angle, 0.05, 0.02)
    rigs.updated()
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_snap_target)
    chain = ob.chain_ik.chains["Leg.L"]
    chain.mute = False
    rigs.updated()
    assert off(before, posed(ob), "thigh.L", "shin.L", "foot.L") < 2e-5
    assert ob.pose.bones["Leg Target.L"][ROLL] == pytest.approx(radians(roll))
    assert not any(any(ob.pose.bones[name].location) for name in mechanism(ob))


SCALES = [(1, 1, 1), (0.01, 0.01, 0.01), (-1, 1, 1), (1.2, 0.8, 1)]


@pytest.mark.parametrize("scale", SCALES)
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


def test_toes_are_snapped_and_applied_with_their_leg(rigify):
    ob = human()
    activate(ob, "Leg.L")
    press(bpy.ops.pose.chain_ik_apply)
    assert {each.name for each in ob.chain_ik.chains if each.mute} == {"Leg.L", "Toe.L"}
    kick(ob)
    before = posed(ob)
    press(bpy.ops.pose.chain_ik_snap_target)
    for name in ("Leg.L", "Toe.L"):
        ob.chain_ik.chains[name].mute = False
    rigs.updated()
    assert off(before, posed(ob), "foot.L", "toe.L") < 5e-5
