"""Make Whole Body: the hips get a control, nothing moves, and switching off restores the pose.

Rigs that cannot become a body are refused; limbs of a body can be set up and mirrored.
"""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from blender_ik_addon.operators import selection
from tests.blender.body import human_bodies as bodies
from tests.blender.operators.test_characters import MAIN_LIMBS
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

whole_body = bpy.ops.pose.chain_ik_body
setup = bpy.ops.pose.chain_ik_setup

KEYED = {1: (0.0, -0.01, 0.0), 9: (0.01, -0.03, 0.01), 20: (-0.01, -0.05, 0.02)}
"""Keyed locations of the hips, by frame: hands and feet reach their targets at all of them."""


def played(ob: bpy.types.Object) -> dict[int, dict[str, np.ndarray]]:
    poses = {}
    for frame in KEYED:
        rigs.go_to(frame)
        assert bodies.all_reach(ob), frame
        poses[frame] = bodies.places(ob)
    return poses


def posed(ob: bpy.types.Object) -> None:
    root, hips = ob.pose.bones["Root"], ob.pose.bones[bodies.HIPS]
    root.rotation_mode = hips.rotation_mode = "XYZ"
    root.location, root.rotation_euler = (0.4, 0.1, -0.7), (0.2, 0.9, -0.1)
    hips.location, hips.rotation_euler = (0.02, -0.06, 0.02), (0.05, -0.1, 0.05)
    bodies.move(ob, "Arm Target.L", (-0.1, -0.1, 0.1))


@pytest.mark.parametrize(
    ("form", "pose", "control"),
    [
        ("", posed, "BONE"),
        ("one leg", posed, "EMPTY"),
        ("scaled unevenly", lambda _: None, "EMPTY"),
    ],
)
def test_nothing_moves_when_a_body_is_made_and_when_it_is_switched_off(rigify, form, pose, control):
    human = opened(bodies.make_human, form=form, control="BONE" if pose is posed else control)
    pose(human)
    rigs.updated()
    assert bodies.all_reach(human)
    before = bodies.places(human)
    press(whole_body, control=control)
    assert bodies.farthest(before, bodies.places(human)) <= bodies.PLACE_TOLERANCE
    if control == "EMPTY":
        torso = human.chain_ik.chains["Hips"].target
        assert (torso.name, torso.type, torso.empty_display_type) == ("Torso", "EMPTY", "CIRCLE")
    if control == "EMPTY" and pose is not posed:
        rigs.change(human, location=(1.0, -2.0, 0.5))
        offset = np.array(human.location) / bodies.height(human)
        before = {name: ends + offset for name, ends in before.items()}
        assert bodies.farthest(before, bodies.places(human)) <= bodies.PLACE_TOLERANCE
    rigs.change(human.chain_ik.body, use_body=False)
    assert bodies.farthest(before, bodies.places(human)) <= bodies.PLACE_TOLERANCE


def test_keys_of_the_hips_are_keys_of_their_control_and_nothing_moves(human):
    bone = human.pose.bones[bodies.HIPS]
    bone.rotation_mode = "XYZ"
    for frame, place in KEYED.items():
        bone.location, bone.rotation_euler = place, (0.002 * frame, 0.004 * frame, 0.0)
        bone.keyframe_insert("location", frame=frame)
        bone.keyframe_insert("rotation_euler", frame=frame)
    before = played(human)
    rigs.go_to(9)
    solved = []
    on_frame = bpy.app.handlers.frame_change_post

    def note(scene: bpy.types.Scene, _graph: bpy.types.Depsgraph) -> None:
        solved.append(scene.chain_ik.use_live)

    on_frame.append(note)
    press(whole_body)
    on_frame.remove(note)
    # Solving all limbs at each key of a long clip would take minutes.
    assert solved == [False] * (len(KEYED) + 1)
    assert bpy.context.scene.chain_ik.use_live
    assert bpy.context.scene.frame_current == 9
    for frame, bones in played(human).items():
        assert bodies.farthest(before[frame], bones) <= bodies.PLACE_TOLERANCE, frame
    for name in (bodies.HIPS, "Torso"):
        path = human.pose.bones[name].path_from_id("location")
        keyed = [curve for curve in rigs.curves_of(human) if curve.data_path == path]
        assert len(keyed) == 3
        for curve in keyed:
            assert [point.co.x for point in curve.keyframe_points] == list(KEYED)
    human.chain_ik.body.use_body = False
    for frame, bones in played(human).items():
        assert bodies.farthest(before[frame], bones) <= bodies.PLACE_TOLERANCE, frame


def test_hips_that_a_chain_turns_are_followed_as_it_turns_them():
    ob, target = rigs.make_arm()
    rigs.key(target, "location", {1: (0.6, 0.5, 1.2), 9: (-0.9, 0.5, 1.2)})
    rigs.key(ob, 'pose.bones["Bone.0"].rotation_quaternion', {1: (1, 0, 0, 0), 9: (1, 0.2, 0, 0)})
    before = [rigs.tail(ob, "Bone.0", rigs.go_to(frame)) for frame in (1, 9)]
    ob.chain_ik.body.root = "Bone.0"
    select_objects(active=ob)
    press(whole_body)
    after = [rigs.head(ob, "Torso", rigs.go_to(frame)) for frame in (1, 9)]
    np.testing.assert_allclose(after, before, atol=1e-5)


def test_hips_and_what_went_along_with_them_follow_their_control_and_pinned_feet_stay(human):
    before = bodies.spaces_from(human)
    assert bodies.HIPS in before["Spine Target"]
    assert human.pose.bones[bodies.HIPS].custom_shape is not None
    press(whole_body)
    after = bodies.spaces_from(human)
    assert after.pop("Torso") == ["Root"]
    renamed = {
        name: ["Torso" if space == bodies.HIPS else space for space in spaces]
        for name, spaces in before.items()
    }
    assert after == renamed
    assert human.chain_ik.chains["Spine"].space == "Torso"
    assert human.pose.bones[bodies.HIPS].custom_shape is None
    torso = human.pose.bones["Torso"]
    assert torso.custom_shape.name.endswith("Belt")
    # No bone that chains write carries it.
    assert torso.parent is None
    assert bodies.all_reach(human)
    assert [chain.name for chain in human.chain_ik.chains if chain.use_pin] == ["Leg.L", "Leg.R"]
    assert (human.chain_ik.body.root, human.chain_ik.body.use_body) == (bodies.HIPS, True)
    assert human.chain_ik.chains["Hips"].priority == 3
    start, offset = bodies.places(human), (0.0, 0.0, -0.1)
    bodies.move(human, "Torso", offset)
    shown = bodies.places(human)
    assert all(
        np.abs(shown[foot] - start[foot]).max() <= bodies.PIN_TOLERANCE
        for foot in ("foot.L", "foot.R")
    )
    moved = (shown[bodies.HIPS] - start[bodies.HIPS]) * bodies.height(human)
    np.testing.assert_allclose(moved, [offset] * 2, atol=1e-5)


def test_keys_of_a_space_stay_with_it(human):
    human.chain_ik.active_index = list(human.chain_ik.chains.keys()).index("Arm.L")
    rigs.go_to(5)
    press(bpy.ops.pose.chain_ik_switch_space, space=bodies.HIPS)
    assert human.chain_ik.chains["Arm.L"].space == bodies.HIPS
    other = bodies.make_human()
    other_paths = {curve.data_path for curve in rigs.curves_of(other)}
    select_objects(active=human)
    before = len(rigs.curves_of(human))
    press(whole_body)
    assert len(rigs.curves_of(human)) == before
    for frame, space in ((1, "Root"), (5, "Torso")):
        rigs.go_to(frame)
        assert human.chain_ik.chains["Arm.L"].space == space
        (torso,) = [
            human.path_resolve(curve.data_path)
            for curve in rigs.curves_of(human)
            if curve.data_path.endswith('Torso"].influence')
        ]
        assert torso == float(space == "Torso")
    assert {curve.data_path for curve in rigs.curves_of(other)} == other_paths


@pytest.mark.parametrize("is_keyed", [False, True])
def test_controls_that_go_along_with_a_bone_of_the_body_go_along_with_its_control(human, is_keyed):
    chains = human.chain_ik.chains
    human.chain_ik.active_index = chains.find("Arm.L")
    if is_keyed:
        rigs.go_to(5)
        press(bpy.ops.pose.chain_ik_switch_space, space="spine.003")
    chains["Arm.L"].space = "spine.003"
    bodies.move(human, "Spine Target", (0.01, 0.01, -0.02))
    rigs.updated()
    assert bodies.all_reach(human)
    before = bodies.places(human)
    press(whole_body)
    assert bodies.farthest(before, bodies.places(human)) <= bodies.PLACE_TOLERANCE
    assert chains["Arm.L"].space == "Spine Target"
    assert "spine.003" not in bodies.spaces_from(human)["Arm Target.L"]
    assert bodies.all_reach(human)
    bodies.move(human, "Spine Target", (0.02, 0.02, -0.04))
    moved = bodies.places(human)["Arm Target.L"] - before["Arm Target.L"]
    np.testing.assert_allclose(moved * bodies.height(human), [(0.01, 0.01, -0.02)] * 2, atol=1e-5)
    if is_keyed:
        rigs.go_to(1)
        assert chains["Arm.L"].space == "Root"


def test_limbs_set_up_later_go_along_with_the_hips_and_their_muted_chain_leaves_these_alone(rigify):
    ob = bodies.make_body(kinds={"ARM", "LEG"})
    before = bodies.places(ob)
    press(setup, control="BONE", kinds=MAIN_LIMBS)
    assert bodies.farthest(before, bodies.places(ob)) <= bodies.PLACE_TOLERANCE
    assert ob.chain_ik.chains["Spine"].space == "Torso"
    assert not any(bodies.HIPS in spaces for spaces in bodies.spaces_from(ob).values())
    assert ob.pose.bones[bodies.HIPS].custom_shape is None
    for name in ("Spine", "Neck"):
        ob.chain_ik.chains[name].mute = True
    ob.chain_ik.chains["Hips"].mute = True
    bodies.move(ob, "Torso", (0.0, 0.0, -0.1))
    del before["Torso"]
    assert bodies.farthest(before, bodies.places(ob)) <= bodies.PLACE_TOLERANCE
    rigs.change(ob.chain_ik.chains["Hips"], mute=False)
    assert bodies.farthest(before, bodies.places(ob)) > 0.01


def test_a_chain_added_to_a_body_has_its_priority_and_one_that_is_mirrored_its_pin_and_pull(body):
    chains = body.chain_ik.chains
    added = chains.add()
    added.bone = "shoulder.L"
    assert added.priority == 3
    select_bones(body, ["hand.L"])
    press(bpy.ops.pose.chain_ik_add)
    added = chains[body.chain_ik.active_index]
    assert (added.bone, added.priority) == ("hand.L", 2)
    body.chain_ik.body.use_body = False
    body.chain_ik.body.use_body = True
    assert added.priority == 2
    body.chain_ik.active_index = chains.find("Leg.R")
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    chains["Leg.L"].priority, chains["Leg.L"].pull = 4, 0.5
    body.chain_ik.active_index = chains.find("Leg.L")
    press(bpy.ops.pose.chain_ik_mirror)
    mirrored = chains["Leg.R"]
    assert (mirrored.priority, mirrored.use_pin, mirrored.pull) == (4, True, 0.5)


def test_a_body_carries_chains_of_force_and_refuses_those_that_its_limbs_hang_on(rigify):
    ob = bodies.make_human()
    chains = ob.chain_ik.chains
    chains["Neck"].solver = "FORCE"
    press(bpy.ops.pose.chain_ik_body)
    rigs.updated()
    assert chains["Neck"].status.endswith("the body carries it, but does not follow its target")
    before = rigs.tail(ob, "spine.003")
    rigs.change(ob.pose.bones["Arm Target.L"].location, x=0.5 * bodies.height(ob))
    carried, neck = rigs.tail(ob, "spine.003"), rigs.evaluated(ob).pose.bones["spine.004"]
    assert np.linalg.norm(carried - before) > 0.05 * bodies.height(ob)
    np.testing.assert_allclose(neck.head, carried, atol=1e-5)
    assert chains["Arm.L"].status.startswith("Reached")
    direction = rigs.tail(ob, "spine.005") - neck.head
    aim = np.array(ob.pose.bones["Neck Target"].head - neck.head)
    # It stretches to its target, which the body does not follow.
    assert direction @ aim > 0.99 * np.linalg.norm(direction) * np.linalg.norm(aim)
    rigs.change(chains["Spine"], solver="FORCE")
    assert "already belongs to chain 'Neck'" not in chains["Arm.L"].status
    assert chains["Arm.L"].status.startswith("Reached")
    assert "cannot be solved together: choose Newton or FABRIK" in chains["Spine"].status


@pytest.mark.parametrize("is_carried", [False, True])
def test_a_chain_that_comes_to_its_body_later_gives_what_carries_it_back(is_carried):
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.turn_bones(ob)
    before = rigs.channels(ob)
    target = rigs.make_empty("Target", (6.0, 0.0, 0.0))
    chain = rigs.add_chain(ob, "Bone.2", target, chain_count=1, solver="FORCE")
    rigs.change(ob.chain_ik.body, root="Bone.0", use_body=True)
    rigs.change(chain, solver="NEWTON")
    assert ob.pose.bones["Bone.0"].location.length > 1.0
    rigs.assert_stays(ob)
    if is_carried:
        rigs.change(chain, solver="FORCE")
        assert "Bone.1" not in chain.stored_pose
    else:
        rigs.change(ob.chain_ik.body, use_body=False)
    assert {**rigs.channels(ob), "Bone.2": ()} == {**before, "Bone.2": ()}


def test_a_second_time_nothing_changes(human):
    press(whole_body, use_pins=False)
    assert not any(chain.use_pin for chain in human.chain_ik.chains)
    assert "already" in refusal(whole_body)
    rigs.change(human.chain_ik.body, use_body=False)
    count = len(human.data.bones)
    press(whole_body)
    assert len(human.data.bones) == count
    assert [chain.bone for chain in human.chain_ik.chains].count(bodies.HIPS) == 1
    assert human.chain_ik.body.use_body


def test_hips_below_a_root_of_the_skeleton_go_along_with_it(rigify):
    ob = bodies.add_rig("human")
    rigs.add_bones(ob, [(0.0, 0.0, 0.0), (0.0, 0.3, 0.0)], names=["master"])
    rigs.hang_bone(ob, bodies.HIPS, "master")
    press(setup, control="BONE")
    before = bodies.places(ob)
    press(whole_body)
    assert bodies.farthest(before, bodies.places(ob)) <= bodies.PLACE_TOLERANCE
    assert ob.chain_ik.chains["Hips"].space == "master"
    assert not ob.pose.bones[bodies.HIPS].constraints
    assert "Root" not in ob.data.bones
    bodies.move(ob, "master", (0.3, 0.2, 0.1))
    for name in (bodies.HIPS, "hand.L", "foot.R", "spine.006"):
        moved = (bodies.places(ob)[name] - before[name]) * bodies.height(ob)
        np.testing.assert_allclose(moved, [(0.3, 0.2, 0.1)] * 2, atol=3e-5, err_msg=name)


def _connected(ob: bpy.types.Object) -> None:
    with rigs.editing(ob) as bones:
        above, hips = bones.new("Above"), bones[bodies.HIPS]
        above.head, above.tail = hips.head - Vector((0, 0, 0.2)), hips.head
        hips.parent, hips.use_connect = above, True


def _blended(ob: bpy.types.Object) -> None:
    """Key the hips in an action that is added to what strips play."""
    ob.name = "human"
    ob.pose.bones[bodies.HIPS].keyframe_insert("location", frame=3)
    ob.animation_data.action_blend_type = "ADD"


def _stretched(ob: bpy.types.Object) -> None:
    ob.pose.bones[bodies.HIPS].keyframe_insert("location", frame=3)
    bpy.context.scene.render.frame_map_new = 50


BAD = {
    "flat": (lambda ob: setattr(ob.scale, "x", 0.0), "The armature object has a scale of zero"),
    "without chains": (
        lambda ob: ob.chain_ik.chains.clear(),
        "Select an armature that has a chain",
    ),
    "stretched time": (_stretched, "Time stretching moves keys"),
    "blended": (_blended, "The NLA of 'human' blends its action"),
    "connected": (_connected, f"Connected is on for bone '{bodies.HIPS}'"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_rig_that_can_be_no_body_is_refused_in_one_sentence_and_nothing_changes(human, what):
    spoil, text = BAD[what]
    spoil(human)
    select_objects(active=human)
    rigs.updated()
    spaces = bodies.spaces_from(human)
    muted = [item.mute for bone in human.pose.bones for item in bone.constraints]
    bone_count = len(human.data.bones)
    assert refusal(whole_body).startswith(text)
    assert len(human.data.bones) == bone_count
    assert bodies.spaces_from(human) == spaces
    assert muted == [item.mute for bone in human.pose.bones for item in bone.constraints]


def test_a_rig_without_hips_is_told_what_to_choose():
    ob, _ = rigs.make_arm()
    select_objects(active=ob)
    assert "choose the bone of the hips as Root" in refusal(whole_body)
    ob.chain_ik.body.root = "Bone.0"
    press(whole_body)
    assert ob.chain_ik.chains["Hips"].bone == "Bone.0"


def test_the_hips_of_limbs_that_no_names_tell_carry_all_chains():
    ob = rigs.make_rig([(0, 0, 1), (0, 0.5, 1), (0, 1, 1)])
    for i, (parent, x) in enumerate((("Bone.0", 0.2), ("Bone.0", -0.2), ("Bone.1", 0.2))):
        names = [f"Stick.{i}", f"Stick.{i}.Tip"]
        joints = [(x, 0.3 * i, 1), (2 * x, 0.3 * i, 1.3), (3 * x, 0.3 * i, 0)]
        rigs.add_bones(ob, joints, names=names, parent=parent)
        rigs.add_chain(ob, names[-1], rigs.make_empty(f"Target.{i}", joints[-1]), chain_count=2)
    select_objects(active=ob)
    before = rigs.matrices(ob)
    press(whole_body, control="EMPTY")
    assert ob.chain_ik.body.root == "Bone.0"
    after = rigs.matrices(ob)
    assert all(np.abs(after[name] - before[name]).max() <= 1e-6 for name in before)


def test_set_up_limbs_makes_a_body_of_new_chains_and_of_present_ones(rigify):
    ob = bodies.add_rig("human")
    before = bodies.places(ob)
    press(setup, control="BONE", kinds=MAIN_LIMBS, use_body=True)
    assert bodies.farthest(before, bodies.places(ob)) <= bodies.PLACE_TOLERANCE
    assert ob.chain_ik.body.use_body
    assert ob.chain_ik.chains["Leg.L"].use_pin
    assert ob.chain_ik.chains["Hips"].subtarget == "Torso"
    human, count = opened(bodies.make_human), 8
    assert len(human.chain_ik.chains) == count
    press(setup, control="BONE", kinds=MAIN_LIMBS, use_body=True)
    assert len(human.chain_ik.chains) == count + 1
    assert human.chain_ik.body.use_body
    assert "already" in refusal(setup, control="BONE", kinds=MAIN_LIMBS, use_body=True)


def test_set_up_limbs_that_can_be_no_body_get_their_chains_and_a_warning(rigify, capfd):
    ob = bodies.add_rig("human")
    ob.pose.bones[bodies.HIPS].lock_location = (True, True, True)
    press(setup, control="BONE", kinds=MAIN_LIMBS, use_body=True)
    assert "Arm.L" in ob.chain_ik.chains
    assert not ob.chain_ik.body.use_body
    assert f"Warning: The location of bone '{bodies.HIPS}' is locked" in capfd.readouterr().out


def test_a_bone_that_only_carries_a_limb_is_no_bone_of_its_chain(body):
    for bone, chain in ((bodies.HIPS, "Hips"), ("spine.002", "Spine"), ("hand.R", "Arm.R")):
        select_bones(body, [bone])
        chosen = selection.chosen_chains(bpy.context)
        assert [item.name for item in chosen] == [chain], bone


def test_limbs_that_are_set_up_later_belong_to_the_present_body(body, capfd):
    press(setup, kinds={"FINGER"}, use_body=True)
    assert "Thumb.L" in body.chain_ik.chains
    assert "nothing has changed" not in capfd.readouterr().out
    assert refusal(setup, kinds={"FINGER"}, use_body=True) == (
        "Every limb that was found already has a chain: to add a chain for other bones, select"
        " them in pose mode and press +."
    )


def test_hips_that_carry_a_body_become_no_constraint_before_it_is_switched_off(body):
    """A constraint on the hips would stop all chains of the body, so no chain would arrive."""
    select_bones(body, [bodies.HIPS])
    convert = bpy.ops.pose.chain_ik_convert
    assert refusal(convert, direction="TO_CONSTRAINTS") == (
        "Chain 'Hips': A constraint would stop other chains of the whole body below these bones:"
        " switch Whole Body off first."
    )
    rigs.change(body.chain_ik.body, use_body=False)
    press(convert, direction="TO_CONSTRAINTS")
    assert "Hips" not in body.chain_ik.chains
    assert bodies.all_reach(body)
