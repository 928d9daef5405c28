"""Keys, drivers and keying sets follow the conversion of constraints to chains and back.

A message gives the difference between poses at keyed frames; all other data stays.
"""

import re
from collections.abc import Callable

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.keying import keyed_frames
from blender_ik_addon.rig.tools.converting import change_in_words
from blender_ik_addon.rig.tools.lengths import LengthUnit
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
    settings_and_animation,
    to_chains,
    to_constraints,
    two_limbs,
)
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action, keyed, read_by, source_of, strip_of
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects


def points_of(curve: bpy.types.FCurve) -> list[tuple[float, ...]]:
    """Return keys and handles of a curve, rounded because they are float32."""
    return [
        tuple(np.round((*key.co, *key.handle_left, *key.handle_right), 4))
        for key in curve.keyframe_points
    ]


# The last entry is the eye of a constraint (``enabled``), which becomes ``mute``.
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
        np.testing.assert_allclose(after[path], points, atol=1e-5)


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
    """Set the property that drives a setting of a limb, and return the joints."""
    limb.ob["slider"] = value
    rigs.tagged(limb.ob)
    return limb.joints()


def drive(limb: Limb, name: str, expression: str = "value * 2 + 0.1") -> bpy.types.FCurve:
    """Drive a setting of the constraint by a custom property of the object."""
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
    """Remove keys and modifiers of a driver: Blender versions differ in which of them they add."""
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


# Drivers and modifiers get only an offset; that is exact for limbs that are straight without IK.
NEARLY_STRAIGHT = {"turn": 0.02, "bend": 0.15}


@pytest.mark.parametrize(
    ("name", "shape"), [("influence", "polynomial"), *(("pole_angle", shape) for shape in SHAPES)]
)
def test_a_driver_drives_the_chain_as_it_did_the_constraint_and_comes_back(name, shape):
    limb = planar(**NEARLY_STRAIGHT)
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
        for value, expected in zip((0.0, 0.2, 0.4), joints, strict=True):
            slide(limb, value)
            assert limb.max_gap(expected) <= CLOSE
    # A driver without a curve keeps the polynomial modifier that gives its offset.
    assert len(curve.modifiers) == modifiers + (shape == "bare")
    np.testing.assert_allclose(points_of(curve), points, atol=1e-5)


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
    assert "Warning: Drivers of Reader read settings that were removed" in capfd.readouterr().out


def test_keys_of_a_pole_angle_stay_in_the_range_of_a_constraint():
    limb = Limb(3)
    limb.add_chain(name="Arm", pole_angle=0.0)
    to_constraints(limb.ob)
    offset = limb.constraint.pole_angle
    to_chains(limb.ob)
    # Angles that a constraint would have at 190 degrees, which is -170, and at 200 degrees.
    values = {1: np.radians(190.0) - offset, 20: np.radians(200.0) - offset}
    rigs.key(limb.ob, f"{CHAIN}.pole_angle", values)
    rigs.go_to(1)
    to_constraints(limb.ob)
    (curve,) = rigs.curves_of(limb.ob)
    angles = [key.co.y for key in curve.keyframe_points]
    np.testing.assert_allclose(np.degrees(angles), (-170.0, -160.0), atol=0.05)
    to_chains(limb.ob)
    rigs.key(limb.ob, f"{CHAIN}.pole_angle", {40: rigs.curves_of(limb.ob)[0].evaluate(20) + 6.0})
    select_bones(limb.ob, [limb.bones[-1]])
    before = settings_and_animation(limb.ob)
    assert refusal(convert, direction="TO_CONSTRAINTS") == (
        "Chain 'Arm': Keys of its Pole Angle would exceed 180 degrees, the maximum of a"
        " constraint: change these keys first."
    )
    assert settings_and_animation(limb.ob) == before


def test_keys_left_for_a_chain_that_is_gone_are_told(capfd):
    limb = Limb(3)
    limb.constrain(name="Arm")
    limb.add_chain()
    rigs.key(limb.ob, f"{CHAIN}.soft_distance", {1: 0.01})
    limb.ob.chain_ik.chains.remove(0)
    to_chains(limb.ob)
    text = "Keys or drivers of a removed chain animate chain 'Arm': delete those"
    assert text in capfd.readouterr().out


@pytest.mark.parametrize("is_held", [False, True])
@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
def test_actions_that_the_armature_does_not_use_are_told_and_converted_from_muted_tracks(
    direction, is_held, capfd
):
    limb = Limb(3)
    paths = ['pose.bones["Bone.1"].constraints["Arm"].influence', f"{CHAIN}.influence"]
    paths = paths if direction == "TO_CHAINS" else paths[::-1]
    limb.add(direction, name="Arm")
    rigs.key(limb.ob, paths[0], {1: 1.0, 20: 0.5})
    data = limb.ob.animation_data
    walk, run = data.action.copy(), data.action.copy()
    walk.name, run.name = "Walk", "Run"
    assign_action(rigs.make_empty("Other"), run)
    if is_held:
        track = data.nla_tracks.new()
        track.mute = True
        track.strips.new("Walk", 100, walk)
    limb.convert(direction)
    text = (
        "Warning: Actions that the armature does not use were not converted: 'Walk'. Undo this, add"
        " them to muted NLA tracks, and convert again."
    )
    assert (text in capfd.readouterr().out) != is_held
    assert [curve.data_path for curve in rigs.curves_of(limb.ob)] == [paths[1]]
    assign_action(limb.ob, walk)
    assert [curve.data_path for curve in rigs.curves_of(limb.ob)] == [paths[is_held]]


DIFFERENCE = re.compile(
    r"joints (?:are )?up to ([\d.]+) m apart\. The difference is largest at frame ([\d.]+)\."
)


def make_moving(frames=(1, 10, 24, 40)) -> Limb:
    limb = Limb(3, 4, use_pole=False)
    root = rigs.head(limb.ob, limb.bones[0])
    offset = np.array(limb.target.location) - root
    # Nearly straight, chain and constraint bend alike.
    far = root + offset / np.linalg.norm(offset) * 0.99 * limb.length
    near = root + offset
    places = dict.fromkeys(frames, tuple(far)) | {frames[2]: tuple(near)}
    rigs.key(limb.target, "location", places)
    rigs.go_to(frames[0])
    return limb


@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
def test_the_worst_difference_of_all_keyed_frames_is_told_last_with_its_frame(direction, capfd):
    limb, frames = make_moving(), (1, 10, 24, 40)
    limb.add(direction, name="Tail")
    before = played(limb, frames)
    rigs.go_to(1)
    capfd.readouterr()
    limb.convert(direction)
    lines = [line for line in capfd.readouterr().out.splitlines() if ": " in line]
    after = played(limb, frames)
    gaps = np.linalg.norm(np.subtract(after, before), axis=2).max(axis=1)
    assert gaps.argmax() != 0
    assert gaps.max() > 2.0 * gaps[0]
    most, frame = DIFFERENCE.search(lines[-1]).groups()
    assert lines[-1].startswith("Warning: Chain 'Tail' (4 bones): ")
    assert float(most) == pytest.approx(gaps.max(), rel=0.06)
    assert float(frame) == frames[int(gaps.argmax())]


def test_tip_and_joints_that_differ_most_at_other_frames_are_told_with_both():
    gaps = np.array([[0.0, 0.0, 0.0], [0.0, 0.1, 0.2], [0.0, 0.4, 0.0]])
    change = change_in_words(gaps, 2.0, (1.0, 10.0, 24.5), LengthUnit())
    assert change == (
        "(2 bones): the tip is 20 cm off, joints are up to 40 cm apart. The tip is farthest off"
        " at frame 10, a joint at frame 24.5."
    )
    gaps[1, 2] = 0.0
    assert "tip is the same" in change_in_words(gaps, 2.0, (1.0, 10.0, 24.5), LengthUnit())
    gaps[2, 2] = 0.3
    change = change_in_words(gaps, 2.0, (1.0, 10.0, 24.5), LengthUnit())
    assert change.endswith("The difference is largest at frame 24.5.")


def test_keys_of_what_moves_the_target_count_and_those_of_other_things_do_not():
    limb = make_moving()
    limb.constrain()
    carrier, other = rigs.make_empty("Carrier"), rigs.make_empty("Other")
    limb.target.parent = carrier
    rigs.key(carrier, "rotation_euler", {5: (0, 0, 0), 12.5: (0, 0, 0.3)})
    rigs.key(other, "location", {7: (0, 0, 0), 8: (1, 0, 0)})
    rigs.key(limb.ob, 'pose.bones["Root.0"].location', {30: (0, 0, 0), 31: (0, 0.1, 0)})
    constraint = f'pose.bones["{limb.bones[-1]}"].constraints["IK"].influence'
    rigs.key(limb.ob, constraint, {33: 1.0, 34: 0.9})
    rigs.add_bones(limb.ob, [(5, 0, 0), (6, 0, 0)], prefix="Apart")
    rigs.key(limb.ob, 'pose.bones["Apart.0"].location', {50: (0, 0, 0), 51: (0, 1, 0)})
    frames = visited_frames(limb)
    assert frames == [1, 5, 10, 12.5, 24, 30, 31, 33, 34, 40] * 2


def visited_frames(limb: Limb) -> list[float]:
    """Return the frames that are set while the constraint is converted, in this order."""
    frames: list[float] = []

    def note(scene: bpy.types.Scene, *_arguments: object) -> None:
        frames.append(scene.frame_current_final)

    rigs.go_to(1)
    bpy.app.handlers.frame_change_pre.append(note)
    limb.convert("TO_CHAINS")
    bpy.app.handlers.frame_change_pre.remove(note)
    if not frames:
        return frames
    # Both visits end with the return to the present frame.
    half = len(frames) // 2
    assert frames[half - 1] == frames[-1] == 1
    return frames[: half - 1] + frames[half:-1]


def test_strips_count_where_they_play():
    limb = make_moving()
    limb.constrain()
    strip = strip_of(limb.target, 101)
    strip.scale = 2.0
    assert visited_frames(limb) == [101, 119, 147, 179] * 2


def test_of_very_many_keys_no_more_frames_are_visited_than_a_bake_takes(monkeypatch):
    limb = make_moving()
    limb.constrain()
    rigs.key(limb.target, "location", {i: (0.1 * (i % 7), 0.5, 0.5) for i in range(1, 400, 2)})
    monkeypatch.setattr(keyed_frames, "MAX_FRAMES", 20)
    frames = visited_frames(limb)
    assert len(frames) == 40
    assert (frames[0], frames[19]) == (1, 399)
    # Without keys no frame is set.
    limb = Limb(3, 4, use_pole=False)
    limb.constrain()
    assert visited_frames(limb) == []


@pytest.mark.parametrize("direction", ["TO_CHAINS", "TO_CONSTRAINTS"])
def test_frame_and_pose_are_as_before_also_what_was_moved_and_not_keyed(direction):
    limb = make_moving()
    limb.add(direction)
    limb.pole = rigs.make_empty("Beside")
    root = limb.ob.pose.bones["Root.0"]
    rigs.key(limb.ob, 'pose.bones["Root.0"].location', {1: (0, 0, 0), 40: (0, 0.2, 0)})
    limb.ob["dial"] = 0.0
    rigs.key(limb.ob, '["dial"]', {1: 0.0, 40: 1.0})
    rigs.key(limb.ob, "show_in_front", {1: False, 40: True})
    rigs.key(limb.pole, "rotation_mode", {1: "XYZ", 40: "ZYX"})
    rigs.go_to(17.25)
    limb.target.location.x += 0.05
    root.location = (0.1, 0.2, 0.3)
    limb.ob["dial"], limb.ob.show_in_front = 7.0, True
    rigs.change(limb.pole, rotation_mode="YXZ")
    tip, place = rigs.tail(limb.ob, limb.bones[-1]), tuple(limb.target.location)
    limb.convert(direction)
    scene = bpy.context.scene
    assert (scene.frame_current, scene.frame_subframe) == (17, 0.25)
    assert tuple(limb.target.location) == place
    np.testing.assert_allclose(limb.ob.pose.bones["Root.0"].location, (0.1, 0.2, 0.3), atol=1e-6)
    assert (limb.ob["dial"], limb.ob.show_in_front) == (7.0, True)
    assert limb.pole.rotation_mode == "YXZ"
    assert np.linalg.norm(rigs.tail(limb.ob, limb.bones[-1]) - tip) < 2e-3 * limb.length


def test_both_ways_take_what_is_selected_and_not_the_active_chain():
    ob = two_limbs()
    to_chains(ob)
    right = ob.chain_ik.chains.find("Right")
    ob.chain_ik.active_index = right
    select_bones(ob, ["Left.1"])
    ob.chain_ik.active_index = right
    press(convert, direction="TO_CONSTRAINTS")
    assert [item.name for item in ik_constraints(ob)] == ["Left"]
    assert ob.chain_ik.chains.keys() == ["Right"]
    press(convert)
    select_bones(ob, ["Left.1", "Right.1"])
    press(convert, direction="TO_CONSTRAINTS")
    assert not ob.chain_ik.chains
    assert {item.name for item in ik_constraints(ob)} == {"Left", "Right"}
    assert refusal(convert, direction="TO_CONSTRAINTS").startswith(
        "No selected bone belongs to a chain"
    )
    # In object mode no bones are selected: the active chain is converted.
    press(convert)
    rigs.enter(ob, "OBJECT")
    select_objects(active=ob)
    ob.chain_ik.active_index = ob.chain_ik.chains.find("Left")
    press(convert, direction="TO_CONSTRAINTS")
    assert ob.chain_ik.chains.keys() == ["Right"]
