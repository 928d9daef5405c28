"""A body after undo, saving, switching off, removal of its chains, bakes and Plant Feet.

Bake Chains keys the location of its root as well; Plant Feet keys its pins.
"""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np
import pytest
from mathutils import Vector

import blender_ik_addon
from tests.blender.body.human_bodies import (
    AWAY,
    HIPS,
    PLACE_TOLERANCE,
    farthest,
    human,
    make_body,
    move,
    places,
    spaces_from,
)
from tests.blender.clips import walking
from tests.blender.operators.test_characters import MAIN_LIMBS, add_rig
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened, reopen
from tests.blender.setups.selecting import press, select_objects, state

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

BODY_SETTINGS = ("use_body", "root", "influence")
CHAIN_SETTINGS = ("name", "bone", "mute", "priority", "use_pin", "pull", "space", "subtarget")


def settings() -> list[object]:
    """Return the settings of the body and its chains, and all other data that chains can change."""
    group = human().chain_ik
    return [
        state(),
        human().pose.bones[HIPS].custom_shape is None,
        tuple(getattr(group.body, name) for name in BODY_SETTINGS),
        *(tuple(getattr(chain, name) for name in CHAIN_SETTINGS) for chain in group.chains),
    ]


def reach() -> None:
    move(human(), "Arm Target.L", AWAY)


def change_limbs() -> None:
    chains = human().chain_ik.chains
    chains["Leg.R"].use_pin = False
    chains["Arm.L"].pull, chains["Arm.L"].priority = 0.4, 1


STEPS = (
    lambda: move(human(), "Torso", (0.05, 0.0, -0.1)),
    change_limbs,
    lambda: setattr(human().chain_ik.body, "influence", 0.5),
    lambda: setattr(human().chain_ik.body, "use_body", False),
)


@pytest.mark.usefixtures("rigify", "human")
def test_undo_redo_and_a_saved_file_show_the_pose_and_the_settings_of_their_step(tmp_path):
    reach()
    bpy.ops.ed.undo_push(message="limbs")
    states = [(places(human()), settings())]
    press(switch)
    states.append((places(human()), settings()))
    for step in STEPS:
        step()
        rigs.updated()
        bpy.ops.ed.undo_push(message="step")
        states.append((places(human()), settings()))
    assert farthest(states[0][0], states[1][0]) > 0.01

    def assert_shown(number: int) -> None:
        pose, expected = states[number]
        assert settings() == expected
        assert pose.keys() == places(human()).keys()
        assert farthest(pose, places(human())) <= PLACE_TOLERANCE

    for number in reversed(range(len(STEPS) + 1)):
        bpy.ops.ed.undo()
        assert_shown(number)
    for number in range(1, len(states)):
        bpy.ops.ed.redo()
        assert_shown(number)
    # Undo the last step: the body is saved while it is on, and solved again after loading.
    bpy.ops.ed.undo()
    reopen(tmp_path / "body.blend")
    assert_shown(len(STEPS))
    move(human(), "Arm Target.L", (0.1, 0.0, 0.0))
    assert farthest(states[-2][0], places(human())) > 0.01
    reach()
    assert_shown(len(STEPS))
    # When it is off, the pose is the one before the body was made.
    move(human(), "Torso", (0.0, 0.0, 0.0))
    STEPS[-1]()
    rigs.updated()
    assert farthest(states[0][0], places(human())) <= PLACE_TOLERANCE


def test_a_body_taken_apart_chain_by_chain_gives_every_bone_back(rigify):
    ob = add_rig("human")
    rigs.turn_bones(ob, seed=3, angle=0.1)
    rigs.change(ob.pose.bones[HIPS], location=(0.01, -0.02, 0.03))
    before = rigs.channels(ob)
    press(bpy.ops.pose.chain_ik_setup, control="BONE", kinds=MAIN_LIMBS, use_body=True)
    move(ob, "Arm Target.L", AWAY)
    assert farthest({HIPS: before[HIPS]}, rigs.channels(ob)) > 0.01
    while count := len(ob.chain_ik.chains):
        ob.chain_ik.active_index = count - 1
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    assert farthest(before, rigs.channels(ob)) <= PLACE_TOLERANCE
    assert not ob.chain_ik.body.use_body
    assert {"Torso", "Root"}.isdisjoint(ob.data.bones.keys())
    assert not spaces_from(ob)


bake = bpy.ops.pose.chain_ik_bake
switch = bpy.ops.pose.chain_ik_body
plant = bpy.ops.pose.chain_ik_plant

LAST = 10
# Tolerance of pose matrices, between keys and live chains, in scene units and as cosines.
POSE_TOLERANCE = 1e-5
# Tolerance of the slides of planted feet, in scene units for each frame.
SLIDE_TOLERANCE = 1e-4

OFFSETS = {
    "Arm Target.L": {1: (0.0, 0.0, 0.0), 6: AWAY, LAST: (-0.2, 0.3, 0.3)},
    "Torso": {1: (0.0, 0.0, 0.0), LAST: (0.05, -0.1, -0.1)},
    "Leg Target.R": {1: (0.0, 0.0, 0.0), 4: (0.0, -0.2, 0.2), LAST: (0.1, 0.0, 0.0)},
}
"""Offsets of controls from rest in armature space, by frame."""


def keyed(ob: bpy.types.Object) -> bpy.types.Object:
    for control, offsets in OFFSETS.items():
        bone = ob.pose.bones[control]
        to_bone = bone.bone.matrix_local.to_3x3().inverted()
        for frame, offset in offsets.items():
            bone.location = to_bone @ Vector(offset)
            bone.keyframe_insert("location", frame=frame)
    return ob


def make_moving() -> bpy.types.Object:
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, LAST
    return keyed(make_body())


@pytest.fixture
def moving(rigify: None) -> bpy.types.Object:
    ob = opened(make_moving)
    rigs.go_to(1)
    select_objects(active=ob)
    return ob


def played(ob: bpy.types.Object, frames: Iterable[int] = range(1, LAST + 1)) -> np.ndarray:
    return np.array([rigs.pose(ob, rigs.go_to(frame)) for frame in frames])


def rotation_path(ob: bpy.types.Object, name: str) -> str:
    bone = ob.pose.bones[name]
    return str(bone.path_from_id(rigs.rotation_property(bone)))


WARNING = "The body gives way in this range, and the limbs that stay live now pull it differently"


def test_keys_of_all_bones_show_what_the_body_did_also_without_the_extension(moving, capfd):
    live = played(moving)
    hips = [bone.name for bone in moving.pose.bones].index(HIPS)
    assert np.ptp(live[:, hips, :3, 3], axis=0).max() > 0.05
    before = set(rigs.keys_of(moving))
    press(bake, which="ALL")
    assert WARNING not in capfd.readouterr().out
    assert all(chain.mute for chain in moving.chain_ik.chains)
    np.testing.assert_allclose(played(moving), live, atol=POSE_TOLERANCE)
    backwards = played(moving, range(LAST, 0, -1))
    np.testing.assert_allclose(backwards, live[::-1], atol=POSE_TOLERANCE)
    added = {path: keys for path, keys in rigs.keys_of(moving).items() if path not in before}
    frames = list(range(1, LAST + 1))
    assert all([frame for frame, _ in keys] == frames for keys in added.values())
    root = moving.pose.bones[HIPS].path_from_id("location")
    assert [index for path, index in sorted(added) if path == root] == [0, 1, 2]
    # The spine, shoulders, limbs and feet.
    for name in (HIPS, "spine.003", "shoulder.L", "upper_arm.R", "hand.L", "thigh.L", "foot.R"):
        path = rotation_path(moving, name)
        count = 3 if path.endswith("euler") else 4
        assert [i for added_path, i in sorted(added) if added_path == path] == [*range(count)], name
    blender_ik_addon.unregister()
    np.testing.assert_allclose(played(moving), live, atol=POSE_TOLERANCE)
    blender_ik_addon.register()


@pytest.mark.parametrize(
    ("settings", "warns"),
    [({}, True), ({"frame_end": 1}, False), ({"mute": False}, False), ({"which": "ALL"}, False)],
)
def test_a_bake_of_a_part_of_a_body_warns_if_it_gives_way_in_the_range(
    moving, settings, warns, capfd
):
    moving.chain_ik.active_index = moving.chain_ik.chains.find("Arm.L")
    live = played(moving)
    rigs.go_to(1)
    press(bake, **settings)
    assert (WARNING in capfd.readouterr().out) == warns
    if warns:
        assert np.abs(played(moving) - live).max() > 1e-3


def test_keys_of_one_chain_hold_the_bones_that_carry_it_and_are_made_frame_by_frame(moving, capfd):
    live = played(moving)
    moving.chain_ik.active_index = moving.chain_ik.chains.find("Arm.L")
    rigs.go_to(1)
    press(bake, which="ACTIVE", method="CLIP")
    output = capfd.readouterr().out
    sentence = "Chain 'Arm.L' is baked frame by frame: it belongs to a whole body."
    assert (output.count(sentence), output.count("it belongs to a whole body")) == (1, 1)
    assert [chain.name for chain in moving.chain_ik.chains if chain.mute] == ["Arm.L"]
    paths = {path for path, _ in rigs.keys_of(moving)}
    assert moving.pose.bones[HIPS].path_from_id("location") in paths
    assert rotation_path(moving, "shoulder.L") in paths
    for chain in moving.chain_ik.chains:
        chain.mute = True
    rows = [i for i, bone in enumerate(moving.pose.bones) if bone.name in ("hand.L", HIPS)]
    np.testing.assert_allclose(played(moving)[:, rows], live[:, rows], atol=POSE_TOLERANCE)


@pytest.fixture
def walker(rigify: None) -> bpy.types.Object:
    ob = opened(walking.make)
    bpy.context.scene.frame_end = 30
    return ob


def pin_curve(ob: bpy.types.Object, name: str) -> bpy.types.FCurve | None:
    path = ob.chain_ik.chains[name].path_from_id("use_pin")
    return next((curve for curve in rigs.curves_of(ob) if curve.data_path == path), None)


def pin_keys(ob: bpy.types.Object, name: str) -> list[tuple[float, float]] | None:
    """Return frames and values of the keys of a pin, or None if it has no curve."""
    curve = pin_curve(ob, name)
    return curve and [tuple(point.co) for point in curve.keyframe_points]


def key_pin(ob: bpy.types.Object, name: str, values: dict[int, bool]) -> None:
    for frame, value in values.items():
        ob.chain_ik.chains[name].use_pin = value
        ob.chain_ik.chains[name].keyframe_insert("use_pin", frame=frame)


@pytest.mark.parametrize("hips", ["Hips", "pelvis"])
def test_feet_of_a_body_stand_whatever_its_hips_are_called(walker, hips):
    walker.data.bones["spine"].name = hips
    press(switch)
    press(plant)
    assert walking.planted(walker, "Leg.L") is not None


def test_feet_of_a_body_are_pinned_while_they_stand_and_no_longer_than_they_do(walker):
    press(switch, use_pins=False)
    press(plant, use_pins=True)
    for name in ("Leg.L", "Leg.R"):
        kinds, curve = walking.planted(walker, name), pin_curve(walker, name)
        assert 0 < (kinds > 0).sum() < len(kinds)
        pinned = [bool(curve.evaluate(frame + 1)) for frame in range(len(kinds))]
        np.testing.assert_array_equal(pinned, kinds > 0)
    scene, last = bpy.context.scene, bpy.context.scene.frame_end
    scene.frame_end = 20
    assert walking.slides(walker, walking.paths_of(walker)) < SLIDE_TOLERANCE
    scene.frame_end = last
    path = walker.chain_ik.chains["Leg.L"].path_from_id("planted")
    (curve,) = [item for item in rigs.curves_of(walker) if item.data_path == path]
    for point in curve.keyframe_points:
        point.co.y = 0.0
    press(plant, use_pins=True)
    assert pin_keys(walker, "Leg.L") is None
    assert len(pin_keys(walker, "Leg.R")) > 2


def test_a_run_without_key_pins_takes_back_the_pins_of_a_run_and_none_that_a_person_has_keyed(
    walker,
):
    press(switch)
    key_pin(walker, "Leg.L", {3: True, 9: False})
    initial = pin_keys(walker, "Leg.L")
    press(plant, use_pins=True)
    keyed = {name: pin_keys(walker, name) for name in ("Leg.L", "Leg.R")}
    assert keyed["Leg.L"] != initial
    assert keyed["Leg.R"]
    key_pin(walker, "Arm.L", {2: True, 8: False})
    by_hand = pin_keys(walker, "Arm.L")
    for use_pins in (True, False):
        press(plant, use_pins=use_pins)
        now = {name: pin_keys(walker, name) for name in keyed}
        assert now == (keyed if use_pins else {"Leg.L": initial, "Leg.R": None})
        assert use_pins or walker.chain_ik.chains["Leg.R"].use_pin
        assert pin_keys(walker, "Arm.L") == by_hand
    key_pin(walker, "Leg.R", {4: True, 12: False})
    by_hand = pin_keys(walker, "Leg.R")
    press(plant)
    assert (pin_keys(walker, "Leg.L"), pin_keys(walker, "Leg.R")) == (initial, by_hand)
