"""Bake: its options, and bakes in steps, as in a window, that stop, fail or run very long."""

import sys
from collections.abc import Callable

import bpy
import numpy as np
import pytest

from blender_ik_addon.operators.bake import proposed_chains
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.clips.whole_clip_bake import Keying
from blender_ik_addon.rig.clips.whole_clip_bake import bake as bake_in_steps
from blender_ik_addon.rig.reading import animation
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.keying.test_bake import FRAMES, LAST, POSE_TOLERANCE, SWING, make_tail
from tests.blender.live.test_registration import read_resident_memory
from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import assign_action
from tests.blender.setups.pulled_rigs import make_pulled, set_forces
from tests.blender.setups.rigs import keys_of
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects, state
from tests.blender.setups.sliding_rigs import place, robot
from tests.helpers import angles_between, record_calls

bake = bpy.ops.pose.chain_ik_bake
LONG = 40


def make_rope(name="Rope"):
    """Return a selected rig that is dragged, so it depends on the frames before, and its target."""
    places = {1: (0, 0, 5), 5: (3, 0, 3), LAST: (-2, 1, 4)}
    return make_tail(5, name, places, seed=7, solver="FOLLOW")


def make_two():
    """Return a rig with two chains and an object as target; it and a target bone have keys."""
    ob, target = make_tail()
    rigs.add_bones(ob, rigs.zigzag(2) + np.array([3, 0, 0]), prefix="Arm")
    rigs.add_bones(ob, [(3, 0, 2), (3, 0, 2.5)], prefix="Control", modes="XYZ")
    rigs.add_chain(ob, "Arm.1", ob, subtarget="Control.0")
    path = 'pose.bones["Control.0"].location'
    rigs.key(ob, path, {1: (0, 0, 0), 5: (0.5, 0.2, -0.3), LAST: (-0.4, 0.1, 0)})
    select_objects(active=ob)
    return ob, target


def baked_bones(ob):
    return {path.split('"')[1].split(".")[0] for path, _ in keys_of(ob) if "rotation" in path}


def frames_of(ob):
    return {tuple(x for x, _ in keys) for keys in keys_of(ob).values()}


@pytest.mark.parametrize(("step", "keyed"), [(2, [1, 3, 5, 7, 9, 11, 12]), (1000, [1, 12])])
def test_every_nth_frame_and_the_last_one_are_keyed(step, keyed):
    ob, _ = make_tail(modes="XYZ")
    path = 'pose.bones["Bone.1"].rotation_euler'
    rigs.key(ob, path, {-4: (1, 0, 0), 6: (1, 1, 0), 30: (0, 1, 0)})
    live = rigs.play(ob, keyed)
    press(bake, step=step)
    assert frames_of(ob) == {tuple(keyed), (-4, *keyed, 30)}
    np.testing.assert_allclose(rigs.play(ob, keyed), live, atol=4 * POSE_TOLERANCE)
    ob.chain_ik.chains[0].mute = False
    press(bake, step=3, frame_start=20, frame_end=20)
    assert frames_of(ob) == {(*keyed, 20), (-4, *keyed, 20, 30)}


@pytest.mark.parametrize(
    ("change", "options", "warns"),
    [
        (None, {"frame_end": 8}, True),
        (None, {"frame_start": 5}, True),
        (None, {}, False),
        (None, {"frame_end": 8, "mute": False}, False),
        ("bone keys after", {"frame_end": 8}, False),
        ("bone keys after", {"frame_start": 5, "frame_end": 8}, True),
        ("influence", {"frame_end": 8}, False),
        ("still target", {"frame_end": 8}, False),
        ("moved parent", {"frame_end": 8}, True),
        ("short scene", {"frame_end": 8}, False),
    ],
)
def test_chains_that_hold_still_outside_of_the_range_while_targets_move_are_named(
    change, options, warns, capfd
):
    ob, target = make_tail()
    if change == "bone keys after":
        rigs.key(ob, 'pose.bones["Bone.1"].rotation_quaternion', {LAST: (1, 0, 0, 0)})
    elif change == "influence":
        rigs.key(ob.chain_ik.chains[0], "influence", {8: 1.0, LAST: 0.0})
    elif change == "still target":
        target.animation_data_clear()
    elif change == "moved parent":
        target.animation_data_clear()
        target.parent = rigs.make_empty("Parent")
        rigs.key(target.parent, "location", {1: (0, 0, 0), LAST: (0.1, 0, 0)})
    elif change == "short scene":
        bpy.context.scene.frame_end = 8
    press(bake, **options)
    sentence = "Outside of the range the bones of 'Chain' now hold still, but the targets move"
    assert (sentence in capfd.readouterr().out) == warns


@pytest.mark.parametrize("stretch", [100, 50])
def test_a_bake_in_stretched_time_says_that_its_keys_play_at_other_frames(stretch, capfd):
    make_tail()
    bpy.context.scene.render.frame_map_new = stretch
    press(bake)
    assert ("Time stretching moves keys" in capfd.readouterr().out) == (stretch != 100)


def test_chains_with_history_are_played_through_all_frames_whatever_the_step():
    ob, _ = make_rope()
    press(bake, mute=False)
    whole = keys_of(ob)
    ob.animation_data_clear()
    press(bake, step=5)
    assert frames_of(ob) == {(1, 6, 11, 12)}
    for channel, keys in keys_of(ob).items():
        np.testing.assert_allclose(keys, [whole[channel][i] for i in (0, 5, 10, 11)], atol=1e-5)


def test_selected_chains_are_those_of_selected_bones_and_targets():
    ob, target = make_two()
    for bones, objects, expected in (
        (["Bone.1"], (), {"Bone"}),
        (["Control.0"], (), {"Arm"}),
        ([], (target,), {"Bone"}),
        (["Control.0", "Bone.0"], (), {"Bone", "Arm"}),
    ):
        ob.animation_data_clear()
        select_bones(ob, bones, *objects)
        press(bake, which="SELECTED", mute=len(expected) == 2)
        assert baked_bones(ob) == expected
    assert [chain.mute for chain in ob.chain_ik.chains] == [True, True]
    assert "unmute the chains" in refusal(bake, which="ALL")
    select_bones(ob, [])
    assert refusal(bake, which="SELECTED").startswith("No live chain is selected")


def test_the_dialog_proposes_the_chains_of_a_body_or_several_selected_chains():
    ob, _ = make_two()
    select_bones(ob, ["Control.0"])
    assert proposed_chains(bpy.context) == "ACTIVE"
    select_bones(ob, ["Control.0", "Bone.0"])
    assert proposed_chains(bpy.context) == "SELECTED"
    ob.chain_ik.body.root, ob.chain_ik.body.use_body = "Bone.0", True
    assert proposed_chains(bpy.context) == "ALL"


def test_a_new_action_plays_everything_and_the_old_one_stays_with_the_slots_of_others():
    ob, target = make_two()
    before, target_keys, old = keys_of(ob), keys_of(target), ob.animation_data.action
    others = {target: target_keys}
    if hasattr(old, "slots"):
        other = rigs.make_empty("Other")
        other.animation_data_create().action = old
        other.animation_data.action_slot = old.slots.new(id_type="OBJECT", name="Other")
        other.keyframe_insert("location", frame=3)
        others[other] = keys_of(other)
    live = rigs.play(ob, FRAMES)
    press(bake, which="ALL", action="NEW")
    new = ob.animation_data.action
    assert (new.name, old.name != new.name) == ("Rig Baked", True)
    np.testing.assert_allclose(rigs.play(ob, FRAMES), live, atol=4 * POSE_TOLERANCE)
    keys = keys_of(ob)
    assert {channel: keys[channel] for channel in before} == before
    assert baked_bones(ob) == {"Bone", "Arm"}
    assert {owner: keys_of(owner) for owner in others} == others
    if hasattr(old, "slots"):
        assert [slot.identifier for slot in new.slots] == [ob.animation_data.action_slot.identifier]
    # The old action has its keys, and a fake user so that it is saved.
    assign_action(ob, old)
    assert keys_of(ob) == before
    assert old.use_fake_user


def test_a_linked_action_is_refused_or_left_for_a_new_one(tmp_path):
    ob, _ = make_two()
    name, before = ob.animation_data.action.name, keys_of(ob)
    action = ob.animation_data.action
    bpy.data.libraries.write(str(tmp_path / "library.blend"), {action})
    ob.animation_data.action = None
    bpy.data.actions.remove(action)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, loaded):
        loaded.actions = [name]
    assign_action(ob, loaded.actions[0])
    # Buttons that bake nothing refuse as well.
    for press_button in (bake, bpy.ops.pose.chain_ik_switch):
        assert refusal(press_button) == (
            f"The action '{name}' of 'Rig' is linked, so no keys can be added: make it local, or"
            " give the object another action."
        )
    live = rigs.play(ob, FRAMES)
    press(bake, which="ALL", action="NEW")
    assert ob.animation_data.action.library is None
    keys = keys_of(ob)
    assert {channel: keys[channel] for channel in before} == before
    np.testing.assert_allclose(rigs.play(ob, FRAMES), live, atol=4 * POSE_TOLERANCE)


def channels(ob, frames):
    """Return played rotations (f, n, 4), locations in bone lengths and scales (f, n, 3)."""
    rows = []
    for _ in rigs.each_frame(frames):
        rows.append(
            [(*b.matrix_basis.to_quaternion(), *b.location, *b.scale) for b in ob.pose.bones]
        )
    turns, shifts, scales = np.split(np.array(rows), (4, 7), axis=-1)
    return turns, shifts / np.array([bone.length for bone in ob.data.bones])[:, None], scales


def count_of_keys(ob):
    return sum(len(keys) for keys in keys_of(ob).values())


def tail_maker(mode):
    """Return a function that makes a tail of bones in a rotation mode."""
    swing = {1: (0.7, 0.3, 2.2), 20: (-0.9, 0.9, 1.8), LONG: (1.2, -0.7, 2.4)}
    return lambda name: make_tail(name=name, modes=mode, swing=swing)[0]


def make_robot(name):
    ob, target, _ = robot(name=name)
    places = {1: place(0.2), 20: place(-0.3, bend=1.5), LONG: place(0.4, turn=2.0)}
    rigs.key(target, "location", places)
    return ob


def make_stretchy(name):
    swing = {1: (1, 0, 3), 20: (0, 0, 7.0), LONG: (2, 1, 3)}
    ob, _ = make_tail(name=name, use_stretch=True, swing=swing)
    rigs.set_each(ob.pose.bones, ik_stretch=0.5)
    return ob


@pytest.mark.parametrize(
    ("make", "tolerance"),
    [
        (tail_maker("QUATERNION"), 0.002),
        (tail_maker("XYZ"), 0.05),
        (tail_maker("AXIS_ANGLE"), 0.05),
        (make_robot, 0.02),
        (make_stretchy, 0.002),
    ],
)
def test_keys_left_out_turn_move_and_grow_no_bone_by_more_than_the_tolerance(make, tolerance):
    frames = range(1, LONG + 1)
    # Each rig is baked before the other is solved.
    whole = make("Whole")
    select_objects(active=whole)
    press(bake, frame_end=LONG)
    ob = make("Reduced")
    select_objects(active=ob)
    press(bake, frame_end=LONG, tolerance=tolerance)
    some, full = channels(ob, frames), channels(whole, frames)
    off = [angles_between(some[0], full[0]).max()]
    off += [np.linalg.norm(a - b, axis=-1).max() for a, b in zip(some[1:], full[1:], strict=True)]
    # Channels are float32.
    assert max(off) <= tolerance + 2e-6
    assert max(off) > 0.2 * tolerance
    assert count_of_keys(ob) < 0.7 * count_of_keys(whole)
    by_path = {}
    for (path, _), keys in keys_of(ob).items():
        by_path.setdefault(path, set()).add(tuple(x for x, _ in keys))
    # The channels of a rotation have keys at the same frames, including the first and the last.
    assert all(len(rows) == 1 for path, rows in by_path.items() if "rotation" in path)
    assert all(keys[0] == 1 and keys[-1] == LONG for rows in by_path.values() for keys in rows)


def test_options_of_the_last_bake_are_not_remembered():
    ob, _ = make_tail()
    live = rigs.play(ob, [1, LAST])
    press(bake, step=3, tolerance=0.5, action="NEW", mute=False)
    action = ob.animation_data.action
    assert action.name == "Rig Baked"
    press(bake)
    assert frames_of(ob) == {tuple(range(1, LAST + 1))}
    assert ob.animation_data.action == action
    assert ob.chain_ik.chains[0].mute
    np.testing.assert_allclose(rigs.play(ob, [1, LAST]), live, atol=4 * POSE_TOLERANCE)


def make_easing():
    """Return a selected rig with a chain that eases toward a moving target, and the target."""
    ob, target, chain = make_pulled(5, (1.8, 2.0, 1.5), stiffness_root=2.0, stiffness_tip=0.5)
    set_forces(chain, ease=0.25, use_gradual=True)
    rigs.key(target, "location", {1: (1.8, 2.0, 1.5), 6: (-1, 1.5, 2.5), LAST: (1, 1, 3)})
    select_objects(active=ob)
    return ob, target


def in_steps(ob, frames=FRAMES):
    """Return the steps of a bake of the first chain, which a window runs one by one."""
    settings = ob.chain_ik.chains[0]
    return bake_in_steps(bpy.context.scene, ob, {0: chain_spec(settings)}, frames, Keying())


@pytest.mark.parametrize(("make", "steps"), [(make_tail, LAST), (make_rope, 5), (make_easing, 5)])
def test_a_bake_that_is_stopped_leaves_everything_as_it_was(make, steps):
    ob, _ = make()
    rigs.key_bones(ob, frames=(20, 30))
    rigs.play(ob, range(1, 5))
    before, channels_before, pose = (state(), keys_of(ob)), rigs.channels(ob), rigs.pose(ob)
    work = in_steps(ob, range(2, 2 + LAST))
    for _ in range(steps):
        next(work)
    work.close()
    rigs.updated()
    assert bpy.context.scene.frame_current == 4
    assert (state(), keys_of(ob)) == before
    assert rigs.channels(ob) == channels_before
    np.testing.assert_array_equal(rigs.pose(ob), pose)
    # It goes on playing as if no bake had started.
    continued = rigs.play(ob, (5, 6))
    rigs.play(ob, range(1, 5))
    expected = rigs.play(ob, (5, 6))
    np.testing.assert_allclose(continued, expected, atol=POSE_TOLERANCE)


def test_a_bake_that_fails_in_the_middle_leaves_everything_as_it_was():
    ob, _ = make_rope()
    rigs.key(ob, "scale", {7: (1, 1, 1), 8: (0, 0, 0)})
    for curve in rigs.curves_of(ob):
        rigs.set_each(curve.keyframe_points, interpolation="CONSTANT")
    select_objects(active=ob)
    rigs.play(ob, range(1, 5))
    before, pose = (state(), rigs.channels(ob)), rigs.pose(ob)
    assert "cannot be baked at frame 8" in refusal(bake)
    rigs.updated()
    assert (state(), rigs.channels(ob)) == before
    np.testing.assert_array_equal(rigs.pose(ob), pose)


CHANGES: dict[str, Callable[[bpy.types.Object], object]] = {
    "bone": lambda ob: setattr(ob.pose.bones["Bone.1"], "name", "Other"),
    "chain": lambda ob: ob.chain_ik.chains.remove(0),
    "edit mode": lambda ob: rigs.enter(ob, "EDIT"),
    "object": lambda ob: bpy.data.objects.remove(ob),
    "undo": lambda _: bpy.ops.ed.undo(),
    "file": lambda _: bpy.ops.wm.read_homefile(use_empty=True),
    "live": lambda _: setattr(bpy.context.scene.chain_ik, "use_live", False),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_bake_of_what_has_changed_meanwhile_is_refused(what):
    bpy.ops.ed.undo_push(message="empty")
    ob, _ = make_tail()
    bpy.ops.ed.undo_push(message="made")
    work = in_steps(ob)
    for _ in range(3):
        next(work)
    CHANGES[what](ob)
    text = "Live is off" if what == "live" else "changed during the bake, so nothing"
    with pytest.raises(RigError, match=text):
        next(work)
    assert not [action for action in bpy.data.actions if action.name.startswith("Rig Baked")]
    work.close()


@pytest.mark.parametrize("method", ["FRAMES", "CLIP"])
def test_keys_are_read_no_more_often_in_more_frames(monkeypatch, method):
    # Every frame has keys, so reading all keys at each frame would take quadratic time.
    ob, _ = make_tail()
    rigs.key_bones(ob, frames=FRAMES)
    read = record_calls(monkeypatch, animation, "read_floats")
    counts = []
    for last in (LAST // 2, LAST):
        read.clear()
        press(bake, frame_end=last, method=method)
        counts.append(len(read))
        rigs.change(ob.chain_ik.chains[0], mute=False)
    assert counts[0] == counts[1]


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux", reason="memory is read from /proc, which only Linux has"
)
def test_three_thousand_frames_need_no_more_memory_than_a_thousand():
    last, warm = 3_000, 500
    ob, target = make_tail(2)
    rigs.key(target, "location", {1: SWING[1], 1000: SWING[6], last: SWING[LAST]})
    work = in_steps(ob, range(1, last + 1))
    samples = []
    for frame in work:
        if frame % warm == 0:
            samples.append(2**20 * read_resident_memory())
    # The baked values take at most this many bytes, once all their pages are touched.
    values = last * 8 * 8
    assert len(samples) == last // warm
    assert samples[-1] - samples[0] < values + 500_000
    assert {len(keys) for keys in keys_of(ob).values()} == {last}
