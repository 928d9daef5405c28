"""Stretch: what a chain starts from, what it leaves alone, and what it gives back."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.stretchy_rigs import (
    DIRECTION,
    assert_lands,
    assert_unstretched,
    scales,
    stretchy,
)

pytestmark = pytest.mark.slow


def test_it_stretches_from_the_scale_that_was_there():
    ob = rigs.make_rig(rigs.zigzag(3))
    own = np.array([[1.0, 1.2, 1.0], [0.8, 0.9, 1.1], [1.0, 1.0, 1.0]])
    for bone, scale in zip(ob.pose.bones, own, strict=True):
        bone.ik_stretch, bone.scale, bone.bone.inherit_scale = 0.3, scale, "NONE"
    target = rigs.make_empty(location=(2.0, 2.0, 4.0))
    chain = rigs.add_chain(ob, "Bone.2", target, use_stretch=True)
    rigs.updated()
    assert_lands(ob, chain, target)
    np.testing.assert_allclose(scales(ob)[:, 1] / own[:, 1], np.sqrt(24.0) / 3.1, rtol=1e-5)
    target.location = 2.0 * DIRECTION
    rigs.updated()
    np.testing.assert_array_equal(scales(ob), own.astype(np.float32))


@pytest.mark.parametrize("way", ["mute", "switch off", "remove", "restore", "rechain"])
def test_letting_go_gives_the_scale_back(way):
    ob, target, chain = stretchy()
    rest = rigs.rotations(rigs.make_rig(rigs.zigzag(3), name="Fresh"))
    if way == "mute":
        chain.mute = True
    elif way == "switch off":
        chain.use_stretch = False
    elif way == "rechain":
        chain.chain_count = 1
    else:
        bpy.context.view_layer.objects.active = ob
        getattr(bpy.ops.pose, f"chain_ik_{way}")()
    bpy.context.view_layer.update()
    if way == "rechain":
        np.testing.assert_array_equal(scales(ob)[:2], np.ones((2, 3)))
        return
    assert_unstretched(ob)
    if way in ("mute", "remove"):
        assert rigs.rotations(ob) == rest
    if way == "switch off":
        assert chain.status.startswith("Out of reach by 1.2 m"), chain.status
        chain.use_stretch = True
        rigs.updated()
        assert_lands(ob, chain, target)


def test_a_stored_pose_without_scales_still_loads():
    ob = rigs.make_rig(rigs.zigzag(2))
    for bone in ob.pose.bones:
        bone.ik_stretch, bone.scale = 0.5, (1.0, 1.1, 1.0)
    target = rigs.make_empty(location=1.0 * DIRECTION)
    chain = rigs.add_chain(ob, "Bone.1", target)
    rigs.updated()
    assert "1.1" not in chain.stored_pose
    chain.use_stretch = True
    target.location = 4.0 * DIRECTION
    rigs.updated()
    assert_lands(ob, chain, target)
    chain.mute = True
    rigs.updated()
    np.testing.assert_array_equal(scales(ob), np.float32([[1.0, 1.1, 1.0]] * 2))


def test_locked_scale_channels_are_left_alone():
    ob, target, chain = stretchy(inherited="FULL", use_keep_volume=True)
    ob.pose.bones["Bone.1"].lock_scale = (False, True, False)
    ob.pose.bones["Bone.2"].lock_scale = (True, False, True)
    for bone in ob.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)
    chain.mute = True
    rigs.updated()
    chain.mute = False
    rigs.updated()
    assert scales(ob)[1, 1] == 1.0
    assert np.array_equal(scales(ob)[2, [0, 2]], [1.0, 1.0])
    assert_lands(ob, chain, target)


def test_keyed_scales_are_what_a_frame_starts_from():
    ob, target, chain = stretchy(2, inherited="NONE")
    chain.mute = True
    rigs.updated()
    rigs.key(ob, 'pose.bones["Bone.0"].scale', {1: (1.0, 1.0, 1.0), 11: (1.0, 2.0, 1.0)})
    rigs.go_to(1)
    chain.mute = False
    for frame, length in ((1, 1.0), (6, 1.5), (11, 2.0), (6, 1.5), (1, 1.0)):
        target.location = DIRECTION
        rigs.go_to(frame)
        assert scales(ob)[0, 1] == pytest.approx(length, rel=1e-6)
        target.location = 6.0 * DIRECTION
        rigs.updated()
        assert_lands(ob, chain, target)
        assert scales(ob)[0, 1] == pytest.approx(length * 6.0 / (length + 1.0), rel=1e-5)
    chain.mute = True
    rigs.go_to(6)
    assert scales(ob)[0, 1] == pytest.approx(1.5)
