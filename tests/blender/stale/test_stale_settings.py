"""Settings changed one at a time, by script, animation or driver, on rigs whose plans are warm."""

from __future__ import annotations

from math import radians

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import (
    OTHER,
    RIG,
    assert_right,
    assert_right_at,
    chain,
    named,
    pose_bone,
)

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def pole():
    return rigs.make_empty("Pole", (0.9, -1.1, 0.4))


def new_target():
    return rigs.make_empty("New", (-0.5, 0.3, 1.1))


def handle():
    ob = named("Handle") if "Handle" in bpy.data.objects else rigs.make_armature("Handle")
    if not ob.data.bones:
        rigs.add_bones(ob, ((0.5, 0.4, 0.8), (0.5, 0.4, 1.0), (0.3, 0.5, 1.2)), prefix="Handle")
    return ob


LEAVES_ALONE = {"start_from": "REST"}
"""A start that does not depend on what was stored before the setting changed."""
# What is set, what is needed for it to matter, and whether the rig still meets its target.
SETTINGS = {
    "mute": (True, {}, False),
    "influence": (0.3, {}, False),
    "bone": ("Bone.1", {}, False),
    "chain_count": (2, {}, True),
    "solver": ("CCD", {}, True),
    "target": (new_target, {}, False),
    "subtarget": ("Handle.1", {"target": handle, "subtarget": "Handle.0"}, False),
    "pole_target": (pole, {}, True),
    "pole_subtarget": ("Handle.1", {"pole_target": handle, "pole_subtarget": "Handle.0"}, True),
    "pole_angle": (radians(70.0), {"pole_target": pole}, True),
    "use_flip_bend": (True, {}, True),
    "negative_scale": ("KEEP", {}, True),
    "use_tail": (False, {}, False),
    "use_rotation": (True, {}, True),
    "orient_weight": (0.4, {"use_rotation": True}, True),
    "iterations": (1, {"solver": "CCD"}, False),
    "tolerance": (0.2, {"solver": "CCD"}, False),
    "start_from": ("REST", {}, True),
}


KEYS = {
    "influence": {1: 0.0, 9: 1.0},
    "mute": {1: False, 3: True, 7: False},
    "use_flip_bend": {1: False, 5: True},
    "pole_angle": {1: 0.0, 9: 2.0},
    "orient_weight": {1: 0.0, 9: 1.0},
}


def use(**settings: object) -> None:
    for name, value in settings.items():
        setattr(chain(), name, value() if callable(value) else value)


def make_pair_for(name: str, **more: object) -> tuple[object, dict[str, tuple[float, ...]]]:
    """Make warm rigs on which a setting matters; return its value and the free pose."""
    value, needed, _ = SETTINGS[name]
    free = warm_rigs.make_pair()
    named("Rig Target").rotation_euler = (0.4, 0.5, 0.6)
    if name == "negative_scale":
        named("Rig").scale.x = -1.0
    use(**needed, **more)
    warm_rigs.warm_up()
    return value, free


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_changed_alone_is_used_from_the_next_update_on(name):
    value, free = make_pair_for(name)
    before = warm_rigs.shown()
    use(**{name: value})
    after = warm_rigs.shown()
    assert np.abs(after["Rig"] - before["Rig"]).max() > 1e-3, "nothing changes on this rig"
    np.testing.assert_array_equal(after["Other"], before["Other"])
    assert_right([RIG, OTHER] if SETTINGS[name][2] else [OTHER])
    let_go = {"mute": free, "bone": ["Bone.2"], "chain_count": ["Bone.0"], "use_tail": ["Bone.2"]}
    if name in let_go:
        warm_rigs.assert_let_go(free, *let_go[name])


@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_changed_and_changed_back_leaves_nothing_behind(name):
    value, _free = make_pair_for(name)
    before = warm_rigs.shown()
    former = getattr(chain(), name)
    use(**{name: value})
    bpy.context.view_layer.update()
    use(**{name: former})
    warm_rigs.assert_shown(warm_rigs.shown(), before)
    assert_right([OTHER] if "Handle" in bpy.data.objects else [RIG, OTHER], warm_rigs.TARGETS)


@pytest.mark.parametrize("name", [*SETTINGS, "chains"])
def test_a_setting_unset_is_used_once_its_rig_is_tagged(name):
    if name == "chains":
        warm_rigs.make_pair()
        named("Rig").chain_ik.property_unset("chains")
    else:
        value, _free = make_pair_for(name, **LEAVES_ALONE)
        use(**{name: value})
        warm_rigs.warm_up()
        chain().property_unset(name)
        assert getattr(chain(), name) != value
    # ``property_unset`` calls no update callback and tags nothing: a script has to.
    named("Rig").update_tag()
    named("Other Target").location.x += 0.05
    is_followed = name not in {"chains", "bone", "target", "subtarget"}
    is_followed &= not SETTINGS.get(name, ("", {}))[1].get("solver")
    assert_right([RIG, OTHER] if is_followed else [OTHER])


def test_a_start_from_the_present_pose_takes_whatever_stands_there():
    warm_rigs.make_pair()
    chain().start_from = "CURRENT"
    warm_rigs.warm_up()
    for name in ("Bone.0", "Bone.2"):
        pose_bone(name).rotation_quaternion = (0.8, 0.0, 0.6, 0.0)
        bent = warm_rigs.shown()
        rigs.assert_reaches(named("Rig"), "Bone.2", named("Rig Target"))
        warm_rigs.forget()
        warm_rigs.assert_shown(warm_rigs.shown(), bent)


@pytest.mark.parametrize("moved", ["Rig Target", "Pole"])
def test_a_target_turned_in_place_and_a_pole_moved_alone_are_followed(moved):
    warm_rigs.make_pair()
    use(use_rotation=True, pole_target=pole)
    warm_rigs.warm_up()
    before = warm_rigs.shown()
    named(moved).rotation_euler = (0.4, 0.5, 0.6)
    if moved == "Pole":
        named(moved).location.x += 0.8
    assert np.abs(warm_rigs.shown()["Rig"] - before["Rig"]).max() > 1e-3
    assert_right(movers=("Pole", *warm_rigs.TARGETS))


@pytest.mark.parametrize("name", KEYS)
def test_keyed_settings_are_those_of_the_frame_whatever_was_shown_before(name):
    warm_rigs.make_pair()
    named("Rig Target").rotation_euler = (0.4, 0.5, 0.6)
    context = {"pole_angle": {"pole_target": pole}, "orient_weight": {"use_rotation": True}}
    use(**context.get(name, {}))
    rigs.key(named("Rig"), f"chain_ik.chains[0].{name}", KEYS[name])
    assert_right_at(5, 8, 2, 4, limbs=[OTHER])
    rigs.key(named("Other Target"), "location", {1: (1.4, 0.8, 0.9), 9: (1.0, 1.0, 1.1)})
    assert_right_at(5, 2, limbs=[OTHER])


def test_keys_edited_muted_and_removed_are_new_from_the_next_frame_on():
    warm_rigs.make_pair()
    rigs.key(named("Rig"), "chain_ik.chains[0].influence", {1: 0.2, 9: 0.6})
    assert_right_at(5, 7, limbs=[OTHER])
    curve = rigs.curves_of(named("Rig"))[0]
    curve.keyframe_points[1].co.y = 1.0
    curve.update()
    assert_right_at(7, 9, limbs=[OTHER])
    assert_right()
    curve.mute = True
    assert_right_at(4, limbs=[OTHER])
    rigs.curves_of(named("Rig"))[0].mute = False
    named("Rig").animation_data.action = None
    assert_right_at(3, limbs=[OTHER])
    chain().influence = 1.0
    assert_right()


def drive_influence_by_dial() -> bpy.types.FCurve:
    rigs.make_empty("Dial", (0.3, 0, 0))
    curve = named("Rig").driver_add("chain_ik.chains[0].influence")
    variable = curve.driver.variables.new()
    variable.name, variable.type = "value", "TRANSFORMS"
    variable.targets[0].id = named("Dial")
    curve.driver.expression = "value"
    return curve


def turn_dial(value: float) -> None:
    """Turn the dial that drives, and check that the value is used in the same update."""
    named("Dial").location.x = value
    before = warm_rigs.shown()
    assert chain().influence == pytest.approx(value)
    warm_rigs.forget()
    warm_rigs.assert_shown(warm_rigs.shown(), before)


def test_a_driver_on_influence_is_used_in_the_update_in_which_its_source_moves():
    warm_rigs.make_pair()
    curve = drive_influence_by_dial()
    for value in (0.3, 0.7, 0.0, 1.0, 0.5):
        turn_dial(value)
    assert_right([OTHER])
    curve.mute = True
    named("Dial").location.x = 0.9
    assert_right([OTHER])
    assert chain().influence == pytest.approx(0.5)
    named("Rig").animation_data.drivers[0].mute = False
    turn_dial(1.0)
    assert_right()
    named("Rig").driver_remove("chain_ik.chains[0].influence")
    named("Dial").location.x = 0.2
    assert_right()


def test_a_driver_s_new_expression_and_new_source_are_used():
    warm_rigs.make_pair()
    curve = drive_influence_by_dial()
    turn_dial(0.4)
    curve.driver.expression = "value * 0 + 1"
    assert_right()
    curve.driver.expression = "value"
    curve.driver.variables[0].targets[0].id = named("Other Target")
    named("Dial").location.x = 0.1
    assert_right([OTHER])
    assert chain().influence == pytest.approx(1.0)


def rename_the_tip():
    named("Rig").data.bones["Bone.2"].name = "Hand"
    chain().bone = "Hand"


def edit_a_bone():
    def lengthen(bones):
        bones["Bone.0"].tail.z += 0.1

    warm_rigs.edit_bones(lengthen)


def change_settings():
    use(solver="FABRIK", use_flip_bend=True)
    named("Rig").chain_ik.chains.add()
    named("Rig").chain_ik.chains.move(1, 0)


def change_the_pose():
    pose_bone("Above.0").rotation_quaternion = (0.9, 0.1, 0.2, 0.1)
    pose_bone("Bone.1").rotation_mode = "QUATERNION"
    named("Rig").location.y = 0.2


OFFLINE = (rename_the_tip, edit_a_bone, change_settings, change_the_pose)


@pytest.mark.parametrize("change", [*OFFLINE, None])
def test_what_changed_while_live_was_off_is_used_once_it_is_on(change):
    warm_rigs.make_pair()
    bpy.context.scene.chain_ik.use_live = False
    for step in (change,) if change else OFFLINE:
        step()
        for name in warm_rigs.TARGETS:
            named(name).location += 0.5 * warm_rigs.SHIFT / len(OFFLINE)
        bpy.context.view_layer.update()
    rigs.go_to(3)
    bpy.context.scene.chain_ik.use_live = True
    tip = "Hand" if change in (rename_the_tip, None) else "Bone.2"
    assert_right([("Rig", tip, "Rig Target"), OTHER])


def test_a_chain_muted_while_live_was_off_lets_go_once_it_is_on():
    free = warm_rigs.make_pair()
    bpy.context.scene.chain_ik.use_live = False
    chain().mute = True
    bpy.context.view_layer.update()
    bpy.context.scene.chain_ik.use_live = True
    assert_right([OTHER])
    warm_rigs.assert_let_go(free)
