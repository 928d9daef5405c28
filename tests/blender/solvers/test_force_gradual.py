"""Chains that ease: one motion, at every playback and frame rate, and rest at their targets."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import give, joints_of, make_pulled
from tests.blender.setups.renders import render_frames
from tests.blender.setups.selecting import press, select_objects

PROMISED = 0.02
ASIDE = (1.8, 2.0, 1.5)


def make_easing(count: int = 5, ease: float = 0.25, **force: object):
    """Return an object, its target and its chain, which eases with as much of its springs."""
    ob, target, chain = make_pulled(
        count, ASIDE, stiffness_root=2.0, stiffness_tip=0.5, gravity=0.5, **force
    )
    give(chain, ease=ease, use_gradual=True)
    return ob, target, chain


def key_target(target: bpy.types.Object, rate: int) -> None:
    """Have a target rest for a moment, go elsewhere within half a second, and rest there."""
    ways = ((0.25, ASIDE), (0.75, (-1.0, 1.5, 2.5)))
    rigs.key(target, "location", {1 + seconds * rate: place for seconds, place in ways})


def played(ob: bpy.types.Object, frames: range) -> np.ndarray:
    """Return the joints at frames played in order, shape (f, n + 1, 3)."""
    found = []
    for frame in frames:
        rigs.go_to(frame)
        found.append(joints_of(ob))
    return np.array(found)


def test_each_playback_shows_the_same_motion_whatever_was_dragged_before():
    ob, target, _ = make_easing()
    first = played(ob, range(1, 12))
    assert np.abs(np.diff(first, axis=0)).max() > 0.05
    np.testing.assert_array_equal(played(ob, range(1, 12)), first)
    rigs.go_to(1)
    for place in ((-1.0, 0.5, 2.0), (2.0, 2.0, 0.0), ASIDE):
        target.location = place
        rigs.updated()
    # Pressing play goes on to the second frame: Blender tells nothing of the first.
    np.testing.assert_allclose(played(ob, range(2, 12)), first[1:], atol=1e-6)
    rigs.go_to(1)
    begun, target.location = joints_of(ob), (-1.0, 0.5, 2.0)
    rigs.updated()
    assert np.abs(joints_of(ob) - begun).max() > 0.05
    rigs.go_to(1)
    np.testing.assert_allclose(joints_of(ob), begun, atol=1e-6)


@pytest.mark.slow
def test_24_and_120_frames_a_second_show_the_same_motion():
    motions = {}
    # Blender divides the second rate by its base.
    for rate, fps, base in ((24, 24, 1.0), (120, 240, 2.0)):
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base
        ob, target, chain = make_easing(3)
        give(chain, fastest=1.0)
        key_target(target, rate)
        motions[rate] = played(ob, range(1, 2 + rate))[:: rate // 24]
    way = np.linalg.norm(np.diff(motions[120], axis=0), axis=2).sum(axis=0).max()
    assert way > 0.5
    apart = np.linalg.norm(motions[24] - motions[120], axis=2).max()
    assert apart <= PROMISED * way


def test_a_target_that_stands_still_is_reached_and_the_chain_rests():
    ob, target, chain = make_easing(ease=0.1)
    motion = played(ob, range(1, 70))
    assert np.abs(np.diff(motion[:10], axis=0)).max() > 0.05
    np.testing.assert_array_equal(motion[-1], motion[-10])
    rigs.assert_reaches(ob, "Bone.4", target, bpy.context.view_layer.depsgraph)
    assert chain.status.startswith("Reached"), chain.status
    eased = rigs.pose(ob)
    chain.force.use_gradual = False
    rigs.updated()
    rigs.assert_same_pose(ob, eased, 1e-5)


@pytest.mark.parametrize("there", [1, 24, 60])
def test_a_jump_starts_again_from_the_stored_pose(there):
    ob, _, chain = make_easing()
    chain.mute = True
    rigs.updated()
    stored = rigs.pose(ob)
    chain.mute = False
    rigs.updated()
    played(ob, range(1, 26))
    rigs.go_to(there)
    rigs.assert_same_pose(ob, stored, 1e-6)


def test_a_render_of_frames_in_order_shows_the_motion(tmp_path):
    ob, target, _ = make_easing(3)
    key_target(target, 24)
    shown = played(ob, range(1, 11))
    rigs.go_to(5)
    name = ob.name

    def read(depsgraph: bpy.types.Depsgraph) -> np.ndarray:
        return rigs.pose(bpy.data.objects[name], depsgraph)

    seen = render_frames(tmp_path, read, (1, 10))
    heads = np.array([seen[frame][:, :3, 3] for frame in range(1, 11)])
    np.testing.assert_allclose(heads, shown[:, :-1], atol=1e-6)


def test_while_time_stands_each_drag_is_a_frame_and_nothing_else_is():
    ob, target, _ = make_easing()
    rigs.go_to(20)
    rigs.updated()
    before = rigs.pose(ob)
    gaps = []
    for _ in range(12):
        target.location.x += 1e-4
        rigs.updated()
        gaps.append(np.linalg.norm(rigs.tail(ob, "Bone.4") - rigs.position(target)))
    assert np.all(np.diff(gaps) < 0.0)
    assert gaps[-1] < 0.3 * np.linalg.norm(before[-1, :3, 3] - rigs.position(target))
    pose = rigs.pose(ob)
    for _ in range(4):
        ob.update_tag()
        rigs.updated()
        rigs.make_empty("Elsewhere")
        rigs.assert_same_pose(ob, pose, 0.0)


@pytest.mark.slow
def test_keyed_bones_start_from_their_keys_and_go_on():
    ob, target, _ = make_easing(4, ease=0.1)
    ob.chain_ik.chains[0].mute = True
    rigs.updated()
    rigs.key_bones(ob, frames=(1, 8))
    ob.chain_ik.chains[0].mute = False
    first = played(ob, range(1, 70))
    rigs.assert_reaches(ob, "Bone.3", target, bpy.context.view_layer.depsgraph)
    np.testing.assert_allclose(played(ob, range(1, 12)), first[:11], atol=1e-6)


def test_a_start_from_the_present_pose_does_not_creep():
    ob, _, chain = make_easing()
    rigs.go_to(1)
    chain.start_from = "CURRENT"
    played(ob, range(1, 4))
    assert chain.status.startswith("On its way"), chain.status
    pose = rigs.pose(ob)
    for _ in range(3):
        ob.update_tag()
        rigs.updated()
    rigs.assert_same_pose(ob, pose, 0.0)


def test_limits_hold_on_the_way():
    ob, _, chain = make_easing()
    for bone in ob.pose.bones:
        bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
        bone.ik_min_x, bone.ik_max_x = -0.3, 0.3
    ob.update_tag()
    for frame in range(1, 40):
        rigs.go_to(frame)
        for bone in ob.pose.bones:
            _, turn_x, turn_y, turn_z = bone.rotation_quaternion
            assert abs(turn_x) <= np.sin(0.15) + 1e-6
            assert max(abs(turn_y), abs(turn_z)) < 1e-6
    assert chain.status.startswith("Held back by the limits"), chain.status


@pytest.mark.slow
def test_bones_that_grow_ease_too():
    ob, target, chain = make_easing(3)
    for bone in ob.pose.bones:
        bone.ik_stretch = 0.5
    chain.use_stretch = True
    target.location = (3.0, 3.0, 3.0)
    rigs.updated()
    motion = played(ob, range(1, 90))
    lengths = np.linalg.norm(np.diff(motion, axis=1), axis=2).sum(axis=1)
    assert lengths[0] == pytest.approx(3.0, abs=1e-4)
    assert 3.0 < lengths[4] < lengths[10] < lengths[-1]
    rigs.assert_reaches(ob, "Bone.2", target, bpy.context.view_layer.depsgraph)


def test_two_chains_of_one_rig_remember_by_themselves():
    ob = rigs.make_rig(rigs.zigzag(3))
    rigs.add_bones(ob, np.add(rigs.zigzag(3, seed=3), [3.0, 0.0, 0.0]), prefix="Other")
    one, two = rigs.make_empty("One", (1.0, 1.0, 1.0)), rigs.make_empty("Two", (3.0, 2.0, 0.5))
    for tip, target, ease in (("Bone.2", one, 0.1), ("Other.2", two, 0.5)):
        chain = rigs.add_chain(ob, tip, target, solver="FORCE")
        give(chain, use_gradual=True, ease=ease)
    both = played(ob, range(1, 12))
    select_objects(active=ob)
    ob.chain_ik.active_index = 0
    press(bpy.ops.pose.chain_ik_remove)
    np.testing.assert_allclose(played(ob, range(1, 12))[:, 3:], both[:, 3:], atol=1e-6)
