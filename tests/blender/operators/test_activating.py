"""Clicking a bone or a control makes its chain the active one, and undoes no other choice."""

from __future__ import annotations

import bpy
import pytest

from blender_ik_addon.properties import active_chain
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import select_objects


def click(ob: bpy.types.Object, bone: str) -> None:
    ob.data.bones.active = ob.data.bones[bone]
    # What Blender does on a click, which tells of the selection.
    ob.data.update_tag()
    rigs.updated()


@pytest.fixture
def y_rig() -> tree_rigs.Rig:
    rig = tree_rigs.make_y()
    rig.follow()
    rigs.enter(rig.ob, "POSE")
    click(rig.ob, "Trunk.0")
    return rig


def active(rig: tree_rigs.Rig) -> str:
    return rig.ob.chain_ik.chains[rig.ob.chain_ik.active_index].name


def test_a_click_on_a_bone_makes_its_chain_active(y_rig):
    for tip in ("Right", "Left", "Right"):
        click(y_rig.ob, f"{tip}.1")
        assert active(y_rig) == tip


def test_a_shared_bone_keeps_the_chain_that_is_active(y_rig):
    click(y_rig.ob, "Right.1")
    click(y_rig.ob, "Trunk.1")
    assert active(y_rig) == "Right"


def test_a_control_bone_belongs_to_the_chain_that_follows_it(y_rig):
    rigs.enter(y_rig.ob, "OBJECT")
    rigs.add_bones(y_rig.ob, ((2, 0, 0), (2, 0, 0.3)), prefix="Control")
    rigs.enter(y_rig.ob, "POSE")
    click(y_rig.ob, "Right.1")
    chain = y_rig.chain("Left")
    chain.target, chain.subtarget = y_rig.ob, "Control.0"
    click(y_rig.ob, "Control.0")
    assert active(y_rig) == "Left"


def test_a_choice_in_the_list_stays_until_another_bone_is_clicked(y_rig):
    click(y_rig.ob, "Right.1")
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    y_rig.target("Right").location.x += 0.1
    rigs.updated()
    click(y_rig.ob, "Right.1")
    assert active(y_rig) == "Left"
    click(y_rig.ob, "Right.0")
    assert active(y_rig) == "Right"


def test_a_bone_without_a_chain_changes_nothing(y_rig):
    rigs.enter(y_rig.ob, "OBJECT")
    rigs.add_bones(y_rig.ob, ((2, 0, 0), (2, 0, 0.3)), prefix="Free")
    rigs.enter(y_rig.ob, "POSE")
    click(y_rig.ob, "Right.1")
    click(y_rig.ob, "Free.0")
    assert active(y_rig) == "Right"


@pytest.fixture
def aimed(y_rig: tree_rigs.Rig) -> tree_rigs.TreeRig:
    """Return the rig with the chain Left active and the target of Right as active object."""
    rigs.enter(y_rig.ob, "OBJECT")
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    rigs.updated()
    click_object(y_rig.target("Right"))
    return y_rig


def click_object(ob: bpy.types.Object) -> None:
    select_objects(active=ob)
    rigs.updated()


def test_a_click_on_a_target_chooses_its_chain_in_the_list_and_for_panels(aimed):
    assert active(aimed) == "Right"
    assert active_chain(bpy.context) == aimed.chain("Right")


def test_remove_takes_the_chain_that_the_list_marks_while_a_target_is_active(aimed):
    aimed.ob.chain_ik.active_index = aimed.ob.chain_ik.chains.find("Left")
    rigs.updated()
    assert active_chain(bpy.context) == aimed.chain("Left")
    assert bpy.ops.pose.chain_ik_remove() == {"FINISHED"}
    assert aimed.ob.chain_ik.chains.keys() == ["Right"]


def test_each_of_two_chains_with_one_target_can_be_chosen(aimed):
    aimed.chain("Left").target = aimed.target("Right")
    for name in ("Left", "Right"):
        aimed.ob.chain_ik.active_index = aimed.ob.chain_ik.chains.find(name)
        rigs.updated()
        assert active_chain(bpy.context) == aimed.chain(name)


def test_a_click_on_a_shared_pole_keeps_the_chain_that_is_active(aimed):
    pole = rigs.make_empty("Pole")
    for chain in aimed.ob.chain_ik.chains:
        chain.pole_target = pole
    click_object(pole)
    assert active(aimed) == "Right"


def test_back_on_the_armature_the_chain_of_the_target_stays_active(aimed):
    click_object(aimed.ob)
    assert active_chain(bpy.context) == aimed.chain("Right")


def test_of_two_armatures_that_follow_one_target_the_selected_one_is_meant(aimed):
    other = rigs.make_rig(name="Other")
    rigs.add_chain(other, "Bone.1", aimed.target("Right"), name="Reach")
    for owner, name in ((aimed.ob, "Right"), (other, "Reach")):
        select_objects(owner, active=aimed.target("Right"))
        rigs.updated()
        assert active_chain(bpy.context) == owner.chain_ik.chains[name]


def test_undo_leaves_the_chain_of_the_target_that_is_active(aimed):
    """Blender pushes the step of a click before anything can know of it."""
    name = aimed.ob.name
    aimed.ob.chain_ik.active_index = aimed.ob.chain_ik.chains.find("Left")
    bpy.ops.ed.undo_push(message="Select")
    click_object(aimed.ob)
    click_object(aimed.target("Right"))
    aimed.target("Right").location.x += 0.1
    rigs.updated()
    bpy.ops.ed.undo_push(message="Move")
    bpy.ops.ed.undo()
    rigs.updated()
    assert active_chain(bpy.context) == bpy.data.objects[name].chain_ik.chains["Right"]


def step(name: str) -> None:
    """Store a step of undo, as Blender does: before anything else learns of what was done."""
    bpy.ops.ed.undo_push(message=name)


def back(rig: tree_rigs.Rig) -> str:
    """Undo, and return the name of the active chain."""
    name = rig.ob.name
    bpy.ops.ed.undo()
    rigs.updated()
    rig.ob = bpy.data.objects[name]
    return active(rig)


def test_undo_leaves_the_chain_of_the_bone_that_is_active(y_rig):
    click(y_rig.ob, "Left.1")
    y_rig.ob.data.bones.active = y_rig.ob.data.bones["Right.1"]
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    step("Select")
    click(y_rig.ob, "Left.1")
    click(y_rig.ob, "Right.1")
    assert active(y_rig) == "Right"
    y_rig.ob.pose.bones["Trunk.0"].location.x += 0.1
    rigs.updated()
    step("Move")
    assert back(y_rig) == "Right"


def test_undo_and_redo_leave_a_choice_in_the_list_while_the_same_bone_is_active(y_rig):
    name = y_rig.ob.name
    click(y_rig.ob, "Right.1")
    step("Select")
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    rigs.updated()
    y_rig.chain("Left").influence = 0.5
    step("Influence")
    assert back(y_rig) == "Left"
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Right")
    bpy.ops.ed.redo()
    rigs.updated()
    y_rig.ob = bpy.data.objects[name]
    assert active(y_rig) == "Right"


def test_undo_of_a_click_shows_the_chain_of_what_is_active_then(y_rig):
    click(y_rig.ob, "Right.1")
    # As in a step that was stored before its click was followed.
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    step("Right")
    click(y_rig.ob, "Left.1")
    step("Left")
    assert back(y_rig) == "Right"


def test_undo_that_takes_the_active_chain_away_leaves_another_one(y_rig):
    click(y_rig.ob, "Trunk.0")
    step("Before")
    added = rigs.add_chain(y_rig.ob, "Trunk.1", y_rig.target("Left"), name="Added")
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find(added.name)
    rigs.updated()
    step("Added")
    assert back(y_rig) in ("Left", "Right")
    assert y_rig.ob.chain_ik.active_index >= 0


def test_undo_leaves_a_choice_in_the_list_while_the_same_target_is_active(aimed):
    step("Select")
    aimed.ob.chain_ik.active_index = aimed.ob.chain_ik.chains.find("Left")
    rigs.updated()
    aimed.chain("Left").influence = 0.5
    step("Influence")
    assert back(aimed) == "Left"
