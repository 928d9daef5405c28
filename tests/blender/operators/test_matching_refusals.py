"""Matching of FK and IK is refused before anything changes if its keys would have no effect."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.operators.test_matching import (
    ARM,
    MAX_TURN,
    apply,
    make_arm,
    snap,
    switch,
    turns,
)
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action, strip_of
from tests.blender.setups.selecting import press, refusal
from tests.helpers import angles_between


def give_layer(owner: bpy.types.Object, how: str, folder: Path) -> None:
    """Let an NLA strip play the action of an object, below a second action of one kind."""
    strip_of(owner)
    rigs.key(owner, "pass_index", {1: 0})
    data = owner.animation_data
    data.action.name = "Layer"
    if how == "half":
        data.action_influence = 0.5
    elif how == "linked":
        path, action = str(folder / "library.blend"), data.action
        bpy.data.libraries.write(path, {action})
        data.action = None
        bpy.data.actions.remove(action)
        with bpy.data.libraries.load(path, link=True) as (_, loaded):
            loaded.actions = ["Layer"]
        assign_action(owner, loaded.actions[0])
    elif how == "solo":
        data.nla_tracks[0].is_solo = True
    else:
        data.action_blend_type = how


REFUSED = {
    "to IK": lambda: refusal(switch, to="IK"),
    "to FK": lambda: refusal(switch, to="FK"),
    "snap": lambda: refusal(snap, use_keys=True),
    "snap range": lambda: refusal(snap, use_range=True, frame_start=20, frame_end=30),
}
# Toward FK, an empty gets no keys.
OF_EMPTIES = ("to IK", "snap", "snap range")


@pytest.mark.parametrize(
    ("kind", "button"),
    [*(("BONE", button) for button in REFUSED), *(("EMPTY", button) for button in OF_EMPTIES)],
)
@pytest.mark.parametrize("how", ["ADD", "COMBINE", "half", "linked", "solo"])
def test_an_action_that_takes_no_keys_is_refused_before_anything_changes(
    how, kind, button, tmp_path
):
    ob = make_arm(kind)
    chain = ob.chain_ik.chains[0]
    target = chain.target if kind == "EMPTY" else ob.pose.bones[chain.subtarget]
    place = target.location.copy()
    values = {1: place, 16: place + Vector((0.1, -0.2, -0.5)), 30: place + Vector((0.2, 0.1, 0.1))}
    rigs.key(target, "location", values)
    rigs.key(ob, "chain_ik.chains[0].influence", {1: 1.0})
    give_layer(target.id_data, how, tmp_path)
    rigs.change(chain, mute=button != "to FK", use_flip_bend=True)

    def play() -> list[np.ndarray]:
        frames = map(rigs.go_to, range(1, 31))
        return [np.array(rigs.evaluated(target.id_data).matrix_world) for _ in frames]

    before, keys = play(), rigs.keys_of(target.id_data)
    action = "action 'Layer'" if how == "linked" else "NLA"
    assert REFUSED[button]().startswith(f"The {action} of '{target.id_data.name}' ")
    assert chain.use_flip_bend
    assert rigs.keys_of(target.id_data) == keys
    np.testing.assert_array_equal(play(), before)


KEYING = REFUSED | {
    "apply": lambda: refusal(apply, use_keys=True),
    "apply range": lambda: refusal(apply, use_range=True, frame_start=20, frame_end=30),
    "switch space": lambda: switch_space(refusal),
}


@pytest.mark.parametrize("button", KEYING)
def test_keys_that_stretched_time_moves_are_refused_before_anything_changes(button):
    ob = make_arm()
    target, render = target_of(ob), bpy.context.scene.render
    rigs.make_empty("Prop")
    rigs.key(target, "location", {1: target.location.copy(), 30: (0.2, 0.1, 0.1)})
    rigs.change(ob.chain_ik.chains[0], mute=button == "to IK", use_flip_bend=True)
    render.frame_map_new = 50
    rigs.go_to(12)
    keys, settings = rigs.keys_of(ob), repr(ob.chain_ik.chains[0].items())
    assert KEYING[button]() == (
        "Time stretching moves keys: set Output > Time Stretching to 100 and 100 first."
    )
    assert rigs.keys_of(ob) == keys
    assert repr(ob.chain_ik.chains[0].items()) == settings
    # Equal numbers stretch nothing, and without keys nothing can play elsewhere.
    render.frame_map_old = 50
    press(switch, to="TOGGLE")
    render.frame_map_new = 100
    press(snap)


def drive(chain: bpy.types.PropertyGroup, setting: str, value: float) -> bpy.types.FCurve:
    """Let a driver give a setting of a chain one value."""
    curve = chain.driver_add(setting)
    curve.driver.expression = str(value)
    rigs.updated()
    return curve


@pytest.mark.parametrize(
    ("to", "setting", "value"),
    [
        ("FK", "influence", 1.0),
        ("IK", "influence", 0.0),
        ("IK", "mute", 1.0),
        ("IK", "use_flip_bend", 1.0),
        ("IK", "pole_angle", 1.0),
    ],
)
def test_a_switch_that_a_driver_would_undo_is_refused(to, setting, value):
    ob = make_arm(pole_mode="FOLLOW")
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, mute=to == "IK")
    rigs.turn_bones(ob, 0, 0.3, ARM)
    curve = drive(chain, setting, value)
    label = chain.bl_rna.properties[setting].name
    assert refusal(switch, to=to) == (
        f"The setting '{label}' has a driver, which always wins: remove the driver, or key what it"
        " reads instead."
    )
    curve.mute = True
    press(switch, to=to)
    assert chain.influence == (to == "IK")


def test_a_switch_that_a_driver_does_not_disturb_is_keyed():
    ob = make_arm(pole_mode="FOLLOW")
    chain = ob.chain_ik.chains[0]
    drive(chain, "mute", 0.0)
    drive(chain, "pole_angle", chain.pole_angle)
    for to in ("FK", "IK"):
        before = turns(ob)
        press(switch, to=to)
        assert chain.influence == (to == "IK")
        assert angles_between(turns(ob), before).max() <= MAX_TURN
    assert not any("mute" in curve.data_path for curve in rigs.curves_of(ob))


def key_all(ob: bpy.types.Object, *paths: str) -> list[bpy.types.FCurve]:
    """Key properties at the first frame; return their curves."""
    for path in paths:
        ob.keyframe_insert(path, frame=1, group="Keys")
    return [curve for curve in rigs.curves_of(ob) if curve.data_path in paths]


def switch_space(press_button=press) -> str | None:
    return press_button(bpy.ops.pose.chain_ik_switch_space, space="Prop")


KEYED: dict[str, Callable[[bpy.types.Object], tuple[Any, str]]] = {
    "influence": lambda ob: (ob.chain_ik.chains[0], "influence"),
    "mute": lambda ob: (ob.chain_ik.chains[0], "mute"),
    "bone": lambda ob: (ob.pose.bones[ARM[0]], "rotation_quaternion"),
    "target": lambda ob: (target_of(ob), "location"),
    "space": lambda ob: (target_of(ob).constraints[0], "influence"),
}
ADVICE = {
    "mute": "is muted, so new keys would not play: unmute or delete it first.",
    "lock": "is locked, so it takes no keys: unlock it first.",
}


def target_of(ob: bpy.types.Object) -> bpy.types.PoseBone:
    return ob.pose.bones[ob.chain_ik.chains[0].subtarget]


@pytest.mark.parametrize(
    ("button", "keyed", "flags"),
    [
        ("to FK", "influence", "mute lock"),
        ("to FK", "bone", "mute"),
        ("to IK", "influence", "mute lock"),
        ("to IK", "mute", "lock"),
        ("to IK", "target", "mute lock"),
        ("snap", "target", "mute lock"),
        ("snap range", "target", "mute lock"),
        ("switch space", "target", "mute lock"),
        ("switch space", "space", "mute lock"),
    ],
)
def test_keys_in_muted_or_locked_curves_are_refused(button, keyed, flags):
    ob = make_arm()
    rigs.make_empty("Prop")
    switch_space()
    item, prop = KEYED[keyed](ob)
    curve = key_all(ob, item.path_from_id(prop))[-1]
    rigs.change(ob.chain_ik.chains[0], mute=button == "to IK")
    refuse = REFUSED.get(button, lambda: switch_space(refusal))
    label = item.bl_rna.properties[prop].name
    for flag in flags.split():
        for holder in filter(None, (curve, curve.group)):
            setattr(holder, flag, True)
            rigs.updated()
            assert refuse() == f"The F-curve '{label}' of '{item.name}' {ADVICE[flag]}"
            setattr(holder, flag, False)


@pytest.mark.parametrize(("to", "flag"), [("IK", "mute"), ("IK", "lock"), ("FK", "lock")])
def test_a_switch_is_keyed_beside_curves_of_bones_that_do_not_stop_it(to, flag):
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, mute=to == "IK")
    bones = [ob.pose.bones[name].path_from_id("rotation_quaternion") for name in ARM]
    for curve in key_all(ob, *bones):
        curve.modifiers.new("CYCLES")
        setattr(curve, flag, True)
    rigs.go_to(12)
    before = turns(ob)
    press(switch, to=to)
    assert chain.influence == (to == "IK")
    for _ in rigs.each_frame((12, 13)):
        assert angles_between(turns(ob), before).max() <= MAX_TURN
    curves = [curve for curve in rigs.curves_of(ob) if curve.data_path in bones]
    assert flag == "lock" or all(curve.mute for curve in curves)


def test_a_chain_that_was_baked_while_its_mute_was_keyed_is_switched():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    (curve,) = key_all(ob, chain.path_from_id("mute"))
    press(bpy.ops.pose.chain_ik_bake, frame_start=1, frame_end=12)
    assert curve.mute
    rigs.go_to(6)
    press(switch, to="IK")
    assert [(rigs.go_to(frame), chain.influence)[1] for frame in (5, 6)] == [0.0, 1.0]
