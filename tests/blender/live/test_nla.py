"""Keyed starts under NLA and under action slots: the pose that Blender's animation gives."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import HAS_SLOTS, strip_of


@pytest.mark.parametrize("influence", [0.0, 1.0])
def test_bones_animated_by_nla_start_from_what_nla_gives(influence):
    ob = rigs.make_rig()
    rigs.key_bones(ob)
    target = rigs.make_empty()
    strip_of(ob).influence = 0.6
    rigs.key_bones(ob, seed=9, frames=(1, 16))
    ob.animation_data.action_blend_type = "COMBINE"
    free = rigs.link(ob.copy())
    rigs.add_chain(ob, "Bone.1", target, influence=influence)
    for frame in (5, 12, 5.5):
        rigs.go_to(frame)
        twin = rigs.make_rig(name="Twin")
        for bone, posed in zip(twin.pose.bones, free.pose.bones, strict=True):
            bone.rotation_quaternion = posed.rotation_quaternion
        rigs.add_chain(twin, "Bone.1", target, influence=influence)
        bpy.context.view_layer.update()
        rigs.assert_same_pose(ob, twin)
        bpy.data.objects.remove(twin)


@pytest.mark.parametrize("is_off", [False, True])
def test_outside_a_strip_and_with_nla_switched_off_the_start_is_the_stored_pose(is_off):
    ob = rigs.make_rig()
    rigs.key_bones(ob, frames=(1, 6))
    for bone in ob.pose.bones:
        bone.rotation_quaternion = (1, 0, 0, 0)
    strip_of(ob, start=10).extrapolation = "NOTHING"
    ob.animation_data.use_nla = not is_off
    twin, target = rigs.make_rig(name="Twin"), rigs.make_empty()
    for each in (ob, twin):
        rigs.add_chain(each, "Bone.1", target, influence=0.5)
    for frame in (2, 3, 4, 12, 3, 20, 4):
        rigs.go_to(frame)
        if is_off or frame != 12:
            rigs.assert_same_pose(ob, twin)


@pytest.mark.parametrize("idle", [{"mute": True}, {"influence": 0.0}])
def test_a_chain_that_ends_as_the_frame_changes_leaves_bones_where_nla_has_them(idle):
    """Inside a strip that moves and scales bones, and before it, where the stored pose is shown."""
    ob = rigs.make_rig()
    for bone in ob.pose.bones:
        for name, frames in (("rotation_quaternion", (10, 20)), ("scale", (10, 20))):
            for at in frames:
                setattr(
                    bone, name, [1.0 + 0.02 * at, *[0.01 * at] * (len(getattr(bone, name)) - 1)]
                )
                bone.keyframe_insert(name, frame=at)
    strip_of(ob, start=10).extrapolation = "NOTHING"
    free = rigs.link(ob.copy())
    chain = rigs.add_chain(ob, "Bone.1", rigs.make_empty(), use_stretch=True, max_stretch=1.5)
    for frame, shown in ((12, 16), (16, 4), (4, 12)):
        rigs.go_to(frame)
        for name in idle:
            chain.property_unset(name)
        bpy.context.view_layer.update()
        for name, value in idle.items():
            setattr(chain, name, value)
        bpy.context.scene.frame_set(shown)
        rigs.assert_same_pose(ob, free)


@pytest.mark.skipif(not HAS_SLOTS, reason="slots came with Blender 4.4")
def test_two_rigs_that_share_an_action_start_from_their_own_slots():
    obs = [rigs.make_rig(name=name) for name in ("A", "B")]
    rigs.key_bones(obs[0])
    action = obs[0].animation_data.action
    obs[1].animation_data_create().action = action
    obs[1].animation_data.action_slot = action.slots.new(id_type="OBJECT", name="B")
    rigs.key_bones(obs[1], seed=20)
    assert len(action.slots) == 2
    free = [rigs.link(ob.copy()) for ob in obs]
    target = rigs.make_empty()
    for ob in obs:
        rigs.add_chain(ob, "Bone.1", target, influence=0.0)
    for frame in (5, 12):
        rigs.go_to(frame)
        for ob, unchained in zip(obs, free, strict=True):
            rigs.assert_same_pose(ob, unchained)
    assert np.abs(rigs.pose(obs[0]) - rigs.pose(obs[1])).max() > 0.01
