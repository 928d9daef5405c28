"""Targets and poles moved to a point: there they are, and nothing but their location changed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.gizmos.placed import PARENTS, PLACED, POINT, add_control, hang, make_arm, place
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal

move_target = bpy.ops.pose.chain_ik_move_target
move_pole = bpy.ops.pose.chain_ik_move_pole

MODES = ("FULL", "FIX_SHEAR", "ALIGNED", "AVERAGE", "NONE", "NONE_LEGACY")


def channels(moved: bpy.types.Object | bpy.types.PoseBone) -> tuple[float, ...]:
    """Return what rotation and scale channels hold, exactly."""
    return (
        *moved.rotation_quaternion,
        *moved.rotation_euler,
        *moved.rotation_axis_angle,
        *moved.scale,
    )


@pytest.mark.parametrize(
    ("kind", "word"), [("scaled", "target"), ("mirrored", "pole"), ("sheared", "target")]
)
def test_an_object_goes_to_the_point_under_any_parents(kind, word):
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    moved = chain.target if word == "target" else chain.pole_target
    moved.rotation_euler, moved.scale, moved.delta_location = (0.3, 0.2, 0.1), (1, -2, 1), (0, 1, 2)
    hang(moved, kind)
    before = channels(moved)
    press(move_target if word == "target" else move_pole, location=POINT)
    np.testing.assert_allclose(place(moved), POINT, atol=PLACED)
    assert channels(moved) == before
    if word == "target":
        np.testing.assert_allclose(rigs.tail(ob, "Bone.1"), POINT, atol=2e-5)


@pytest.mark.parametrize(("kind", "mode"), [("mirrored", "FULL"), *product(["sheared"], MODES)])
def test_a_bone_goes_to_the_point_however_it_hangs_under_its_parent(kind, mode):
    ob = make_arm()
    names = rigs.add_bones(ob, rigs.zigzag(2, seed=3), prefix="Above")
    name = add_control(ob, names[-1])
    rigs.turn_bones(ob, seed=5, angle=1.0)
    for above, scale in zip(names, PARENTS[kind], strict=True):
        ob.pose.bones[above].scale = scale
    hang(ob, kind)
    rigs.enter(ob, "POSE")
    chain = ob.chain_ik.chains[0]
    chain.mute, chain.target, chain.subtarget = True, ob, name
    bone = ob.data.bones[name]
    bone.inherit_scale = mode
    for turns, is_local in product((True, False), (True, False)):
        bone.use_inherit_rotation, bone.use_local_location = turns, is_local
        ob.pose.bones[name].location = (0.3, 0.2, 0.1)
        rigs.updated()
        before = channels(ob.pose.bones[name])
        press(move_target, location=POINT)
        np.testing.assert_allclose(place(ob, name), POINT, atol=2e-5)
        assert channels(ob.pose.bones[name]) == before


def test_a_bone_without_parent_goes_to_the_point_on_its_own_axes_and_on_the_armatures():
    for is_local in (True, False):
        ob = make_arm()
        name = add_control(ob, "", seed=8)
        ob.data.bones[name].use_local_location = is_local
        hang(ob, "mirrored")
        rigs.enter(ob, "POSE")
        ob.chain_ik.chains[0].target, ob.chain_ik.chains[0].subtarget = ob, name
        rigs.updated()
        press(move_target, location=POINT)
        np.testing.assert_allclose(place(ob, name), POINT, atol=PLACED)


def test_a_bone_of_another_armature_and_an_object_under_a_bone_go_to_the_point():
    ob = make_arm()
    other = rigs.make_rig(rigs.zigzag(2), name="Other", is_connected=False)
    other.location, other.rotation_euler = (1.0, 2.0, 0.5), (0.3, 0.4, 0.5)
    chain = ob.chain_ik.chains[0]
    chain.target, chain.subtarget = other, "Bone.1"
    chain.pole_target = rigs.make_empty("Pole", parent=other, parent_bone="Bone.0")
    rigs.turn_bones(other)
    rigs.enter(ob, "POSE")
    press(move_target, location=POINT)
    press(move_pole, location=(0.0, -2.0, 0.5))
    np.testing.assert_allclose(place(other, "Bone.1"), POINT, atol=PLACED)
    np.testing.assert_allclose(place(chain.pole_target), (0.0, -2.0, 0.5), atol=PLACED)


def test_locked_and_driven_axes_stay_and_the_others_come_as_near_as_they_can():
    ob = make_arm()
    moved = ob.chain_ik.chains[0].target
    hang(moved, "none")
    moved.lock_location = (True, False, False)
    moved.driver_add("location", 1).driver.expression = "0.25"
    rigs.updated()
    before, start = tuple(moved.location), rigs.position(moved)
    press(move_target, location=POINT)
    assert moved.location[:2] == before[:2]
    way, gap = rigs.position(moved) - start, np.array(POINT) - rigs.position(moved)
    assert np.linalg.norm(way) > 0.01
    # What is left is across the only axis that may move.
    assert abs(way @ gap) < 1e-5 * np.linalg.norm(way)


def test_a_place_far_from_the_worlds_origin_is_gone_to():
    ob = make_arm()
    target = ob.chain_ik.chains[0].target
    hang(target, "sheared")
    target.parent.location = (2e4, -1e4, 3e3)
    rigs.updated()
    point = rigs.position(target) + np.array((0.3, -0.2, 0.1))
    press(move_target, location=point)
    np.testing.assert_allclose(rigs.position(target), point, atol=5e-2)


@contextmanager
def auto_keying(*, is_on: bool = True, only_available: bool) -> Iterator[None]:
    """Switch Auto Keying on or off, and say whether it keys what has no keys yet."""
    edit = bpy.context.preferences.edit
    before = edit.use_keyframe_insert_available
    edit.use_keyframe_insert_available = only_available
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = is_on
    yield
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = False
    edit.use_keyframe_insert_available = before


def test_auto_keying_keys_the_location_and_nothing_else():
    ob = make_arm()
    target = ob.chain_ik.chains[0].target
    bpy.context.scene.frame_set(7)
    with auto_keying(is_on=False, only_available=False):
        press(move_target, location=(0.1, 0.2, 1.0))
    assert rigs.curves_of(target) == []
    with auto_keying(only_available=False):
        press(move_target, location=POINT)
    found = {(curve.data_path, curve.array_index) for curve in rigs.curves_of(target)}
    assert found == {("location", axis) for axis in range(3)}
    keys = [tuple(curve.keyframe_points[0].co) for curve in rigs.curves_of(target)]
    np.testing.assert_allclose(keys, [(7.0, value) for value in target.location])


def test_auto_keying_leaves_channels_without_keys_alone_where_only_available_ones_get_keys():
    ob = make_arm()
    target = ob.chain_ik.chains[0].target
    target.keyframe_insert("location", index=2, frame=1)
    bpy.context.scene.frame_set(9)
    with auto_keying(only_available=True):
        press(move_target, location=POINT)
    assert [(c.array_index, len(c.keyframe_points)) for c in rigs.curves_of(target)] == [(2, 2)]


def test_a_drag_is_one_step_back():
    ob = make_arm()
    bpy.ops.ed.undo_push(message="Before")
    before = rigs.position(ob.chain_ik.chains[0].target)
    move_target("EXEC_DEFAULT", True, location=POINT)
    bpy.ops.ed.undo_push(message="After")
    bpy.ops.ed.undo()
    bpy.ops.ed.undo()
    np.testing.assert_array_equal(rigs.position(bpy.data.objects["Rig Target"]), before)


def test_what_cannot_be_moved_is_refused_with_what_to_do():
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    target = chain.target
    assert "no pole" in refusal(move_pole, location=POINT)
    target.lock_location = (True, True, True)
    text = refusal(move_target, location=POINT)
    assert "The location of the target 'Rig Target' is locked or has drivers: unlock" in text
    target.lock_location = (False, False, False)
    other = rigs.make_rig(rigs.zigzag(2), name="Other")
    chain.target, chain.subtarget = other, "Bone.1"
    rigs.enter(ob, "POSE")
    text = refusal(move_target, location=POINT)
    assert "Connected is on for bone 'Bone.1', so it cannot be moved" in text
    chain.subtarget = "Gone"
    assert "no longer exists" in refusal(move_target, location=POINT)


@pytest.mark.parametrize("is_bone", [False, True])
def test_what_stands_nowhere_is_refused_and_no_point_that_is_none_is_gone_to(is_bone):
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    moved = chain.target
    if is_bone:
        chain.subtarget, chain.target = add_control(ob, "", seed=2), ob
        rigs.enter(ob, "POSE")
        moved = ob.pose.bones[chain.subtarget]
    before = tuple(moved.location)
    for point in ((np.nan, 0.0, 0.0), (0.0, np.inf, 0.0), (3.4e38, 3.4e38, 3.4e38)):
        press(move_target, location=point)
        assert np.isfinite(moved.location).all()
        moved.location = before
        rigs.updated()
    moved.scale.x = np.nan
    rigs.updated()
    assert "not finite" in refusal(move_target, location=POINT)
    assert tuple(moved.location) == before


def test_a_linked_target_is_refused_and_an_override_of_it_moves(tmp_path: Path):
    path = str(tmp_path / "library.blend")
    rigs.make_empty("Far", (1.0, 1.0, 1.0))
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    ob = make_arm()
    with bpy.data.libraries.load(path, link=True) as (_found, wanted):
        wanted.objects = ["Far"]
    linked = rigs.link(wanted.objects[0])
    ob.chain_ik.chains[0].target = linked
    rigs.updated()
    assert "The target 'Far' is linked" in refusal(move_target, location=POINT)
    own = linked.override_create(remap_local_usages=True)
    ob.chain_ik.chains[0].target = own
    rigs.updated()
    press(move_target, location=POINT)
    np.testing.assert_allclose(rigs.position(own), POINT, atol=PLACED)
    own.override_library.is_system_override = True
    text = refusal(move_target, location=(0.0, 0.0, 1.0))
    assert "The library override of the target 'Far' cannot be edited" in text
    np.testing.assert_allclose(rigs.position(own), POINT, atol=PLACED)
