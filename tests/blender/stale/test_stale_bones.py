"""Bones edited, added, deleted and given another rest pose: they are solved as they are now."""

from __future__ import annotations

import bpy
import pytest
from mathutils import Matrix

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, assert_right, chain, edit_bones, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def move_a_joint(bones):
    bones["Bone.0"].tail = bones["Bone.1"].head = (0.4, -0.3, 0.5)


def move_the_root(bones):
    bones["Bone.0"].head = (0.2, 0.1, -0.1)


def lengthen_the_tip(bones):
    bones["Bone.2"].tail = (0.1, 0.0, 2.1)


def roll_the_middle(bones):
    bones["Bone.1"].roll = 1.3


def move_the_bone_above(bones):
    bones["Above.0"].head = (0.3, 0.1, -0.6)


def hang_the_root_on_nothing(bones):
    bones["Bone.0"].parent = None


def hang_the_root_on_another_bone(bones):
    bones["Bone.0"].parent = bones["Early.0"]


def leave_out_the_middle(bones):
    bones["Bone.2"].parent = bones["Bone.0"]


def part_the_middle(bones):
    bones["Bone.1"].head = (0.3, 0.1, 0.7)


def connect_the_middle(bones):
    bones["Bone.1"].use_connect = True


def connect_the_root(bones):
    bones["Above.0"].tail = bones["Bone.0"].head = (0.0, 0.1, 0.0)
    bones["Bone.0"].use_connect = True


def delete_a_bone_that_stands_before(bones):
    bones.remove(bones["Early.0"])


def delete_the_bone_above(bones):
    bones.remove(bones["Above.0"])


def delete_the_middle(bones):
    bones.remove(bones["Bone.1"])


def delete_the_leaf_and_the_first(bones):
    for name in ("Leaf.0", "Early.0"):
        bones.remove(bones[name])


def add_bones_on_all_sides(bones):
    for i, parent in enumerate(("", "Above.0", "Bone.0", "Bone.2", "Early.0")):
        bone = bones.new(f"A.{i}")
        bone.head, bone.tail = (-1, i, 0), (-1, i, 1)
        bone.parent = bones[parent] if parent else None


def put_a_bone_into_the_chain(bones):
    between = bones.new("A")
    between.head, between.tail = bones["Bone.1"].head, (0.3, 0.1, 0.9)
    between.parent, bones["Bone.1"].parent = bones["Bone.0"], between


def put_a_bone_above_all(bones):
    above = bones.new("A")
    above.head, above.tail = (0, 0, -1), (0.1, 0, -0.5)
    bones["Above.0"].parent = above


def turn_all_about(bones):
    for bone in bones:
        bone.transform(Matrix.Rotation(0.7, 4, "X"))


EDITS = (
    move_a_joint,
    move_the_root,
    lengthen_the_tip,
    roll_the_middle,
    move_the_bone_above,
    hang_the_root_on_nothing,
    hang_the_root_on_another_bone,
    part_the_middle,
    connect_the_middle,
    connect_the_root,
    delete_a_bone_that_stands_before,
    delete_the_bone_above,
    delete_the_leaf_and_the_first,
    add_bones_on_all_sides,
    put_a_bone_above_all,
    turn_all_about,
)
JOININGS = {
    leave_out_the_middle: "Above.0",
    delete_the_middle: "Above.0",
    put_a_bone_into_the_chain: "A",
}
"""Edits that bring a bone into the chain, by name."""


@pytest.mark.parametrize("edit", EDITS)
def test_bones_edited_are_solved_as_they_are_now(edit):
    warm_rigs.make_pair()
    for name in ("Bone.0", "Bone.1"):
        warm_rigs.pose_bone(name).location = (0.05, 0.02, -0.03)
    warm_rigs.warm_up()
    edit_bones(edit)
    assert_right()


@pytest.mark.parametrize(("edit", "joined"), JOININGS.items())
def test_a_chain_that_has_other_bones_now_drives_those_and_no_others(edit, joined):
    warm_rigs.make_pair(start_from="REST")
    edit_bones(edit)
    bpy.context.view_layer.update()
    before = rigs.rotations(named("Rig"))
    assert_right(movers=("Rig Target",))
    named("Rig Target").location += warm_rigs.SHIFT
    bpy.context.view_layer.update()
    after = rigs.rotations(named("Rig"))
    moved = {name for name in after if after[name] != before[name]}
    tip = named("Rig").data.bones["Bone.2"]
    assert {joined} <= moved <= {bone.name for bone in (tip, *tip.parent_recursive[:2])}


# Before a chain first writes a bone, its pose is stored; mute gives it back, and until then the
# solve starts from it: the same frame gives the same pose.
@pytest.mark.parametrize(("edit", "joined"), JOININGS.items())
def test_a_bone_that_joins_a_chain_has_its_pose_stored_and_given_back(edit, joined):
    free = warm_rigs.make_pair()
    edit_bones(edit)
    assert_right()
    chain().mute = True
    bpy.context.view_layer.update()
    warm_rigs.assert_let_go({joined: free.get(joined, (1.0, 0.0, 0.0, 0.0))})


@pytest.mark.parametrize("edit", [move_the_root, delete_a_bone_that_stands_before])
def test_bones_edited_while_targets_move_are_solved_as_they_are_at_the_end(edit):
    warm_rigs.make_pair()
    rigs.enter(named("Rig"), "EDIT")
    edit(named("Rig").data.edit_bones)
    assert_right([OTHER])
    for name in warm_rigs.TARGETS:
        named(name).location += warm_rigs.SHIFT
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert_right()


def test_edit_mode_without_a_change_misses_no_target():
    warm_rigs.make_pair()
    rigs.enter(named("Rig"), "EDIT")
    named("Rig Target").location += warm_rigs.SHIFT
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")
    assert_right()


def test_the_tip_deleted_and_made_again_is_driven_again():
    warm_rigs.make_pair()
    rigs.enter(named("Rig"), "EDIT")
    bones = named("Rig").data.edit_bones
    bones.remove(bones["Bone.2"])
    bpy.ops.object.mode_set(mode="OBJECT")
    assert_right([OTHER])
    assert "'Bone.2' no longer exists" in chain().status
    rigs.enter(named("Rig"), "EDIT")
    bones = named("Rig").data.edit_bones
    tip = bones.new("Bone.2")
    tip.head, tip.tail, tip.parent = (0.2, 0.2, 1.2), (0, 0.3, 1.9), bones["Bone.1"]
    bpy.ops.object.mode_set(mode="OBJECT")
    assert_right()


def transform_the_data():
    data = named("Rig").data
    data.transform(Matrix.Rotation(0.6, 4, "X") @ Matrix.Scale(1.2, 4))
    data.update_tag()  # Blender itself would evaluate the old bones otherwise.


def apply_the_pose_as_rest():
    rigs.enter(named("Rig"), "POSE")
    bpy.ops.pose.armature_apply()


def apply_a_scale_of_the_object():
    ob = named("Rig")
    ob.scale = (1.1, 1.1, 1.1)
    bpy.context.view_layer.update()
    bpy.ops.object.select_all(action="DESELECT")
    ob.select_set(True)
    bpy.context.view_layer.objects.active = ob
    bpy.ops.object.transform_apply(location=False, rotation=False, scale=True)


@pytest.mark.parametrize(
    "change", [transform_the_data, apply_the_pose_as_rest, apply_a_scale_of_the_object]
)
def test_a_rest_pose_changed_without_edit_mode_is_solved_as_it_is_now(change):
    warm_rigs.make_pair()
    change()
    assert_right()
