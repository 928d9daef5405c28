"""A click on a ring or a diamond selects its control, as a click on that itself does in Blender."""

from __future__ import annotations

import bpy

from tests.blender.gizmos.dragged import Drag, pixel_of
from tests.blender.gizmos.placed import add_control
from tests.blender.setups import rigs
from tests.blender.setups.selecting import select_bones, select_objects

activate = bpy.ops.pose.chain_ik_activate


def make_arms() -> tuple[bpy.types.Object, bpy.types.Object, str]:
    """Return a rig in pose mode, and its targets: an empty and, of the active chain, a bone."""
    ob, target = rigs.make_arm()
    name = add_control(ob, "", seed=2)
    rigs.add_chain(ob, "Bone.0", ob, subtarget=name)
    select_bone(ob)
    return ob, target, name


def select_bone(ob: bpy.types.Object) -> None:
    select_bones(ob, ["Bone.1"])
    # Selecting has made the chain of the bone active.
    ob.chain_ik.active_index = 1


def selected() -> set[str]:
    """Return the names of what is selected, the active one with a star."""
    if bpy.context.mode == "POSE":
        found, active = bpy.context.selected_pose_bones, bpy.context.active_pose_bone
    else:
        found, active = bpy.context.selected_objects, bpy.context.active_object
    return {f"{each.name}{'*' * (each == active)}" for each in found}


def click(view: bpy.types.Context, place: object, modifier: str = "") -> None:
    drag = Drag("move_target", view, pixel_of(view, place))
    drag.send("LEFTMOUSE", "RELEASE", modifier)
    assert drag.result == {"CANCELLED"}, drag.reports
    rigs.updated()


def test_a_click_on_a_ring_selects_its_bone_or_object_and_shift_keeps_the_rest(view):
    ob, target, name = make_arms()
    before = rigs.head(ob, name)
    click(view, before)
    assert selected() == {f"{name}*"}
    select_bone(ob)
    click(view, before, "shift")
    assert selected() == {"Bone.1", f"{name}*"}
    click(view, before, "shift")
    assert selected() == {"Bone.1"}
    assert tuple(rigs.head(ob, name)) == tuple(before)
    rigs.enter(ob, "OBJECT")
    ob.chain_ik.active_index = 0
    for modifier, kept in (("", set()), ("shift", {"Rig"})):
        select_objects(active=ob)
        click(view, rigs.position(target), modifier)
        assert selected() == {"Rig Target*"} | kept


def test_what_cannot_be_selected_in_a_mode_leaves_the_selection_alone():
    ob, target, name = make_arms()
    for mode, index in (("POSE", 0), ("OBJECT", 1)):
        rigs.enter(ob, mode)
        before = selected()
        assert activate(index=index) == {"FINISHED"}
        assert selected() == before
        assert ob.chain_ik.active_index == index
    rigs.enter(ob, "POSE")
    ob.data.bones[name].hide_select = True
    before = selected()
    assert activate(index=1) == {"FINISHED"}
    assert selected() == before
    rigs.enter(ob, "OBJECT")
    target.hide_select = True
    assert activate(index=0) == {"FINISHED"}
    assert selected() == {"Rig*"}


def test_a_click_on_a_diamond_selects_the_target_of_its_chain():
    ob, _, name = make_arms()
    for extend in (False, True):
        select_bone(ob)
        ob.chain_ik.active_index = 0
        assert activate(index=1, use_extend=extend) == {"FINISHED"}
        assert selected() == {f"{name}*"} | ({"Bone.1"} if extend else set())
        rigs.updated()
        assert ob.chain_ik.active_index == 1
    before = selected()
    ob.chain_ik.chains[0].target = None
    assert activate(index=0) == {"FINISHED"}
    assert ob.chain_ik.active_index == 0
    assert selected() == before
