"""Keys, drivers and keying sets go along when constraints become chains, and come back."""

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.keying.converted_rigs import (
    CHAIN,
    CLOSE,
    CONSTRAINT,
    Limb,
    assert_played,
    convert,
    ik_constraints,
    planar,
    played,
    to_chains,
    to_constraints,
    told_settings,
    two_limbs,
)
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import keyed, read_by, source_of
from tests.blender.setups.selecting import refusal, select_bones


def points_of(curve: bpy.types.FCurve) -> list[tuple[float, ...]]:
    """Return keys and handles of a curve, rounded to what float32 keeps."""
    return [
        tuple(np.round((*key.co, *key.handle_left, *key.handle_right), 4))
        for key in curve.keyframe_points
    ]


# Last the eye of a constraint, which becomes mute.
KEYS: tuple[dict[str, dict[float, object]], ...] = (
    {"pole_angle": {1: 0.2, 10: 0.4, 20: 0.1}, "mute": {1: False, 10: True, 18: False}},
    {"influence": {1: 0.0, 10: 1.0, 20: 0.3}, "weight": {1: 0.2, 20: 0.9}},
    {"influence": {1: 0.5, 20: 1.0}, "orient_weight": {1: 0.5, 20: 1.0}, "pole_angle": {1: 0.3}},
    {"enabled": {1: True, 4: False, 12: True}},
)


@pytest.mark.parametrize("keys", KEYS, ids=", ".join)
def test_keys_of_a_constraint_play_on_the_chain_and_come_back(keys):
    limb = planar()
    limb.constrain(pole_angle=0.3)
    for name, values in keys.items():
        rigs.key(limb.ob, f"{CONSTRAINT}.{name}", values)
    for curve in rigs.curves_of(limb.ob):
        for key in curve.keyframe_points:
            key.interpolation = "CONSTANT" if "enabled" in keys else "BEZIER"
    expected = played(limb)
    before = {curve.data_path: points_of(curve) for curve in rigs.curves_of(limb.ob)}
    rigs.go_to(1)
    to_chains(limb.ob)
    curves = {curve.data_path: curve for curve in rigs.curves_of(limb.ob)}
    assert curves.keys() == {f"{CHAIN}.{name}".replace("enabled", "mute") for name in keys}
    if "enabled" in keys:
        points = curves[f"{CHAIN}.mute"].keyframe_points
        assert [key.co.y for key in points] == [0.0, 1.0, 0.0]
    assert_played(limb, expected)
    rigs.go_to(1)
    to_constraints(limb.ob)
    assert_played(limb, expected)
    after = {curve.data_path: points_of(curve) for curve in rigs.curves_of(limb.ob)}
    assert after.keys() == {path.replace("enabled", "mute") for path in before}
    for path, points in before.items() if "enabled" not in keys else ():
        np.testing.assert_allclose(after[path], points, atol=2e-4)


def test_keys_of_a_chain_play_on_the_constraint_and_those_of_other_chains_stay_theirs():
    ob = two_limbs()
    to_chains(ob)
    for i, influence in enumerate((0.25, 0.75)):
        rigs.key(ob, f"chain_ik.chains[{i}].influence", {1: influence, 20: influence})
    rigs.key(ob, "chain_ik.chains[1].soft_distance", {1: 0.1})
    rigs.key(ob, "chain_ik.chains[0].soft_distance", {1: 0.2})
    ob.chain_ik.active_index = 0
    to_constraints(ob, use_all=False)
    assert keyed(ob.animation_data.action) == {
        'pose.bones["Left.1"].constraints["Left"].influence': 0.25,
        "chain_ik.chains[0].influence": 0.75,
        "chain_ik.chains[0].soft_distance": 0.1,
    }
    rigs.go_to(3)
    (constraint,) = ik_constraints(rigs.evaluated(ob))
    assert constraint.influence == 0.25


def slide(limb: Limb, value: float) -> np.ndarray:
    """Set the property that drives a limb's setting, and return its joints."""
    limb.ob["slider"] = value
    rigs.tagged(limb.ob)
    return limb.joints()


def drive(limb: Limb, name: str, expression: str = "value * 2 + 0.1") -> bpy.types.FCurve:
    """Have a custom property of the object drive a setting of the constraint."""
    limb.ob["slider"] = 0.3
    curve = read_by(limb.constraint, name, limb.ob, '["slider"]')
    curve.driver.variables[0].name = "value"
    curve.driver.expression = expression
    slide(limb, 0.3)
    return curve


def driver_of(limb: Limb) -> bpy.types.FCurve:
    (curve,) = limb.ob.animation_data.drivers
    return curve


def without_keys(curve: bpy.types.FCurve) -> None:
    """Leave a driver neither keys nor modifiers, whichever this Blender adds by itself."""
    curve.keyframe_points.clear()
    for modifier in list(curve.modifiers):
        curve.modifiers.remove(modifier)


def with_polynomial(curve: bpy.types.FCurve) -> None:
    without_keys(curve)
    curve.modifiers.new("GENERATOR").coefficients = (0.05, 0.5)


def with_keys(curve: bpy.types.FCurve) -> None:
    without_keys(curve)
    curve.keyframe_points.insert(0.0, 0.1)
    curve.keyframe_points.insert(1.0, 0.9)


def with_limits(curve: bpy.types.FCurve) -> None:
    limits = curve.modifiers.new("LIMITS")
    limits.use_max_y, limits.max_y = True, 0.5


SHAPES: dict[str, Callable[[bpy.types.FCurve], None]] = {
    "as Blender adds it": lambda curve: None,
    "bare": without_keys,
    "polynomial": with_polynomial,
    "keys": with_keys,
    "keys and limits": with_limits,
}


# Drivers and modifiers are offset alone, which is exact for limbs that stand straight without IK.
STRAIGHT = {"turn": 0.02, "bend": 0.15}


@pytest.mark.parametrize(
    ("name", "shape"), [("influence", "polynomial"), *(("pole_angle", shape) for shape in SHAPES)]
)
def test_a_driver_drives_the_chain_as_it_did_the_constraint_and_comes_back(name, shape):
    limb = planar(**STRAIGHT)
    limb.constrain(pole_angle=0.3)
    SHAPES[shape](drive(limb, name))
    curve = driver_of(limb)
    expression, modifiers, points = curve.driver.expression, len(curve.modifiers), points_of(curve)
    joints = [slide(limb, value) for value in (0.0, 0.2, 0.4)]
    for convert_limb, owner in ((to_chains, CHAIN), (to_constraints, CONSTRAINT)):
        convert_limb(limb.ob)
        curve = driver_of(limb)
        assert (curve.data_path, source_of(curve)) == (f"{owner}.{name}", '["slider"]')
        assert (curve.driver.expression, curve.driver.variables[0].name) == (expression, "value")
        for value, wanted in zip((0.0, 0.2, 0.4), joints, strict=True):
            slide(limb, value)
            assert limb.apart(wanted) <= CLOSE
    # A driver without a curve keeps the polynomial that has offset it.
    assert len(curve.modifiers) == modifiers + (shape == "bare")
    np.testing.assert_allclose(points_of(curve), points, atol=2e-4)


@pytest.mark.parametrize("shape", ["as Blender adds it", "bare", "polynomial"])
def test_a_driver_of_the_eye_drives_mute_the_other_way(shape):
    limb = Limb(3)
    limb.constrain()
    SHAPES[shape](drive(limb, "enabled", "value > 0.5"))
    if shape == "polynomial":
        driver_of(limb).modifiers[0].coefficients = (0.0, 1.0)
    to_chains(limb.ob)
    for value in (0.0, 1.0):
        slide(limb, value)
        assert rigs.evaluated(limb.ob).chain_ik.chains[0].mute == (value < 0.5)


def test_drivers_elsewhere_and_keying_sets_go_along_both_ways_and_what_is_gone_is_told(capfd):
    limb = Limb(3)
    limb.constrain(influence=0.25)
    reader = rigs.make_empty("Reader")
    curve = read_by(reader, "location", limb.ob, f"{CONSTRAINT}.influence", 0)
    keying_set = bpy.context.scene.keying_sets.new(name="Set")
    path = keying_set.paths.add(limb.ob, f"{CONSTRAINT}.influence")
    for convert_limb, owner in ((to_chains, CHAIN), (to_constraints, CONSTRAINT)):
        convert_limb(limb.ob)
        assert source_of(curve) == path.data_path == f"{owner}.influence"
        assert rigs.position(reader)[0] == pytest.approx(0.25)
    assert "Drivers" not in capfd.readouterr().out
    read_by(reader, "location", limb.ob, f"{CONSTRAINT}.use_stretch", 1)
    to_chains(limb.ob)
    assert "Warning: Drivers of Reader read what was removed" in capfd.readouterr().out


def test_keys_of_a_pole_angle_stay_in_the_range_of_a_constraint():
    limb = Limb(3)
    limb.add_chain(name="Arm", pole_angle=0.0)
    to_constraints(limb.ob)
    offset = limb.constraint.pole_angle
    to_chains(limb.ob)
    # As far off that a constraint would have them at 190 degrees, which is -170.
    values = {1: np.radians(190.0) - offset, 20: np.radians(200.0) - offset}
    rigs.key(limb.ob, f"{CHAIN}.pole_angle", values)
    rigs.go_to(1)
    to_constraints(limb.ob)
    (curve,) = rigs.curves_of(limb.ob)
    angles = [key.co.y for key in curve.keyframe_points]
    np.testing.assert_allclose(np.degrees(angles), (-170.0, -160.0), atol=4.0)
    to_chains(limb.ob)
    rigs.key(limb.ob, f"{CHAIN}.pole_angle", {40: rigs.curves_of(limb.ob)[0].evaluate(20) + 6.0})
    select_bones(limb.ob, [limb.bones[-1]])
    before = told_settings(limb.ob)
    assert refusal(convert, direction="TO_CONSTRAINTS") == (
        "Chain 'Arm': Keys of its Pole Angle would pass 180 degrees, the most that a"
        " constraint takes: change them first."
    )
    assert told_settings(limb.ob) == before


def test_keys_left_for_a_chain_that_is_gone_are_told(capfd):
    limb = Limb(3)
    limb.constrain(name="Arm")
    limb.add_chain()
    rigs.key(limb.ob, f"{CHAIN}.soft_distance", {1: 0.01})
    limb.ob.chain_ik.chains.remove(0)
    to_chains(limb.ob)
    told = "Chain 'Arm': keys or drivers of a removed chain animate it"
    assert told in capfd.readouterr().out
