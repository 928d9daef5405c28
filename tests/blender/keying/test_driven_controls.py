"""Controls that drivers move, so that keys could not: refused before anything changes."""

import bpy
import numpy as np
import pytest

from tests.blender.operators.test_matching import ARM, make_arm
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal

snap = bpy.ops.pose.chain_ik_snap_target
switch_space = bpy.ops.pose.chain_ik_switch_space

RANGE = {"use_range": True, "frame_start": 10, "frame_end": 20}
BUTTONS = {
    "space": (switch_space, {"space": "Prop"}),
    "space in a range": (switch_space, {"space": "Prop", **RANGE}),
    "snap": (snap, {"use_keys": True}),
    "snap in a range": (snap, RANGE),
}
Control = bpy.types.Object | bpy.types.PoseBone


def make_keyed_arm(kind: str) -> tuple[bpy.types.Object, Control]:
    """Return an arm in FK, turned away from its keyed target, and the target."""
    ob = make_arm(kind)
    chain = ob.chain_ik.chains[0]
    target = ob.pose.bones[chain.subtarget] if kind == "BONE" else chain.target
    for frame, shift in ((1, 0.0), (14, 0.2), (30, -0.1)):
        target.location.x += shift
        target.keyframe_insert("location", frame=frame)
        target.keyframe_insert(rigs.rotation_property(target), frame=frame)
    rigs.make_empty("Prop", (1, 0, 0)).rotation_euler = (0.2, 0.3, 0.4)
    rigs.go_to(12)
    rigs.change(chain, mute=True)
    rigs.turn_bones(ob, 0, 0.4, ARM)
    return ob, target


def drive(owner: bpy.types.bpy_struct, prop: str, value: float = 0.3) -> bpy.types.FCurve:
    """Let a driver give one value to a property, or to its second axis."""
    axes = (1,) if owner.bl_rna.properties[prop].is_array else ()
    curve = owner.driver_add(prop, *axes)
    curve.driver.expression = str(value)
    rigs.updated()
    return curve


DRIVEN = "A driver moves '{}', and it always wins: remove it first."


@pytest.mark.parametrize(("kind", "is_turned"), [("BONE", False), ("EMPTY", True)])
@pytest.mark.parametrize("button", BUTTONS)
def test_keys_are_refused_for_controls_that_drivers_move(button, kind, is_turned):
    _, target = make_keyed_arm(kind)
    curve = drive(target, rigs.rotation_property(target) if is_turned else "location")
    operator, settings = BUTTONS[button]
    keys = rigs.keys_of(target.id_data)
    assert refusal(operator, **settings) == DRIVEN.format(target.name)
    assert rigs.keys_of(target.id_data) == keys
    assert not target.constraints
    rigs.change(curve, mute=True)
    press(operator, **settings)
    assert rigs.keys_of(target.id_data) != keys


def test_a_space_whose_influence_is_driven_is_not_switched():
    ob, target = make_keyed_arm("BONE")
    rigs.change(ob.chain_ik.chains[0], space="Prop")
    curve = drive(target.constraints[0], "influence", 1.0)
    assert refusal(switch_space, space="") == DRIVEN.format(target.name)
    rigs.change(curve, mute=True)
    press(switch_space, space="")
    assert ob.chain_ik.chains[0].space == ""


def test_driven_rotations_that_a_chain_does_not_use_stop_no_snap():
    ob, target = make_keyed_arm("BONE")
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, use_rotation=False)
    pole = ob.pose.bones[chain.pole_subtarget]
    for control in (target, pole):
        drive(control, rigs.rotation_property(control))
    before = rigs.tail(ob, "forearm")
    press(snap, use_keys=True)
    rigs.go_to(11)
    rigs.go_to(12)
    np.testing.assert_allclose(rigs.head(ob, target.name), before, atol=1e-4)
