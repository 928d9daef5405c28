"""Frames beside a baked range: they play as before, whatever plays them."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.keying.keys import Channel, ChannelKeys, write_keys
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action, strip_of
from tests.blender.setups.selecting import press, select_objects

LAST = 40
FRAMES = range(1, LAST + 1)
KEYS = (5, 15, 25)
# Tolerance of float32 poses, in units of bones about one unit long.
MAX_MOVE = 2e-5


def make_tail() -> bpy.types.Object:
    """Return a selected rig with keyed bones and a chain that moves them at some frames."""
    ob = rigs.make_rig(rigs.zigzag(3, 0), modes="XYZ")
    for frame in KEYS:
        rigs.turn_bones(ob, seed=frame)
        for bone in ob.pose.bones:
            ob.keyframe_insert(f'pose.bones["{bone.name}"].rotation_euler', frame=frame)
    target = rigs.make_empty("Target", (0.5, 0.4, 1.6))
    rigs.add_chain(ob, "Bone.2", target, influence=0.0)
    select_objects(active=ob)
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    return ob


BAKES = {
    "bake": lambda ends: press(bpy.ops.pose.chain_ik_bake, **ends),
    "new": lambda ends: press(bpy.ops.pose.chain_ik_bake, action="NEW", **ends),
    "apply": lambda ends: press(bpy.ops.pose.chain_ik_apply, use_range=True, **ends),
}


def bake(ob: bpy.types.Object, first: int, last: int, button: str = "bake") -> np.ndarray:
    """Let the chain pose its bones, bake a range, and return the baked poses."""
    rigs.change(ob.chain_ik.chains[0], influence=1.0)
    poses = rigs.play(ob, FRAMES)[first - 1 : last]
    rigs.go_to(first)
    BAKES[button]({"frame_start": first, "frame_end": last})
    return poses


@pytest.mark.parametrize("button", BAKES)
@pytest.mark.parametrize("played_by", ["NLA", "NLA_AND_MUTED_KEYS", "NOISE", "CYCLES"])
def test_frames_outside_of_the_range_play_as_they_did_whatever_plays_them(played_by, button):
    ob, first, last = make_tail(), 12, 30
    if played_by.startswith("NLA"):
        # The strip begins before the scene, and goes on after its end.
        strip_of(ob, -3)
        bpy.context.scene.frame_start, bpy.context.scene.frame_end = 3, 15
        last = 15
        for bone in ob.pose.bones if played_by == "NLA_AND_MUTED_KEYS" else ():
            rigs.key(bone, "rotation_euler", {18: (0.5, 0.0, 0.0), 24: (0.0, 0.0, 1.0)})
        rigs.set_each(rigs.curves_of(ob), mute=True)
    else:
        for curve in rigs.curves_of(ob):
            curve.modifiers.new(played_by)
        ob.animation_data.action.update_tag()
    before = rigs.play(ob, FRAMES)
    baked = bake(ob, first, last, button)
    after = rigs.play(ob, FRAMES)
    np.testing.assert_allclose(after[first - 1 : last], baked, atol=MAX_MOVE)
    for outside in (slice(first - 1), slice(last, LAST)):
        np.testing.assert_allclose(after[outside], before[outside], atol=MAX_MOVE)


@pytest.mark.parametrize(("first", "last"), [(12, 18), KEYS[::2]])
def test_a_bake_inside_of_a_loop_becomes_part_of_the_loop(first, last):
    ob = make_tail()
    for curve in rigs.curves_of(ob):
        curve.modifiers.new("CYCLES")
    ob.animation_data.action.update_tag()
    baked = bake(ob, first, last)
    after = rigs.play(ob, FRAMES)
    np.testing.assert_allclose(after[first - 1 : last], baked, atol=MAX_MOVE)
    period = KEYS[-1] - KEYS[0]
    again = slice(KEYS[0] + period, LAST - 1)
    np.testing.assert_allclose(after[KEYS[0] : LAST - 1 - period], after[again], atol=MAX_MOVE)
    assert np.ptp(after[again], axis=0).max() > 0.1


@pytest.mark.parametrize("handles", ["AUTO_CLAMPED", "FREE", "VECTOR"])
@pytest.mark.parametrize("kind", ["BEZIER", "LINEAR", "CONSTANT"])
@pytest.mark.parametrize("frames", [range(7, 9), range(7, 21), range(11, 32), range(8, 9)])
def test_segments_to_keys_beside_new_ones_keep_their_shape_also_between_frames(
    kind, handles, frames
):
    owner = rigs.make_empty()
    rigs.key(owner, "location", {1: (0, 0, 0), 11: (0.7, 1, 0), 21: (-1, 0, 2), 31: (1, 0, 1)})
    curve = rigs.curves_of(owner)[0]
    for point in curve.keyframe_points:
        point.interpolation = kind
        point.handle_left_type = point.handle_right_type = handles
    curve.update()
    times = np.arange(-1.0, 34.0, 0.25)
    before = [curve.evaluate(time) for time in times]
    values = np.array([curve.evaluate(frame) for frame in frames])
    write_keys(owner, [ChannelKeys(Channel("", "location"), np.array(frames, float), values)])
    inside = (times >= frames[0]) & (times <= frames[-1])
    # A single key has the interpolation of keys that are added later.
    inside |= (len(frames) == 1) & (times > frames[0]) & (times < 11)
    after = np.array([curve.evaluate(time) for time in times])
    np.testing.assert_allclose(after[~inside], np.array(before)[~inside], atol=1e-4)


def test_bones_that_strips_play_are_read_all_at_once(monkeypatch):
    ob = make_tail()
    strip_of(ob)
    by_path = []
    monkeypatch.setattr(Channel, "value", lambda channel, owner: by_path.append(channel) or 0.0)
    bake(ob, 12, 18)
    assert rigs.keys_of(ob)
    assert not by_path


@pytest.mark.parametrize("button", BAKES)
def test_another_object_that_plays_the_same_action_is_named_unless_a_new_action_gets_the_keys(
    button, capfd
):
    ob, other, bystander = make_tail(), rigs.make_empty("Other"), rigs.make_empty("Bystander")
    data = ob.animation_data
    assign_action(other, data.action, getattr(data, "action_slot", None))
    rigs.key(bystander, "location", {1: (0, 0, 0)})
    keys = rigs.keys_of(other)
    bake(ob, 12, 18, button)
    warning = (
        "The keys also play on 'Other', because the action is the same: undo this, and use Bake"
        " Chains with Action set to New."
    )
    is_shared = button != "new"
    assert (rigs.keys_of(other) != keys) == is_shared
    assert (warning in capfd.readouterr().out) == is_shared


@pytest.mark.parametrize(("first", "last"), [(21, 31), (15, 31), (21, 25)])
def test_new_values_at_the_ends_change_only_the_segments_to_the_next_keys(first, last):
    owner = rigs.make_empty()
    rigs.key(owner, "location", {1 + 10 * i: (i % 3, 0, i) for i in range(6)})
    curve = rigs.curves_of(owner)[0]
    rigs.set_each(curve.keyframe_points, interpolation="BEZIER")
    curve.update()
    times = [*range(1, 12), *range(41, 52)]
    before = [curve.evaluate(time) for time in times]
    frames = np.arange(first, last + 1.0)
    write_keys(owner, [ChannelKeys(Channel("", "location"), frames, np.full(len(frames), 9.0))])
    after = [curve.evaluate(time) for time in times]
    np.testing.assert_allclose(after, before, atol=1e-5)


@pytest.mark.parametrize("shift", [-9e-3, -1e-3, -1e-6, 1e-6, 1e-3, 5e-3])
def test_a_key_a_little_beside_the_first_or_last_frame_takes_the_new_value(shift):
    owner = rigs.make_empty()
    rigs.key(owner, "location", {1: (0, 0, 0), 10: (1, 0, 0), 20: (2, 0, 0), 30: (3, 0, 0)})
    curve = rigs.curves_of(owner)[0]
    for point in curve.keyframe_points[1:3]:
        point.co.x += shift
    curve.update()
    frames, values = np.arange(10.0, 21.0), np.linspace(5.0, 7.0, 11)
    write_keys(owner, [ChannelKeys(Channel("", "location"), frames, values)])
    keys = [point.co[:] for point in curve.keyframe_points]
    np.testing.assert_allclose(keys, [(1, 0), *zip(frames, values, strict=True), (30, 3)])
