"""Buttons on an armature that shows no pose: hidden, or in its rest position."""

import bpy
import pytest

from tests.blender.operators.test_matching import ARM, make_arm
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

snap = bpy.ops.pose.chain_ik_snap_target
remove = bpy.ops.pose.chain_ik_remove
bake = bpy.ops.pose.chain_ik_bake
switch_space = bpy.ops.pose.chain_ik_switch_space

AT_REST = "The armature shows its rest position: switch it to Pose Position first."
HIDDEN = "The armature is hidden, or not in this view layer: show it first."
# Buttons that make controls, and that place them.
MAKING = ("add", "pole_add", "setup", "body", "mirror")
PLACING = ("snap_target", "switch", "switch_space")


def refusals(*buttons: str) -> set[str]:
    return {refusal(getattr(bpy.ops.pose, f"chain_ik_{button}")) for button in buttons}


@pytest.mark.parametrize(
    ("part", "setting", "sentence"),
    [
        ("data", {"pose_position": "REST"}, AT_REST),
        ("object", {"hide_viewport": True}, HIDDEN),
        ("collection", {"hide_viewport": True}, HIDDEN),
    ],
)
def test_buttons_that_read_the_pose_refuse_an_armature_that_shows_none(part, setting, sentence):
    ob = make_arm()
    press(remove, delete_controls=True)
    select_bones(ob, ARM)
    # Without a pole, so that one can be added.
    press(bpy.ops.pose.chain_ik_add, control="BONE", use_pole=False)
    collection = rigs.make_collection("Hero")
    ob.users_collection[0].objects.unlink(ob)
    rigs.link(ob, collection)
    select_bones(ob, ARM)
    owner = {"data": ob.data, "object": ob, "collection": collection}[part]
    bones = set(ob.data.bones.keys())
    with rigs.changed(owner, **setting):
        assert refusals(*MAKING, *PLACING) == {sentence}
        assert refusal(remove, delete_controls=True) == sentence
        assert set(ob.data.bones.keys()) == bones
        # These need no pose.
        press(bpy.ops.pose.chain_ik_store)
        press(bpy.ops.pose.chain_ik_apply)
        press(remove)
    assert not ob.chain_ik.chains


@pytest.mark.parametrize("by", ["keys", "driver"])
def test_an_armature_counts_as_hidden_at_frames_at_which_its_own_animation_hides_it(by):
    ob = make_arm("BONE")
    rigs.make_empty("Prop")
    rigs.key(ob, "location", {1: (0.3, 0.2, 0.1), 20: (0.4, 0.1, 0.3)})
    if by == "keys":
        rigs.key(ob, "hide_viewport", {1: False, 8: True, 14: False})
    else:
        ob.driver_add("hide_viewport").driver.expression = "8 <= frame < 14"
    for frame in (7, 12):
        rigs.go_to(frame)
    assert ob.chain_ik.chains[0].status == f"Not solved: t{HIDDEN[1:].partition(':')[0]}"
    assert refusals(*PLACING) == {HIDDEN}
    reason = f"Chain 'hand' cannot be baked at frame 8: {HIDDEN}"
    assert refusal(bake, frame_start=1, frame_end=20) == reason
    rigs.go_to(1)
    assert refusal(snap, use_range=True, frame_start=1, frame_end=20) == HIDDEN
    assert (
        refusal(switch_space, use_range=True, frame_start=1, frame_end=20, space="Prop") == HIDDEN
    )
    assert refusal(bpy.ops.pose.chain_ik_plant, frame_start=1, frame_end=20) == HIDDEN
    rigs.go_to(14)
    assert ob.chain_ik.chains[0].status.startswith("Reached")
    press(bake, frame_start=14, frame_end=20)


def test_a_hidden_armature_that_a_visible_mesh_shows_has_a_pose_but_takes_no_bones():
    ob = make_arm(mute=True)
    mesh = rigs.link(bpy.data.objects.new("Mesh", bpy.data.meshes.new("Mesh")))
    mesh.modifiers.new("Armature", "ARMATURE").object = ob
    rigs.turn_bones(ob, 0, 0.3, ARM)
    with rigs.changed(ob, hide_viewport=True):
        assert rigs.evaluated(ob).is_evaluated
        assert refusals(*MAKING) == {HIDDEN}
        assert refusal(remove, delete_controls=True) == HIDDEN
        press(snap)
    before = rigs.matrices(ob)
    rigs.change(ob.chain_ik.chains[0], mute=False)
    for name in ARM:
        assert abs(rigs.matrices(ob)[name] - before[name]).max() < 1e-4


def test_controls_are_made_and_deleted_while_the_eye_hides_the_armature():
    ob = make_arm()
    rigs.enter(ob, "OBJECT")
    ob.hide_set(True)
    press(remove, delete_controls=True)
    assert set(ob.data.bones.keys()) == set(ARM)
    press(bpy.ops.pose.chain_ik_add, bone="hand", control="BONE")
    assert len(ob.data.bones) > len(ARM)


def test_of_several_armatures_the_one_without_a_pose_is_named_and_the_others_are_matched(capfd):
    hidden, shown = make_arm(), make_arm()
    hidden.chain_ik.chains[0].name = "At Rest"
    for ob in (hidden, shown):
        rigs.change(ob.chain_ik.chains[0], mute=True)
        rigs.turn_bones(ob, 0, 0.3, ARM)
    rigs.enter(shown, "OBJECT")
    select_objects(hidden, active=shown)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.pose.select_all(action="SELECT")
    controls = [ob.pose.bones[ob.chain_ik.chains[0].subtarget] for ob in (hidden, shown)]
    before = [control.location.copy() for control in controls]
    with rigs.changed(hidden.data, pose_position="REST"):
        press(snap)
    assert f"At Rest: {AT_REST}" in capfd.readouterr().out
    assert controls[0].location == before[0]
    assert controls[1].location != before[1]
