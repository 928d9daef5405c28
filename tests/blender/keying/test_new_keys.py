"""Keys on all bones of a long chain change how it bends at other frames: its status says so."""

import bpy
import numpy as np

from tests.blender.body.human_bodies import make_character
from tests.blender.keying import test_bake
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_bones

TOLD = "The chain starts from the keys of its bones, so it bends another way at other frames"
SWING = {1: (0.9, 0.3, 2.2), 12: (-1.2, 0.9, 1.4)}


def make_tail(count=6, **settings):
    """Return a tail whose target is animated, its bones selected, at the first frame."""
    ob, _ = test_bake.make_tail(count, swing=SWING, seed=count, **settings)
    rigs.go_to(1)
    select_bones(ob, [bone.name for bone in ob.pose.bones])
    return ob


def key_selected(channel="rotation_quaternion"):
    """Key the selected bones, as I does in the viewport."""
    for bone in bpy.context.selected_pose_bones:
        bone.keyframe_insert(channel)
    rigs.updated()


def status(ob):
    return ob.chain_ik.chains[0].status


def test_keying_all_bones_of_a_long_chain_changes_its_bends_and_is_told_until_they_are_deleted():
    ob = make_tail()
    here, elsewhere = rigs.pose(ob), rigs.pose(ob, rigs.go_to(12))
    rigs.go_to(1)
    assert TOLD not in status(ob)
    key_selected()
    assert status(ob).startswith("Reached")
    assert TOLD in status(ob)
    np.testing.assert_allclose(rigs.pose(ob), here, atol=1e-5)
    assert np.abs(rigs.pose(ob, rigs.go_to(12)) - elsewhere).max() > 0.01
    assert TOLD not in status(ob)
    rigs.go_to(1)
    assert TOLD in status(ob)
    for bone in ob.pose.bones:
        bone.keyframe_delete("rotation_quaternion")
    rigs.updated()
    assert TOLD not in status(ob)


def test_nothing_is_told_of_limbs_whose_bones_but_the_hand_or_foot_are_two(rigify):
    ob = make_character("human")
    select_bones(ob, [bone.name for bone in ob.pose.bones])
    key_selected()
    assert len(ob.chain_ik.chains) > 6
    assert [chain.name for chain in ob.chain_ik.chains if TOLD in chain.status] == []
    # A tip that takes the target's rotation does not bend, but for a weight of zero.
    assert [told_of(tip=True, **many) for many in ({"count": 3}, {"count": 4})] == [False, True]
    assert told_of(tip=True, count=3, orient_weight=0.0)


def told_of(*, tip, **settings):
    """Tell whether keys of all bones of a tail are told, whose tip may turn with the target."""
    ob = make_tail(use_rotation=tip, rotation_bone="TIP", **settings)
    key_selected()
    return TOLD in status(ob)


def test_nothing_is_told_of_keys_of_a_motion():
    ob = make_tail()
    press(bpy.ops.pose.chain_ik_bake, mute=True)
    rigs.go_to(4)
    rigs.change(ob.chain_ik.chains[0], mute=False)
    assert status(ob).startswith("Reached")
    assert TOLD not in status(ob)
    # Nor where a pose is keyed at two frames, as clips are.
    ob = make_tail()
    for frame in (1, 12):
        rigs.key_rotations(ob, frame)
    rigs.go_to(12)
    assert TOLD not in status(ob)


def test_nothing_is_told_of_keys_that_change_no_bend_of_some_bones_and_of_what_switch_has_keyed():
    for settings, channel in (
        ({"count": 2}, "rotation_quaternion"),
        ({"start_from": "REST"}, "rotation_quaternion"),
        ({"solver": "FOLLOW"}, "rotation_quaternion"),
        ({}, "location"),
    ):
        ob = make_tail(**settings)
        key_selected(channel)
        assert TOLD not in status(ob)
    ob = make_tail()
    select_bones(ob, ["Bone.0", "Bone.1"])
    key_selected()
    assert TOLD not in status(ob)
    rigs.go_to(6)
    press(bpy.ops.pose.chain_ik_switch)
    for frame in (6, 5):
        rigs.go_to(frame)
        assert TOLD not in status(ob)
    rigs.go_to(9)
    press(bpy.ops.pose.chain_ik_switch)
    assert TOLD not in status(ob)
