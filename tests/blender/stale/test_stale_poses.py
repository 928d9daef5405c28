"""Poses, flags, constraints, objects and frames changed around chains whose plans are warm."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs, warm_rigs
from tests.blender.setups.warm_rigs import (
    OTHER,
    RIG,
    assert_right,
    assert_right_at,
    chain,
    named,
    pose_bone,
)

# Many short tests: thorough, so not among the quick ones.
pytestmark = pytest.mark.slow

Change = Callable[[], None]


def changed(holder: Callable[[], object], name: str, value: object, of: str) -> object:
    """Return a parameter: a change of one property, named after it and what it belongs to."""

    def change() -> None:
        setattr(holder(), name, value)

    return pytest.param(change, id=f"{of}-{name}")


def posed(bone: str, name: str, value: object) -> object:
    return changed(lambda: pose_bone(bone), name, value, bone)


def rest(bone: str, name: str, value: object) -> object:
    return changed(lambda: named("Rig").data.bones[bone], name, value, bone)


def placed(ob: str, name: str, value: object) -> object:
    return changed(lambda: named(ob), name, value, ob)


REACHING = (
    posed("Above.0", "rotation_quaternion", (0.9, 0.2, -0.2, 0.1)),
    posed("Above.0", "rotation_quaternion", (0.8, 0.0, 0.6, 0.0)),
    posed("Above.0", "location", (0.1, 0.05, -0.1)),
    posed("Above.0", "scale", (1.2, 1.2, 1.2)),
    posed("Above.0", "scale", (1.2, 0.9, 1.1)),
    posed("Bone.0", "location", (0.1, 0.1, -0.1)),
    posed("Bone.1", "location", (0.1, 0.05, -0.1)),
    posed("Bone.1", "scale", (1.2, 1.1, 0.9)),
    posed("Bone.2", "scale", (-1.0, 1.1, 1.0)),
    posed("Bone.0", "rotation_mode", "XYZ"),
    posed("Bone.1", "rotation_mode", "QUATERNION"),
    posed("Bone.2", "rotation_mode", "AXIS_ANGLE"),
    posed("Bone.1", "rotation_mode", "YXZ"),
    posed("Early.0", "rotation_quaternion", (0.8, 0.6, 0.0, 0.0)),
    posed("Leaf.0", "scale", (2.0, 2.0, 2.0)),
    rest("Bone.0", "use_inherit_rotation", False),
    rest("Bone.1", "use_inherit_rotation", False),
    rest("Bone.1", "inherit_scale", "NONE"),
    rest("Bone.0", "inherit_scale", "NONE"),
    rest("Bone.0", "use_local_location", False),
    placed("Rig", "scale", (-1.0, 1.0, 1.0)),
    placed("Rig", "scale", (1.2, 0.9, -1.1)),
    placed("Rig", "location", (0.1, -0.2, 0.1)),
    placed("Rig", "rotation_euler", (0.2, -0.3, 0.4)),
    placed("Rig", "delta_location", (0.1, -0.2, 0.1)),
    placed("Rig Target", "scale", (-2.0, 1.0, 1.0)),
)


def make_grown_pair() -> None:
    """Make warm rigs on which every flag of a bone matters."""
    warm_rigs.make_pair()
    pose_bone("Above.0").scale = (1.1, 1.1, 1.1)
    pose_bone("Bone.0").location = (0.05, 0.02, 0.03)
    warm_rigs.warm_up()


@pytest.mark.parametrize("change", REACHING)
def test_what_a_pose_hangs_on_is_used_from_the_next_update_on(change: Change):
    make_grown_pair()
    before = warm_rigs.shown()
    change()
    after = warm_rigs.shown()
    np.testing.assert_array_equal(after["Other"], before["Other"])
    assert_right()


@pytest.mark.parametrize("name", ["location", "scale"])
def test_channels_written_in_bulk_are_used_from_the_next_update_on(name):
    make_grown_pair()
    values = np.array([getattr(bone, name) for bone in named("Rig").pose.bones], np.float32)
    values[1:3] += 0.07
    named("Rig").pose.bones.foreach_set(name, values.ravel())
    named("Rig").update_tag(refresh={"DATA"})  # 4.2 is told nothing by foreach_set.
    assert_right()


def test_a_lock_is_kept_until_it_is_free_again():
    free = warm_rigs.make_pair()
    pose_bone("Bone.1").lock_rotation[1] = True
    assert_right([OTHER])
    assert pose_bone("Bone.1").rotation_euler[1] == pytest.approx(free["Bone.1"][1])
    pose_bone("Bone.2").lock_rotation = (True, True, True)
    pose_bone("Bone.2").lock_rotation_w = True
    assert_right([OTHER])
    warm_rigs.assert_let_go(free, "Bone.2")
    pose_bone("Bone.2").lock_rotations_4d = False
    assert_right([OTHER])
    for bone in named("Rig").pose.bones:
        bone.lock_rotation, bone.lock_rotation_w = (False, False, False), False
    assert_right()


def hold_above(kind: str = "COPY_ROTATION") -> bpy.types.Constraint:
    holder = rigs.make_empty("Holder", (0.2, -0.1, -0.4))
    holder.rotation_euler = (0.3, 0.4, -0.2)
    constraint = pose_bone("Above.0").constraints.new(kind)
    constraint.target = holder
    return constraint


def remove_constraint() -> None:
    constraints = pose_bone("Above.0").constraints
    constraints.remove(constraints[0])


@pytest.mark.parametrize("kind", ["COPY_ROTATION", "COPY_LOCATION"])
def test_a_constraint_above_a_chain_is_seen_with_each_of_its_changes(kind):
    warm_rigs.make_pair()
    hold_above(kind)
    movers = ("Holder", *warm_rigs.TARGETS)
    assert_right(movers=movers)
    for name, value in (("mute", True), ("mute", False), ("influence", 0.4), ("influence", 1.0)):
        setattr(pose_bone("Above.0").constraints[0], name, value)
        assert_right(movers=movers)
    pose_bone("Above.0").constraints[0].target = named("Other Target")
    pose_bone("Above.0").constraints[0].influence = 0.2
    assert_right(movers=movers)
    remove_constraint()
    assert_right(movers=movers)


def test_a_constraint_that_ties_the_bone_above_to_another_chain_changes_the_order():
    warm_rigs.make_pair()
    constraint = hold_above()
    for bone in ("Bone.1", "Early.0", "Bone.2"):
        constraint.target, constraint.subtarget = named("Other"), bone
        assert_right()
        for is_muted in (True, False):
            pose_bone("Above.0").constraints[0].mute = is_muted
            assert_right()
    remove_constraint()
    constraint = pose_bone("Above.0", "Other").constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget = named("Rig"), "Bone.1"
    assert_right()


def test_a_rig_at_rest_while_its_target_moves_is_right_when_it_is_posed_again():
    warm_rigs.make_pair()
    named("Rig").data.pose_position = "REST"
    for _ in range(2):
        named("Rig Target").location += 0.5 * warm_rigs.SHIFT
        bpy.context.view_layer.update()
    assert_right([OTHER], ["Other Target"])
    named("Rig").data.pose_position = "POSE"
    assert_right()


def test_a_driver_put_on_a_chain_bone_lets_the_other_chain_alone_and_goes_again():
    warm_rigs.make_pair()
    curve = pose_bone("Bone.0").driver_add("rotation_quaternion", 1)
    curve.driver.expression = "0.2"
    assert_right([OTHER])
    assert "driver" in chain().status
    pose_bone("Bone.0").driver_remove("rotation_quaternion", 1)
    assert_right()


def second_scene() -> bpy.types.ViewLayer:
    scene = bpy.data.scenes.new("Second")
    for ob in bpy.context.scene.objects:
        scene.collection.objects.link(ob)
    return scene.view_layers[0]


def second_layer() -> bpy.types.ViewLayer:
    return bpy.context.scene.view_layers.new("Second")


@pytest.mark.parametrize("make", [second_scene, second_layer])
@pytest.mark.parametrize("change", [REACHING[i] for i in (0, 10, 16, 21)])
def test_each_graph_that_shows_a_rig_uses_what_has_changed_meanwhile(change: Change, make):
    make_grown_pair()
    first, second = bpy.context.view_layer, make()
    for layer in (first, second, first):
        layer.update()
    change()
    for step in range(3):
        for layer in (second, first):
            depsgraph = rigs.updated(layer)
            for rig, bone, target in (RIG, OTHER):
                rigs.assert_reaches(named(rig), bone, named(target), depsgraph)
        named(warm_rigs.TARGETS[step % 2]).location += 0.3 * warm_rigs.SHIFT
    assert_right()


def key_all() -> None:
    for rig, seed in (("Rig", 3), ("Other", 4)):
        rigs.key_bones(named(rig), seed=seed, frames=(1, 9))
    start = named("Rig Target").location.copy()
    rigs.key(named("Rig Target"), "location", {1: start, 9: start + warm_rigs.SHIFT})


def test_keyed_chain_bones_start_from_their_frame_in_any_order_of_frames():
    warm_rigs.make_pair()
    key_all()
    assert_right_at(5, 1, 9, 5, 4, 3, 5)
    assert_right(movers=["Other Target"])


def push_down() -> bpy.types.NlaTrack:
    data = named("Rig").animation_data
    action, slot = data.action, getattr(data, "action_slot", None)
    data.action = None
    track = data.nla_tracks.new()
    strip = track.strips.new("Pushed", 1, action)
    if slot is not None:
        strip.action_slot = slot
    return track


def test_nla_pushed_muted_moved_and_left_is_used_from_the_next_frame_on():
    warm_rigs.make_pair()
    key_all()
    assert_right_at(5, 2)
    track = push_down()
    assert_right_at(5, 2, 7)
    track.strips[0].influence = 0.5
    assert_right_at(7, 3)
    rigs.key_bones(named("Rig"), seed=9, frames=(1, 9))
    assert_right_at(7, 3)
    named("Rig").animation_data.use_nla = False
    assert_right_at(3, 4)
    named("Rig").animation_data.use_nla = True
    named("Rig").animation_data.nla_tracks[0].mute = True
    assert_right_at(6, 4)
    named("Rig").animation_data_clear()
    assert_right_at(4, 5)


def test_a_key_of_a_chain_bone_edited_is_used_from_the_next_move_of_a_target_on():
    warm_rigs.make_pair(influence=0.5)
    rigs.key_bones(named("Rig"), frames=(1, 9))
    rigs.go_to(1)
    for curve in rigs.curves_of(named("Rig")):
        curve.keyframe_points[0].co.y = 0.5
        curve.update()
    named("Other Target").location.x += 0.05
    assert_right([OTHER])
    named("Rig").animation_data.action = None
    named("Rig Target").location.x += 0.05
    assert_right([OTHER])
