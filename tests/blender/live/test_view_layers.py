"""A view layer shown by a script right after a change has the right pose after its first update."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs

Change = Callable[[bpy.types.Object, bpy.types.Object], None]


def move_target(_ob: bpy.types.Object, target: bpy.types.Object) -> None:
    target.location = (0.9, -0.4, 1.0)


def flip(ob: bpy.types.Object, _target: bpy.types.Object) -> None:
    ob.chain_ik.chains[0].use_flip_bend = True


def mute(ob: bpy.types.Object, _target: bpy.types.Object) -> None:
    ob.chain_ik.chains[0].mute = True


def turn_parent(ob: bpy.types.Object, _target: bpy.types.Object) -> None:
    ob.rotation_euler = (0.3, 0.2, 0.1)


def show(view_layer: bpy.types.ViewLayer) -> None:
    bpy.context.window_manager.windows[0].view_layer = view_layer


def settled(ob: bpy.types.Object) -> np.ndarray:
    """Return the pose after everything has been tagged and updated again."""
    for tagged in bpy.data.objects:
        tagged.update_tag()
    return rigs.pose(ob, rigs.updated())


@pytest.mark.parametrize("is_known", [False, True], ids=["never shown", "shown before"])
@pytest.mark.parametrize("change", [move_target, flip, mute, turn_parent])
def test_a_change_just_before_another_view_layer_is_shown_is_solved_there(change, is_known):
    ob, target = rigs.make_arm()
    first, second = bpy.context.view_layer, bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    if is_known:
        show(second)
        rigs.updated()
        show(first)
        rigs.updated()
    before = rigs.pose(ob, first.depsgraph)
    change(ob, target)
    show(second)
    found = rigs.pose(ob, rigs.updated())
    assert np.abs(found - before).max() > 0.1
    np.testing.assert_array_equal(found, settled(ob))


def test_a_view_layer_that_is_new_and_shown_at_once_has_the_pose_of_the_change():
    ob, target = rigs.make_arm()
    second = bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    show(second)
    move_target(ob, target)
    found = rigs.pose(ob, rigs.updated())
    np.testing.assert_array_equal(found, settled(ob))
    rigs.assert_reaches(ob, "Bone.1", target)


@pytest.mark.parametrize("mode", ["EDIT", "SCULPT", "WEIGHT_PAINT", "OBJECT"])
def test_view_layers_may_be_added_while_a_mesh_is_edited(mode):
    ob, target = rigs.make_arm()
    bpy.ops.mesh.primitive_cube_add()
    bpy.ops.object.mode_set(mode=mode)
    second = bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    move_target(ob, target)
    show(second)
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.1", target)


@pytest.mark.parametrize("mode", ["EDIT", "POSE"])
def test_view_layers_may_be_added_while_another_armature_is_edited(mode):
    ob, target = rigs.make_arm()
    rigs.enter(rigs.make_rig(name="Edited"), mode)
    second = bpy.context.scene.view_layers.new("Second")
    rigs.updated()
    move_target(ob, target)
    show(second)
    rigs.updated()
    rigs.assert_reaches(ob, "Bone.1", target)
