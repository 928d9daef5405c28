"""Make Whole Body: the hips get a control, nothing moves, and off the pose is as before."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from blender_ik_addon.operators import selection
from tests.blender.operators.test_characters import USUAL
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects, state

body = bpy.ops.pose.chain_ik_body
setup = bpy.ops.pose.chain_ik_setup

STILL = 1e-6
"""How far nothing moves, as a share of the height: what float32 leaves of a body of 2 m."""
HELD = 2e-5
"""How far pinned feet may be from their targets, as a share of the height."""
HIPS = "spine"
KEYED = {1: (0.0, -0.01, 0.0), 9: (0.01, -0.03, 0.01), 20: (-0.01, -0.05, 0.02)}
"""Locations of keys of the hips, by frame: hands and feet reach their targets."""

pytestmark = pytest.mark.usefixtures("rigify")


def make_human(control: str = "BONE", **settings: object) -> bpy.types.Object:
    """Return Rigify's human with chains for its limbs."""
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    press(setup, control=control, **{"kinds": USUAL} | settings)
    return ob


@pytest.fixture
def human() -> bpy.types.Object:
    return make_human()


def height(ob: bpy.types.Object) -> float:
    return float(max(each.head_local.z for each in ob.data.bones if each.use_deform))


def places(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return heads and tails of bones in the world, as shares of the height, shape (2, 3) each."""
    owner = rigs.evaluated(ob)
    to_world, size = owner.matrix_world, height(ob)
    return {
        each.name: np.array((to_world @ each.head, to_world @ each.tail)) / size
        for each in owner.pose.bones
    }


def farthest(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    """Return by how much the bone has moved that has moved most."""
    return max(float(np.abs(after[name] - ends).max()) for name, ends in before.items())


def all_reach(ob: bpy.types.Object) -> bool:
    return all(each.mute or each.status == "Reached" for each in ob.chain_ik.chains)


def turn_hips(ob: bpy.types.Object) -> None:
    """Key the hips, moved and turned."""
    bone = ob.pose.bones[HIPS]
    bone.rotation_mode = "XYZ"
    for frame, place in KEYED.items():
        bone.location, bone.rotation_euler = place, (0.002 * frame, 0.004 * frame, 0.0)
        bone.keyframe_insert("location", frame=frame)
        bone.keyframe_insert("rotation_euler", frame=frame)


def played(ob: bpy.types.Object) -> dict[int, dict[str, np.ndarray]]:
    """Return the places of bones at the frames at which the hips have keys."""
    found = {}
    for frame in KEYED:
        rigs.go_to(frame)
        assert all_reach(ob), frame
        found[frame] = places(ob)
    return found


def move(ob: bpy.types.Object, control: str, way: tuple[float, float, float]) -> None:
    """Move a control from rest in armature space."""
    bone = ob.pose.bones[control]
    bone.location = bone.bone.matrix_local.to_3x3().inverted() @ Vector(way)
    rigs.updated()


def spaces_from(ob: bpy.types.Object) -> dict[str, list[str]]:
    """Return what each bone has constraints to, by names."""
    return {
        bone.name: [
            each.targets[0].subtarget if each.type == "ARMATURE" else each.subtarget
            for each in bone.constraints
        ]
        for bone in ob.pose.bones
        if bone.constraints
    }


def posed(ob: bpy.types.Object) -> None:
    """Move and turn the root, the hips and a hand."""
    root, hips = ob.pose.bones["Root"], ob.pose.bones[HIPS]
    root.rotation_mode = hips.rotation_mode = "XYZ"
    root.location, root.rotation_euler = (0.4, 0.1, -0.7), (0.2, 0.9, -0.1)
    hips.location, hips.rotation_euler = (0.02, -0.06, 0.02), (0.05, -0.1, 0.05)
    move(ob, "Arm Target.L", (-0.1, -0.1, 0.1))


POSES = {"rest": lambda _: None, "posed": posed}


@pytest.mark.parametrize("control", ["BONE", "EMPTY"])
@pytest.mark.parametrize("pose", POSES)
def test_nothing_moves_when_a_body_is_made_and_when_it_is_switched_off(human, pose, control):
    POSES[pose](human)
    rigs.updated()
    assert all_reach(human)
    before = places(human)
    press(body, control=control)
    assert farthest(before, places(human)) <= STILL
    human.chain_ik.body.use_body = False
    rigs.updated()
    assert farthest(before, places(human)) <= STILL


def test_a_body_with_empties_goes_along_with_its_object_and_nothing_moves():
    ob = make_human("EMPTY")
    before = places(ob)
    press(body, control="EMPTY")
    assert farthest(before, places(ob)) <= STILL
    torso = ob.chain_ik.chains["Hips"].target
    assert (torso.name, torso.type, torso.empty_display_type) == ("Torso", "EMPTY", "CIRCLE")
    ob.location = (1.0, -2.0, 0.5)
    rigs.updated()
    moved = {name: ends + np.array(ob.location) / height(ob) for name, ends in before.items()}
    assert farthest(moved, places(ob)) <= STILL


def test_keys_of_the_hips_are_keys_of_their_control_and_nothing_moves(human):
    turn_hips(human)
    before = played(human)
    rigs.go_to(9)
    press(body)
    assert bpy.context.scene.frame_current == 9
    for frame, bones in played(human).items():
        assert farthest(before[frame], bones) <= STILL, frame
    for name in (HIPS, "Torso"):
        path = human.pose.bones[name].path_from_id("location")
        keyed = [each for each in rigs.curves_of(human) if each.data_path == path]
        assert len(keyed) == 3
        for curve in keyed:
            assert [point.co.x for point in curve.keyframe_points] == list(KEYED)
    human.chain_ik.body.use_body = False
    for frame, bones in played(human).items():
        assert farthest(before[frame], bones) <= STILL, frame


def test_what_went_along_with_the_hips_goes_along_with_their_control(human):
    before = spaces_from(human)
    assert HIPS in before["Spine Target"]
    assert human.pose.bones[HIPS].custom_shape is not None
    press(body)
    after = spaces_from(human)
    assert after.pop("Torso") == ["Root"]
    renamed = {
        name: ["Torso" if each == HIPS else each for each in spaces]
        for name, spaces in before.items()
    }
    assert after == renamed
    assert human.chain_ik.chains["Spine"].space == "Torso"
    assert human.pose.bones[HIPS].custom_shape is None
    torso = human.pose.bones["Torso"]
    assert torso.custom_shape.name.endswith("Belt")
    # Nothing that is written carries it.
    assert torso.parent is None
    assert all_reach(human)


def test_keys_of_a_space_stay_with_it(human):
    human.chain_ik.active_index = list(human.chain_ik.chains.keys()).index("Arm.L")
    rigs.go_to(5)
    press(bpy.ops.pose.chain_ik_switch_space, space=HIPS)
    assert human.chain_ik.chains["Arm.L"].space == HIPS
    other = make_human()
    other_paths = {each.data_path for each in rigs.curves_of(other)}
    select_objects(active=human)
    before = len(rigs.curves_of(human))
    press(body)
    assert len(rigs.curves_of(human)) == before
    for frame, space in ((1, "Root"), (5, "Torso")):
        rigs.go_to(frame)
        assert human.chain_ik.chains["Arm.L"].space == space
    assert {each.data_path for each in rigs.curves_of(other)} == other_paths


def test_the_torso_moves_the_hips_and_pinned_feet_stay(human):
    press(body)
    assert [each.name for each in human.chain_ik.chains if each.use_pin] == ["Leg.L", "Leg.R"]
    assert (human.chain_ik.body.root, human.chain_ik.body.use_body) == (HIPS, True)
    assert human.chain_ik.chains["Hips"].priority == 3
    before = places(human)
    move(human, "Torso", (0.0, 0.0, -0.1))
    after = places(human)
    for foot in ("foot.L", "foot.R"):
        assert np.abs(after[foot] - before[foot]).max() <= HELD
    way = (after[HIPS] - before[HIPS]) * height(human)
    np.testing.assert_allclose(way, [(0.0, 0.0, -0.1)] * 2, atol=1e-5)
    human.chain_ik.body.use_body = False
    move(human, "Torso", (0.0, 0.0, 0.0))
    assert farthest(before, places(human)) <= STILL


def test_the_body_goes_along_with_a_hand_and_is_back_once_it_is_switched_off(human):
    before = places(human)
    press(body)
    move(human, "Arm Target.L", (0.5, -0.6, -0.2))
    reached = places(human)
    assert np.abs(reached[HIPS] - before[HIPS]).max() > 0.01
    for foot in ("foot.L", "foot.R"):
        assert np.abs(reached[foot] - before[foot]).max() <= HELD
    human.chain_ik.body.use_body = False
    rigs.updated()
    hips = {name: matrix for name, matrix in before.items() if name in (HIPS, "spine.003")}
    assert farthest(hips, places(human)) <= STILL


def test_a_muted_chain_of_the_hips_leaves_them_to_hands_and_feet():
    ob = make_human(kinds={"ARM", "LEG"})
    press(body)
    before = places(ob)
    ob.chain_ik.chains["Hips"].mute = True
    move(ob, "Torso", (0.0, 0.0, -0.1))
    del before["Torso"]
    assert farthest(before, places(ob)) <= STILL
    ob.chain_ik.chains["Hips"].mute = False
    rigs.updated()
    assert farthest(before, places(ob)) > 0.01


def test_a_second_time_nothing_changes(human):
    press(body, use_pins=False)
    assert not any(each.use_pin for each in human.chain_ik.chains)
    before = state()
    assert "already" in refusal(body)
    assert state() == before
    human.chain_ik.body.use_body = False
    rigs.updated()
    count = len(human.data.bones)
    press(body)
    assert len(human.data.bones) == count
    assert [each.bone for each in human.chain_ik.chains].count(HIPS) == 1
    assert human.chain_ik.body.use_body


def test_one_step_back_and_forth(human):
    bpy.ops.ed.undo_push(message="before")
    before = state()
    press(body)
    after = state()
    bpy.ops.ed.undo()
    assert state() == before
    ob = bpy.data.objects["metarig"]
    assert not ob.chain_ik.body.use_body
    assert ob.pose.bones[HIPS].custom_shape is not None
    bpy.ops.ed.redo()
    assert state() == after


def _connected(ob: bpy.types.Object) -> None:
    rigs.enter(ob, "EDIT")
    bones = ob.data.edit_bones
    above = bones.new("Above")
    above.head, above.tail = bones[HIPS].head - Vector((0, 0, 0.2)), bones[HIPS].head
    bones[HIPS].parent, bones[HIPS].use_connect = above, True
    bpy.ops.object.mode_set(mode="OBJECT")


def _shared(ob: bpy.types.Object) -> None:
    other = rigs.link(bpy.data.objects.new("Other", ob.data))
    rigs.updated()
    rigs.add_chain(other, "forearm.L", rigs.make_empty())


def _without_chains(ob: bpy.types.Object) -> None:
    ob.chain_ik.chains.clear()


def _locked(ob: bpy.types.Object) -> None:
    ob.pose.bones[HIPS].lock_location = (True, True, True)


def _driven(ob: bpy.types.Object) -> None:
    ob.pose.bones[HIPS].driver_add("location", 2)


def _no_root(ob: bpy.types.Object) -> None:
    ob.chain_ik.body.root = "gone"


BAD = {
    "without chains": (_without_chains, "Select an armature that has a chain"),
    "connected": (_connected, f"Connected is on for bone '{HIPS}'"),
    "locked": (_locked, f"The location of bone '{HIPS}' is locked"),
    "driven": (_driven, f"Bone '{HIPS}' has a driver on its location"),
    "shared": (_shared, "Object 'Other' has chains on the same armature"),
    "root that is gone": (_no_root, "Bone 'gone', the root of the body, does not exist"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_can_be_no_body_is_told_in_one_sentence_and_nothing_changes(human, what):
    spoil, text = BAD[what]
    spoil(human)
    select_objects(active=human)
    rigs.updated()
    before, spaces = state(), spaces_from(human)
    muted = [each.mute for bone in human.pose.bones for each in bone.constraints]
    assert refusal(body).startswith(text)
    assert state() == before
    assert spaces_from(human) == spaces
    assert muted == [each.mute for bone in human.pose.bones for each in bone.constraints]


def test_a_rig_without_hips_is_told_what_to_choose():
    ob, _ = rigs.make_arm()
    select_objects(active=ob)
    assert "choose the bone of the hips as Root" in refusal(body)
    ob.chain_ik.body.root = "Bone.0"
    press(body)
    assert ob.chain_ik.chains["Hips"].bone == "Bone.0"


def test_hips_below_a_root_of_the_skeleton_go_along_with_it():
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    rigs.enter(ob, "EDIT")
    bones = ob.data.edit_bones
    root = bones.new("master")
    root.tail = (0.0, 0.3, 0.0)
    bones[HIPS].parent = root
    bpy.ops.object.mode_set(mode="OBJECT")
    press(setup, control="BONE")
    before = places(ob)
    press(body)
    assert farthest(before, places(ob)) <= STILL
    assert ob.chain_ik.chains["Hips"].space == "master"
    move(ob, "master", (0.3, 0.2, 0.1))
    for name in (HIPS, "hand.L", "foot.R", "spine.006"):
        moved = (places(ob)[name] - before[name]) * height(ob)
        np.testing.assert_allclose(moved, [(0.3, 0.2, 0.1)] * 2, atol=3e-5, err_msg=name)


def test_set_up_limbs_makes_a_body_after_its_chains():
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    rigs.updated()
    before = places(ob)
    press(setup, control="BONE", kinds=USUAL, use_body=True)
    assert farthest(before, places(ob)) <= STILL
    assert ob.chain_ik.body.use_body
    assert ob.chain_ik.chains["Leg.L"].use_pin
    assert ob.chain_ik.chains["Hips"].subtarget == "Torso"


def test_set_up_limbs_that_can_be_no_body_get_their_chains_and_it_is_said(capfd):
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    ob.pose.bones[HIPS].lock_location = (True, True, True)
    press(setup, control="BONE", kinds=USUAL, use_body=True)
    assert "Arm.L" in ob.chain_ik.chains
    assert not ob.chain_ik.body.use_body
    assert f"Warning: The location of bone '{HIPS}' is locked" in capfd.readouterr().out


def test_set_up_limbs_makes_a_body_of_limbs_that_are_there(human):
    count = len(human.chain_ik.chains)
    press(setup, control="BONE", kinds=USUAL, use_body=True)
    assert len(human.chain_ik.chains) == count + 1
    assert human.chain_ik.body.use_body
    assert "already" in refusal(setup, control="BONE", kinds=USUAL, use_body=True)


def test_limbs_that_are_set_up_later_go_along_with_the_control_of_the_hips():
    ob = make_human(kinds={"ARM", "LEG"})
    press(body)
    before = places(ob)
    press(setup, control="BONE", kinds=USUAL)
    assert farthest(before, places(ob)) <= STILL
    assert ob.chain_ik.chains["Spine"].space == "Torso"
    assert not any(HIPS in spaces for spaces in spaces_from(ob).values())
    assert ob.pose.bones[HIPS].custom_shape is None


def test_a_limb_of_a_body_is_mirrored_with_its_priority_pin_and_pull(human):
    press(body)
    chains = human.chain_ik.chains
    human.chain_ik.active_index = list(chains.keys()).index("Leg.R")
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    chains["Leg.L"].priority, chains["Leg.L"].pull = 4, 0.5
    human.chain_ik.active_index = list(chains.keys()).index("Leg.L")
    press(bpy.ops.pose.chain_ik_mirror)
    mirrored = chains["Leg.R"]
    assert (mirrored.priority, mirrored.use_pin, mirrored.pull) == (4, True, 0.5)


def test_a_bone_that_only_carries_a_limb_is_none_of_its_own(human):
    press(body)
    for bone, chain in ((HIPS, "Hips"), ("spine.002", "Spine"), ("hand.R", "Arm.R")):
        select_bones(human, [bone])
        chosen = selection.chosen_chains(bpy.context)
        assert [each.name for each in chosen] == [chain], bone


def test_the_last_chain_takes_the_body_with_it(human):
    press(body)
    while human.chain_ik.chains:
        press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    assert {"Torso", "Root"}.isdisjoint(human.data.bones.keys())
    assert not human.chain_ik.body.use_body
    assert not spaces_from(human)
