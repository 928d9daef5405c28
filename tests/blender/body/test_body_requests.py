"""What can be no body is told; the set-up, mirroring and removal of limbs go on in a body."""

from __future__ import annotations

import bpy
import pytest
from mathutils import Vector

from blender_ik_addon.operators import selection
from tests.blender.body.human_bodies import (
    HIPS,
    STILL,
    farthest,
    make_body,
    make_human,
    places,
    spaces_from,
)
from tests.blender.operators.test_characters import USUAL
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects, state

pytestmark = [pytest.mark.slow, pytest.mark.oldest]

whole_body = bpy.ops.pose.chain_ik_body
setup = bpy.ops.pose.chain_ik_setup


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


BAD = {
    "flat": (
        lambda ob: setattr(ob.scale, "x", 0.0),
        "The armature object has a scale of zero",
    ),
    "without chains": (
        lambda ob: ob.chain_ik.chains.clear(),
        "Select an armature that has a chain",
    ),
    "connected": (_connected, f"Connected is on for bone '{HIPS}'"),
    "shared": (_shared, "Object 'Other' has chains on the same armature"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_can_be_no_body_is_told_in_one_sentence_and_nothing_changes(human, what):
    spoil, text = BAD[what]
    spoil(human)
    select_objects(active=human)
    rigs.updated()
    before, spaces = state(), spaces_from(human)
    muted = [each.mute for bone in human.pose.bones for each in bone.constraints]
    assert refusal(whole_body).startswith(text)
    assert state() == before
    assert spaces_from(human) == spaces
    assert muted == [each.mute for bone in human.pose.bones for each in bone.constraints]


def test_a_rig_without_hips_is_told_what_to_choose():
    ob, _ = rigs.make_arm()
    select_objects(active=ob)
    assert "choose the bone of the hips as Root" in refusal(whole_body)
    ob.chain_ik.body.root = "Bone.0"
    press(whole_body)
    assert ob.chain_ik.chains["Hips"].bone == "Bone.0"


def test_set_up_limbs_makes_a_body_after_its_chains_and_of_those_that_are_there(rigify):
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    rigs.updated()
    before = places(ob)
    press(setup, control="BONE", kinds=USUAL, use_body=True)
    assert farthest(before, places(ob)) <= STILL
    assert ob.chain_ik.body.use_body
    assert ob.chain_ik.chains["Leg.L"].use_pin
    assert ob.chain_ik.chains["Hips"].subtarget == "Torso"
    human, count = opened(make_human), 8
    assert len(human.chain_ik.chains) == count
    press(setup, control="BONE", kinds=USUAL, use_body=True)
    assert len(human.chain_ik.chains) == count + 1
    assert human.chain_ik.body.use_body
    assert "already" in refusal(setup, control="BONE", kinds=USUAL, use_body=True)


def test_set_up_limbs_that_can_be_no_body_get_their_chains_and_it_is_said(rigify, capfd):
    bpy.ops.object.armature_human_metarig_add()
    ob = bpy.context.object
    ob.pose.bones[HIPS].lock_location = (True, True, True)
    press(setup, control="BONE", kinds=USUAL, use_body=True)
    assert "Arm.L" in ob.chain_ik.chains
    assert not ob.chain_ik.body.use_body
    assert f"Warning: The location of bone '{HIPS}' is locked" in capfd.readouterr().out


def test_limbs_that_are_set_up_later_go_along_with_the_control_of_the_hips(rigify):
    ob = make_body(kinds={"ARM", "LEG"})
    before = places(ob)
    press(setup, control="BONE", kinds=USUAL)
    assert farthest(before, places(ob)) <= STILL
    assert ob.chain_ik.chains["Spine"].space == "Torso"
    assert not any(HIPS in spaces for spaces in spaces_from(ob).values())
    assert ob.pose.bones[HIPS].custom_shape is None


def test_a_limb_of_a_body_is_mirrored_with_its_priority_pin_and_pull(body):
    chains = body.chain_ik.chains
    body.chain_ik.active_index = chains.find("Leg.R")
    press(bpy.ops.pose.chain_ik_remove, delete_controls=True)
    chains["Leg.L"].priority, chains["Leg.L"].pull = 4, 0.5
    body.chain_ik.active_index = chains.find("Leg.L")
    press(bpy.ops.pose.chain_ik_mirror)
    mirrored = chains["Leg.R"]
    assert (mirrored.priority, mirrored.use_pin, mirrored.pull) == (4, True, 0.5)


def test_a_bone_that_only_carries_a_limb_is_none_of_its_own(body):
    for bone, chain in ((HIPS, "Hips"), ("spine.002", "Spine"), ("hand.R", "Arm.R")):
        select_bones(body, [bone])
        chosen = selection.chosen_chains(bpy.context)
        assert [each.name for each in chosen] == [chain], bone
