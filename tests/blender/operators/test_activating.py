"""Clicking a bone or a control makes its chain the active one, and undoes no other choice."""

import bpy
import pytest

from blender_ik_addon.properties.chains import active_chain
from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.selecting import select_objects


def click(bone: str) -> None:
    """Make a bone the active one."""
    data = bpy.data.objects["Y"].data
    data.bones.active = data.bones[bone]
    # What Blender does on a click, which tells of the selection.
    rigs.tagged(data)


def click_object(ob: bpy.types.Object) -> None:
    select_objects(active=ob)
    rigs.updated()


def choose(name: str) -> None:
    """Choose a chain in the list."""
    settings = bpy.data.objects["Y"].chain_ik
    rigs.change(settings, active_index=settings.chains.find(name))


def active() -> str:
    settings = bpy.data.objects["Y"].chain_ik
    return settings.chains[settings.active_index].name


@pytest.fixture
def y_rig() -> tree_rigs.Rig:
    """Return a rig with the chains Left and Right, and two bones beside it, in pose mode."""
    rig = tree_rigs.make_y().follow()
    for name in ("Control", "Free"):
        rigs.add_bones(rig.ob, ((2, 0, 0), (2, 0, 0.3)), prefix=name)
    rigs.enter(rig.ob, "POSE")
    click("Trunk.0")
    return rig


def test_a_click_on_a_bone_makes_its_chain_active_unless_it_has_none_or_the_active_one(y_rig):
    for tip in ("Right", "Left", "Right"):
        click(f"{tip}.1")
        assert active() == tip
    for bone in ("Trunk.1", "Free.0"):
        click(bone)
        assert active() == "Right"
    # A control bone belongs to the chain that follows it.
    chain = y_rig.chain("Left")
    chain.target, chain.subtarget = y_rig.ob, "Control.0"
    click("Control.0")
    assert active() == "Left"


def test_a_click_on_a_target_chooses_its_chain_in_the_list_and_for_panels(y_rig):
    rigs.enter(y_rig.ob, "OBJECT")
    choose("Left")
    click_object(y_rig.target("Right"))
    assert active() == "Right"
    assert active_chain(bpy.context) == y_rig.chain("Right")
    # Back on the armature it stays active.
    click_object(y_rig.ob)
    assert active_chain(bpy.context) == y_rig.chain("Right")
    # A shared pole is of the active chain, too.
    pole = rigs.make_empty("Pole")
    for chain in y_rig.ob.chain_ik.chains:
        chain.pole_target = pole
    click_object(pole)
    assert active() == "Right"
    # Of two armatures that follow one target the selected one is meant.
    other = rigs.make_rig(name="Other")
    rigs.add_chain(other, "Bone.1", y_rig.target("Right"), name="Reach")
    for owner, name in ((y_rig.ob, "Right"), (other, "Reach")):
        select_objects(owner, active=y_rig.target("Right"))
        rigs.updated()
        assert active_chain(bpy.context) == owner.chain_ik.chains[name]
    # Of two chains with one target each can be chosen and removed.
    select_objects(y_rig.ob, active=y_rig.target("Right"))
    y_rig.chain("Left").target = y_rig.target("Right")
    for name in ("Right", "Left"):
        choose(name)
        assert active_chain(bpy.context) == y_rig.chain(name)
    assert bpy.ops.pose.chain_ik_remove() == {"FINISHED"}
    assert y_rig.ob.chain_ik.chains.keys() == ["Right"]


def step(name: str) -> None:
    """Store a step of undo, as Blender does: before anything else learns of what was done."""
    bpy.ops.ed.undo_push(message=name)


def back() -> str:
    """Undo, and return the name of the active chain."""
    bpy.ops.ed.undo()
    rigs.updated()
    return active()


def test_undo_leaves_the_chain_of_the_bone_that_is_active(y_rig):
    click("Left.1")
    y_rig.ob.data.bones.active = y_rig.ob.data.bones["Right.1"]
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    step("Select")
    click("Left.1")
    click("Right.1")
    assert active() == "Right"
    y_rig.ob.pose.bones["Trunk.0"].location.x += 0.1
    rigs.updated()
    step("Move")
    assert back() == "Right"


@pytest.mark.parametrize("what", ["bone", "target"])
def test_undo_and_redo_leave_a_choice_in_the_list_while_the_same_thing_is_active(y_rig, what):
    if what == "bone":
        click("Right.1")
    else:
        rigs.enter(y_rig.ob, "OBJECT")
        click_object(y_rig.target("Right"))
    step("Select")
    choose("Left")
    y_rig.chain("Left").influence = 0.5
    step("Influence")
    assert back() == "Left"
    choose("Right")
    bpy.ops.ed.redo()
    rigs.updated()
    assert active() == "Right"


def test_undo_of_a_click_shows_the_chain_of_what_is_active_then(y_rig):
    click("Right.1")
    # As in a step that was stored before its click was followed.
    y_rig.ob.chain_ik.active_index = y_rig.ob.chain_ik.chains.find("Left")
    step("Right")
    click("Left.1")
    step("Left")
    assert back() == "Right"
