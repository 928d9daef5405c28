"""Targets deleted, hidden, exchanged, and bones as targets: each update sees them as they are."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import OTHER, assert_right, chain, follow, named

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow


def test_a_deleted_target_is_followed_no_more_and_one_of_its_name_only_once_chosen():
    warm_rigs.make_pair()
    bpy.data.objects.remove(named("Rig Target"))
    assert_right([OTHER], ["Other Target"])
    assert "target" in chain().status
    before = rigs.rotations(named("Rig"))
    rigs.make_empty("Rig Target", (-0.3, 0.5, 1.0))
    assert_right([OTHER])
    assert rigs.rotations(named("Rig")) == before
    chain().target = named("Rig Target")
    assert_right()


def take_out_of_the_scene(target):
    bpy.context.scene.collection.objects.unlink(target)
    return lambda: bpy.context.scene.collection.objects.link(target)


def hide(target):
    target.hide_viewport = True
    return lambda: setattr(target, "hide_viewport", False)


def hide_by_eye(target):
    target.hide_set(True)
    return lambda: target.hide_set(False)


def put_into_an_excluded_collection(target):
    collection = bpy.data.collections.new("Away")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(target)
    bpy.context.scene.collection.objects.unlink(target)

    def set_exclude(value):
        bpy.context.view_layer.layer_collection.children["Away"].exclude = value

    set_exclude(True)
    return lambda: set_exclude(False)


HIDINGS = (hide, hide_by_eye, put_into_an_excluded_collection, take_out_of_the_scene)


@pytest.mark.parametrize("do_hide", HIDINGS)
def test_a_target_hidden_moved_and_shown_again_is_followed(do_hide):
    warm_rigs.make_pair()
    target = named("Rig Target")
    undo = do_hide(target)
    if do_hide is take_out_of_the_scene:
        assert_right([OTHER])
        assert "no longer in the scene" in chain().status
    else:
        assert_right(movers=("Rig Target", "Other Target"))
    target.location += warm_rigs.SHIFT
    undo()
    assert_right()


@pytest.mark.parametrize("do_hide", HIDINGS)
def test_a_rig_hidden_while_its_target_moves_is_right_when_it_is_shown(do_hide):
    warm_rigs.make_pair()
    undo = do_hide(named("Rig"))
    for _ in range(2):
        named("Rig Target").location += 0.5 * warm_rigs.SHIFT
        bpy.context.view_layer.update()
    undo()
    assert_right()


def test_a_target_remapped_by_a_script_is_the_new_one():
    warm_rigs.make_pair()
    rigs.make_empty("New", (0.2, -0.6, 1.1))
    named("Rig Target").user_remap(named("New"))
    assert_right([("Rig", "Bone.2", "New"), OTHER], ("New", *warm_rigs.TARGETS))


def make_handle() -> bpy.types.Object:
    handle = rigs.make_armature("Handle")
    joints = ((0.5, 0.4, 0.8), (0.5, 0.4, 1.0), (0.3, 0.5, 1.2))
    rigs.add_bones(handle, joints, prefix="Handle")
    chain().target, chain().subtarget = handle, "Handle.1"
    bpy.context.view_layer.update()
    return handle


def assert_follows_handle(bone: str = "Handle.1") -> None:
    assert_right([OTHER], ["Other Target", "Handle"])
    found = rigs.tail(named("Rig"), "Bone.2", rigs.updated())
    expected = rigs.head(named("Handle"), bone, bpy.context.view_layer.depsgraph)
    np.testing.assert_allclose(found, expected, atol=rigs.REACHED)


def test_a_target_bone_moved_edited_and_renamed_is_followed_as_it_is():
    warm_rigs.make_pair()
    handle = make_handle()
    assert_follows_handle()
    handle.pose.bones["Handle.0"].rotation_quaternion = (0.9, 0.3, 0.1, 0.0)
    assert_follows_handle()
    warm_rigs.edit_bones(lambda bones: bones["Handle.0"].translate(Vector((0, 0, 0.1))), "Handle")
    assert_follows_handle()
    named("Handle").data.bones["Handle.1"].name = "New"
    assert_follows_handle("New")
    assert chain().subtarget == "New"


def test_a_target_bone_that_becomes_part_of_a_live_chain_is_followed_after_it():
    warm_rigs.make_pair()
    make_handle()
    rigs.make_empty("Handle Target", (0.6, 0.2, 1.0))
    limb = ("Handle", "Handle.1", "Handle Target")
    follow(limb, chain_count=2)
    for _ in range(2):
        assert_right([OTHER, limb], ["Other Target", "Handle Target"])
        assert_follows_handle()
    named("Handle").chain_ik.chains.clear()
    assert_follows_handle()
    chain().subtarget, chain().target = "", named("Rig Target")
    assert_right()
