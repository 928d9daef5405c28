"""Bake: keys replay the chains and change nothing else; status tells of keys that change bends."""

import bpy
import numpy as np
import pytest

from tests.blender.body.human_bodies import make_character
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.rigs import keys_of
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects
from tests.blender.setups.sliding_rigs import robot

bake = bpy.ops.pose.chain_ik_bake
LAST = 12
FRAMES = range(1, LAST + 1)
SWING = {1: (0.7, 0.3, 2.2), 6: (-0.9, 0.9, 1.8), LAST: (1.2, -0.7, 2.4)}
# Tolerance of float32 poses and curves, as a share of the chain's length.
POSE_TOLERANCE = 1e-6


def make_tail(count=4, name="Rig", swing=SWING, seed=0, **settings):
    """Return a selected rig with a chain whose target is animated, and the target."""
    joints, modes = rigs.zigzag(count, seed), settings.pop("modes", "QUATERNION")
    ob = rigs.make_rig(joints, name=name, modes=modes)
    target = rigs.make_empty(f"{name} Target", swing[1])
    rigs.key(target, "location", swing)
    rigs.add_chain(ob, f"Bone.{count - 1}", target, **settings)
    select_objects(active=ob)
    return ob, target


def assert_bakes(ob, **options):
    """Bake, and check that keys alone then play the chains' poses in any order of frames."""
    live = rigs.play(ob, FRAMES)
    rigs.go_to(5)
    press(bake, **options)
    assert bpy.context.scene.frame_current == 5
    assert all(chain.mute for chain in ob.chain_ik.chains)
    np.testing.assert_allclose(rigs.play(ob, FRAMES), live, atol=4 * POSE_TOLERANCE)
    np.testing.assert_allclose(rigs.play(ob, FRAMES[::-1]), live[::-1], atol=4 * POSE_TOLERANCE)


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "ZYX", "AXIS_ANGLE"])
def test_keys_show_what_the_chain_did_on_every_frame_in_every_rotation_mode(mode):
    ob, _ = make_tail(modes=mode)
    rigs.change(ob.pose.bones["Bone.0"], name='a"b\\c')
    assert_bakes(ob)
    paths = {path for path, _ in keys_of(ob)}
    assert paths == {bone.path_from_id(rigs.rotation_property(bone)) for bone in ob.pose.bones}
    assert all([x for x, _ in keys] == list(range(1, LAST + 1)) for keys in keys_of(ob).values())
    groups = {curve.group.name for curve in rigs.curves_of(ob)}
    assert groups == {bone.name for bone in ob.pose.bones}


@pytest.mark.parametrize(("mode", "is_shared"), [("XYZ", False), ("QUATERNION", True)])
def test_limbs_that_turn_right_round_are_keyed_without_jumps_also_bones_that_chains_share(
    mode, is_shared
):
    ob = rigs.make_rig([(0, 0, 0), (1, 0, 0.1), (2, 0, 0)], modes=mode)
    rigs.add_bones(ob, [(2, 0, 0), (2.6, 0.3, 0)], prefix="Thumb", parent="Bone.1", modes=mode)
    angles = np.linspace(0.1, 6.2, LAST)
    for tip, distance in (("Bone.1", 1.5), ("Thumb.0", 1.9))[: 1 + is_shared]:
        target = rigs.make_empty()
        places = [(distance * np.cos(a), distance * np.sin(a), 0.1) for a in angles]
        rigs.key(target, "location", {i + 1: place for i, place in enumerate(places)})
        # Two chains report the channels of a shared bone; jumps are removed only once.
        rigs.add_chain(ob, tip, target, solver="NEWTON" if is_shared else "TWO_BONE")
    select_objects(active=ob)
    assert_bakes(ob, which="ALL")
    values = {channel: np.array(keys)[:, 1] for channel, keys in keys_of(ob).items()}
    # The limb turns by about a twelfth of a full turn in each frame.
    assert max(np.abs(np.diff(rows)).max() for rows in values.values()) < 1.5
    for bone in ob.pose.bones if is_shared else ():
        turns = np.array([values[bone.path_from_id("rotation_quaternion"), i] for i in range(4)])
        assert ((turns[:, 1:] * turns[:, :-1]).sum(axis=0) > 0.0).all(), bone.name


@pytest.mark.parametrize("mode", ["QUATERNION", "XYZ", "AXIS_ANGLE"])
def test_bones_that_pass_their_rest_rotation_turn_evenly_between_keys(mode):
    """There the axis of a rotation turns round, and at rest there is none."""
    ob = rigs.make_rig([(0, 0, 0), (0, -0.25, 0.5), (0, 0, 1)], modes=mode)
    target, _ = rigs.follow(ob, "Bone.1", (0, 0, 1), solver="TWO_BONE")
    rigs.key(target, "location", {1: (0, 0, 1), 4: (0, 0.1, 0.9), LAST: (0, -0.1, 1.05)})
    select_objects(active=ob)
    frames = np.arange(1.0, LAST, 0.25)
    live = rigs.play(ob, frames)
    press(bake)
    np.testing.assert_allclose(rigs.play(ob, frames), live, atol=2e-3)


def test_a_chain_that_stretches_keys_its_scale_and_one_that_slides_its_location():
    ob, _ = make_tail(use_stretch=True, swing={**SWING, 6: (0, 0, 7.0)})
    rigs.set_each(ob.pose.bones, ik_stretch=0.5)
    ob.pose.bones["Bone.2"].lock_scale[1] = True
    assert_bakes(ob)
    scaled = {(path.split('"')[1], index) for path, index in keys_of(ob) if path.endswith("scale")}
    assert scaled == {("Bone.0", 1), ("Bone.1", 1), ("Bone.3", 1)}

    ob, target, _ = robot()
    rigs.key(target, "location", {1: target.location, 9: target.location + target.location * 0.1})
    select_objects(active=ob)
    assert_bakes(ob)
    assert [key for key in keys_of(ob) if key[0].endswith(".location")] == [
        ('pose.bones["Bone.2"].location', 1)
    ]


def test_locked_channels_get_no_keys_and_joints_hold_in_the_keys():
    ob, _ = make_tail(modes="XYZ")
    add_joint(ob.chain_ik.chains[0], "Bone.0", "HINGE_X")
    ob.pose.bones["Bone.1"].lock_rotation = (True, False, True)
    rigs.change(ob.pose.bones["Bone.2"], lock_rotation=(True, True, True))
    assert_bakes(ob)
    keyed = {(path.split('"')[1], index) for path, index in keys_of(ob)}
    assert {index for bone, index in keyed if bone == "Bone.1"} == {1}
    assert not [index for bone, index in keyed if bone == "Bone.2"]


def test_other_keys_stay_and_those_in_the_range_are_replaced():
    ob, _ = make_tail(modes="XYZ")
    rigs.add_bones(ob, [(3, 0, 0), (3, 0, 1)], prefix="Other", modes="XYZ")
    for frame in (-3, 4, 7, LAST + 9):
        rigs.turn_bones(ob, seed=frame + 10)
        for bone in ob.pose.bones:
            ob.keyframe_insert(f'pose.bones["{bone.name}"].rotation_euler', frame=frame)
            ob.keyframe_insert(f'pose.bones["{bone.name}"].scale', frame=frame)
    ob.keyframe_insert('pose.bones["Bone.2"].rotation_euler', frame=5.5)
    rigs.key(ob, "location", {1: (0, 0, 0), LAST: (0.1, 0, 0)})
    # Muted curves and modifiers would keep the new keys from playing.
    rigs.curves_of(ob)[0].mute = True
    noisy = rigs.curves_of(ob)[1]
    noisy.modifiers.new("NOISE")
    # Without its modifier the curve needs keys that hold what it plays beside the range.
    added = {(noisy.data_path, noisy.array_index): {0.0, LAST + 1.0}}
    select_objects(active=ob)
    before = keys_of(ob)
    assert_bakes(ob)
    for channel, keys in keys_of(ob).items():
        if "Bone." in channel[0] and channel[0].endswith("euler"):
            inside = [x for x, _ in keys if 1 <= x <= LAST]
            assert inside == list(range(1, LAST + 1))
            outside = [key for key in keys if not 1 <= key[0] <= LAST]
            assert {x for x, _ in outside} - {-3, LAST + 9} == added.get(channel, set())
            assert [outside[0], outside[-1]] == [before[channel][0], before[channel][-1]]
        else:
            assert keys == before[channel]
    assert set(before) <= set(keys_of(ob))


def test_bake_keys_the_active_chain_or_all_that_are_not_idle_in_the_whole_range():
    ob, target = make_tail()
    for i, limb in enumerate(("Arm", "Leg")):
        rigs.add_bones(ob, rigs.zigzag(2) + np.array([3 + 2 * i, 0, 0]), prefix=limb)
        rigs.add_chain(ob, f"{limb}.1", target, chain_count=2)
    select_objects(active=ob)
    ob.chain_ik.active_index = 0
    press(bake)
    assert [chain.mute for chain in ob.chain_ik.chains] == [True, False, False]
    assert all("Bone" in path for path, _ in keys_of(ob))
    ob.animation_data_clear()
    ob.chain_ik.chains[0].mute = False
    ob.pose.bones["Arm.0"].rotation_quaternion = (0.8, 0.6, 0.0, 0.0)
    ob.pose.bones["Arm.0"].keyframe_insert("rotation_quaternion", frame=5)
    before = keys_of(ob)
    for index, name, value in ((1, "influence", 0.0), (2, "mute", True)):
        values = {1: value, LAST: value, LAST + 1: type(value)(not value)}
        rigs.key(ob, f"chain_ik.chains[{index}].{name}", values)
    live = rigs.play(ob, FRAMES)
    press(bake, which="ALL")
    assert [chain.mute for chain in ob.chain_ik.chains] == [True, False, True]
    assert before.items() <= keys_of(ob).items()
    assert not [path for path, _ in keys_of(ob) if "Arm.1" in path or "Leg" in path]
    np.testing.assert_allclose(rigs.play(ob, FRAMES), live, atol=4 * POSE_TOLERANCE)
    rigs.go_to(LAST + 1)
    assert not any(chain.mute for chain in list(ob.chain_ik.chains)[1:])
    assert ob.chain_ik.chains[1].influence == 1.0


@pytest.mark.skipif(bpy.app.version < (4, 4, 0), reason="actions have slots from 4.4 on")
def test_an_action_that_other_objects_use_gets_a_slot_of_its_own():
    ob, target = make_tail()
    action = target.animation_data.action
    before = keys_of(target)
    ob.animation_data_create().action = action
    ob.animation_data.action_slot = None
    assert_bakes(ob)
    assert keys_of(target) == before
    assert ob.animation_data.action_slot != target.animation_data.action_slot


def test_bad_input_gives_one_clear_sentence_and_keys_nothing():
    ob, target = make_tail()
    assert "swap the two" in refusal(bake, frame_start=9, frame_end=3)
    with rigs.changed(bpy.context.scene.chain_ik, use_live=False):
        assert "turn it on" in refusal(bake)
    chain, nothing = ob.chain_ik.chains[0], "Chain 'Chain' moves nothing in this range"
    for owner, name, value, text in (
        (chain, "target", None, "choose an object"),
        (chain, "bone", "Gone", "Chain 'Chain' cannot be baked: Bone 'Gone' no longer exists"),
        (ob.data, "pose_position", "REST", f"{nothing}: Not solved: the armature shows its rest"),
        (chain, "mute", True, "unmute it"),
        (chain, "influence", 0.0, f"{nothing}: FK: pose the bones, influence is zero."),
        (ob, "hide_viewport", True, f"{nothing}: Not solved: the armature is hidden"),
    ):
        with rigs.changed(owner, **{name: value}):
            for method in ("FRAMES", "CLIP"):
                assert text in refusal(bake, method=method)
    rigs.change(chain, mute=True)
    assert "unmute the chains" in refusal(bake, which="ALL")
    rigs.change(chain, mute=False)
    data = ob.animation_data_create()
    data.action = bpy.data.actions.new("Other")
    data.action_influence = 0.5
    assert "influence of 1" in refusal(bake)
    data.action_influence = 1.0
    track = data.nla_tracks.new()
    strip = track.strips.new("Strip", 1, data.action)
    data.action = None
    track.is_solo = True
    for action in ("ACTIVE", "NEW"):
        assert "switch Solo off" in refusal(bake, action=action)
    track.is_solo = False
    track.select = strip.select = True
    data.nla_tracks.active = track
    data.use_tweak_mode = True
    assert refusal(bake) == "The NLA of 'Rig' is in tweak mode: leave tweak mode first."
    data.use_tweak_mode = False
    press(bake, frame_start=1, frame_end=3)
    select_objects(active=target)
    target.animation_data_clear()
    ob.chain_ik.chains.clear()
    assert "Select an armature" in refusal(bake)


@pytest.mark.parametrize("visual_keying", [False, True])
def test_blender_s_bake_action_keys_what_live_chains_do(visual_keying):
    ob, target = make_tail()
    live = rigs.play(ob, FRAMES)
    select_bones(ob, [bone.name for bone in ob.pose.bones])
    rigs.go_to(3)
    bpy.ops.nla.bake(
        frame_start=1, frame_end=LAST, visual_keying=visual_keying, bake_types={"POSE"}
    )
    # First the chain plays with its keys. Muted, the keys play alone, without the target.
    np.testing.assert_allclose(rigs.play(ob, FRAMES), live, atol=4 * POSE_TOLERANCE)
    ob.chain_ik.chains[0].mute = True
    target.animation_data_clear()
    np.testing.assert_allclose(rigs.play(ob, FRAMES), live, atol=4 * POSE_TOLERANCE)


WARNING = "The chain starts from the new keys of its bones, so it now bends differently"
WIDE_SWING = {1: (0.9, 0.3, 2.2), 12: (-1.2, 0.9, 1.4)}


def make_swinging_tail(count=6, **settings):
    """Return a tail at its first frame, with an animated target; all its bones are selected."""
    ob, _ = make_tail(count, swing=WIDE_SWING, seed=count, **settings)
    rigs.go_to(1)
    select_bones(ob, [bone.name for bone in ob.pose.bones])
    return ob


def key_selected(channel="rotation_quaternion"):
    """Key the selected bones, as the I key does in the viewport."""
    for bone in bpy.context.selected_pose_bones:
        bone.keyframe_insert(channel)
    rigs.updated()


def status(ob):
    return ob.chain_ik.chains[0].status


def test_keys_of_all_bones_of_a_long_chain_change_its_bends_and_are_told_until_deleted():
    ob = make_swinging_tail()
    here, elsewhere = rigs.pose(ob), rigs.pose(ob, rigs.go_to(12))
    rigs.go_to(1)
    assert WARNING not in status(ob)
    key_selected()
    assert status(ob).startswith("Reached")
    assert WARNING in status(ob)
    np.testing.assert_allclose(rigs.pose(ob), here, atol=1e-5)
    assert np.abs(rigs.pose(ob, rigs.go_to(12)) - elsewhere).max() > 0.01
    assert WARNING not in status(ob)
    rigs.go_to(1)
    assert WARNING in status(ob)
    for bone in ob.pose.bones:
        bone.keyframe_delete("rotation_quaternion")
    rigs.updated()
    assert WARNING not in status(ob)


def test_nothing_is_told_of_limbs_of_two_bones_and_a_hand_or_foot(rigify):
    ob = make_character("human")
    select_bones(ob, [bone.name for bone in ob.pose.bones])
    key_selected()
    assert len(ob.chain_ik.chains) > 6
    assert [chain.name for chain in ob.chain_ik.chains if WARNING in chain.status] == []
    # A tip that takes the target's rotation does not bend, unless its weight is zero.
    assert [has_warning(tip=True, count=count) for count in (3, 4)] == [False, True]
    assert has_warning(tip=True, count=3, orient_weight=0.0)


def has_warning(*, tip, **settings):
    """Return whether keys of all bones of a tail give the warning; ``tip`` also turns its tip."""
    ob = make_swinging_tail(use_rotation=tip, rotation_bone="TIP", **settings)
    key_selected()
    return WARNING in status(ob)


def test_nothing_is_told_of_keys_of_a_motion():
    ob = make_swinging_tail()
    press(bpy.ops.pose.chain_ik_bake, mute=True)
    rigs.go_to(4)
    rigs.change(ob.chain_ik.chains[0], mute=False)
    assert status(ob).startswith("Reached")
    assert WARNING not in status(ob)
    # A pose with keys at two frames is part of a clip.
    ob = make_swinging_tail()
    for frame in (1, 12):
        rigs.key_rotations(ob, frame)
    rigs.go_to(12)
    assert WARNING not in status(ob)


def test_nothing_is_told_of_harmless_keys_of_keys_of_some_bones_and_of_the_switch():
    for settings, channel in (
        ({"count": 2}, "rotation_quaternion"),
        ({"start_from": "REST"}, "rotation_quaternion"),
        ({"solver": "FOLLOW"}, "rotation_quaternion"),
        ({}, "location"),
    ):
        ob = make_swinging_tail(**settings)
        key_selected(channel)
        assert WARNING not in status(ob)
    ob = make_swinging_tail()
    select_bones(ob, ["Bone.0", "Bone.1"])
    key_selected()
    assert WARNING not in status(ob)
    rigs.go_to(6)
    press(bpy.ops.pose.chain_ik_switch)
    for _ in rigs.each_frame((6, 5)):
        assert WARNING not in status(ob)
    rigs.go_to(9)
    press(bpy.ops.pose.chain_ik_switch)
    assert WARNING not in status(ob)
