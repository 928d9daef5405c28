"""Matching of FK and IK: snapping, applying and switching do not move the shown pose."""

from collections.abc import Callable, Sequence
from functools import partial
from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Vector

from blender_ik_addon.rig.keying.curve_points import split
from tests.blender.setups import rigs, ties
from tests.blender.setups.keyed_limbs import assign_action
from tests.blender.setups.selecting import press, refusal, select_bones
from tests.helpers import angles_between, make_rng

snap = bpy.ops.pose.chain_ik_snap_target
apply = bpy.ops.pose.chain_ik_apply
switch = bpy.ops.pose.chain_ik_switch

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0), (0.1, 0.0, 2.4))
ARM = ("upper_arm", "forearm", "hand")
# Tolerance of the turn of a bone, in radians.
MAX_TURN = 1e-4


def make_arm(kind: str = "BONE", scale=(1, 1, 1), **settings: object) -> bpy.types.Object:
    """Return an arm with target and pole, and a hand that its chain turns."""
    ob = rigs.make_rig(LIMB, names=ARM)
    ob.location, ob.rotation_euler, ob.scale = (0.3, 0.2, 0.1), (0.2, -0.3, 0.8), scale
    select_bones(ob, ARM)
    press(bpy.ops.pose.chain_ik_add, control=kind)
    rigs.change(ob.chain_ik.chains[0], **settings)
    return ob


def turns(ob: bpy.types.Object) -> np.ndarray:
    return np.array([rigs.evaluated(ob).pose.bones[name].matrix.to_quaternion() for name in ARM])


UNEVEN = (1.2, 0.8, 1.5)


@pytest.mark.parametrize(
    ("kind", "scale", "settings"),
    [
        ("BONE", (1, 1, 1), {}),
        ("EMPTY", (2, 2, 2), {"pole_angle": 0.7}),
        ("EMPTY", (1, 1, 1), {"start_from": "REST"}),
        ("EMPTY", (-1, 1, 1), {"use_flip_bend": True}),
        ("BONE", (-1, 1, 1), {"pole_angle": -1.1, "negative_scale": "KEEP"}),
        ("EMPTY", UNEVEN, {"solver": "NEWTON", "use_flip_bend": True, "pole_angle": 0.4}),
        ("BONE", UNEVEN, {"pole_angle": 0.7}),
    ],
)
def test_a_snapped_target_has_the_chain_take_over_without_a_move(kind, scale, settings):
    ob = make_arm(kind, scale, **settings)
    rigs.change(ob.chain_ik.chains[0], influence=0.0)
    for seed in range(2):
        rigs.turn_bones(ob, seed, 0.6, ARM)
        before, elbow = turns(ob), rigs.head(ob, "forearm")
        press(snap)
        # A chain without influence writes nothing.
        assert angles_between(turns(ob), before).max() <= 1e-6
        rigs.change(ob.chain_ik.chains[0], influence=1.0)
        assert ob.chain_ik.chains[0].status.startswith("Reached")
        if "start_from" in settings:
            # The pole keeps the place of the elbow, but not the rotations.
            np.testing.assert_allclose(rigs.head(ob, "forearm"), elbow, atol=2e-5)
        else:
            assert angles_between(turns(ob), before).max() <= MAX_TURN * (
                10 if scale == UNEVEN else 1
            )
        rigs.change(ob.chain_ik.chains[0], influence=0.0)


def snap_frames(ob: bpy.types.Object, last: int) -> list[np.ndarray]:
    """Press *Snap Target* with a range from 1 on; return the matrices of the arm before, after."""
    frames = range(1, last + 1)
    before = rigs.play(ob, frames)
    press(snap, use_range=True, frame_start=1, frame_end=last)
    rigs.change(ob.chain_ik.chains[0], mute=False)
    return [poses[:, : len(ARM)] for poses in (before, rigs.play(ob, frames))]


@pytest.mark.parametrize("pole_mode", ["TARGET", "FOLLOW"])
def test_snapped_frames_of_a_live_chain_keep_their_pose_whatever_the_keys_before(pole_mode):
    ob = make_arm(pole_mode=pole_mode)
    target = ob.pose.bones[ob.chain_ik.chains[0].subtarget]
    # Bone axes: out of reach from frame 5 on, and back within it.
    places = {1: (0.0, 0.0, -0.1), 10: (0.1, 0.6, 0.3), 25: (0.0, -0.3, -0.2)}
    rigs.key(ob, target.path_from_id("location"), places)
    rigs.go_to(10)
    assert ob.chain_ik.chains[0].status.startswith("Out of reach")
    before, after = snap_frames(ob, 25)
    # A straight arm bends by the root of the last digit of its target.
    np.testing.assert_allclose(after, before, atol=2e-3)


def test_pole_angles_of_snapped_frames_go_the_short_way_from_key_to_key():
    ob = make_arm(pole_mode="FOLLOW")
    rigs.change(ob.chain_ik.chains[0], mute=True)
    upper = ob.pose.bones["upper_arm"]
    upper.rotation_mode = "AXIS_ANGLE"
    for frame in range(1, 10):
        angle = radians(130.0 + 10.0 * frame)
        rigs.key(ob, upper.path_from_id("rotation_axis_angle"), {frame: (angle, 0.0, 1.0, 0.0)})
    before, after = snap_frames(ob, 9)
    np.testing.assert_allclose(after, before, atol=1e-5)
    keys = rigs.keys_of(ob)["chain_ik.chains[0].pole_angle", 0]
    assert np.abs(np.diff([value for _, value in keys])).max() < radians(45.0)


def test_snapped_frames_have_no_keys_between_them_and_keys_beside_them_play_as_they_did():
    """Keys of a clip that was retimed lie between frames."""
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, influence=0.0)
    for frame in (1, 16, 31):
        rigs.turn_bones(ob, frame, 0.4, ARM)
        rigs.key_rotations(ob, frame, ARM)
    target = ob.pose.bones[chain.subtarget]
    places = {at: (0.3 * i % 0.7, 0.1 * i, 0.0) for i, at in enumerate((1, 6, 12.4, 17.6, 27, 31))}
    rigs.key(ob, target.path_from_id("location"), places)
    moved = [curve for curve in rigs.curves_of(ob) if "location" in curve.data_path]
    for curve in moved:
        rigs.set_each(curve.keyframe_points, interpolation="BEZIER")
        curve.update()
    beside = [*np.arange(1.0, 6.1, 0.5), *np.arange(27.0, 31.1, 0.5)]
    before = [[curve.evaluate(at) for at in beside] for curve in moved]
    press(snap, use_range=True, frame_start=10, frame_end=20)
    moved = [curve for curve in rigs.curves_of(ob) if target.name in curve.data_path]
    for curve in moved:
        frames = [point.co.x for point in curve.keyframe_points if 7 < point.co.x < 26]
        assert frames == list(range(10, 21))
    after = [[c.evaluate(at) for at in beside] for c in moved if "location" in c.data_path]
    np.testing.assert_allclose(after, before, atol=1e-5)
    times = np.arange(10.0, 20.1, 0.25)
    posed = rigs.play(ob, times)
    rigs.change(chain, influence=1.0)
    np.testing.assert_allclose(rigs.play(ob, times)[::4], posed[::4], atol=1e-4)
    # Between frames a target moves straight, and a tip on an arc.
    np.testing.assert_allclose(rigs.play(ob, times), posed, atol=0.02)


def test_auto_keying_keys_what_is_snapped():
    ob = make_arm(pole_mode="FOLLOW")
    chain, target = ob.chain_ik.chains[0], ob.pose.bones[ob.chain_ik.chains[0].subtarget]
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    names = ("location", rigs.rotation_property(target))
    paths = {"chain_ik.chains[0].pole_angle", *map(target.path_from_id, names)}
    for path in paths:
        ob.keyframe_insert(path, frame=1)
    rigs.change(chain, influence=0.0)
    rigs.go_to(7)
    rigs.turn_bones(ob, 0, 0.6, ARM)
    before = turns(ob)
    press(snap)
    keys = {path: points[-1][0] for (path, _), points in rigs.keys_of(ob).items()}
    assert keys == dict.fromkeys(paths, 7.0)
    rigs.change(chain, influence=1.0)
    assert angles_between(turns(ob), before).max() <= MAX_TURN


@pytest.mark.parametrize("interpolation", ["BEZIER", "CONSTANT"])
def test_a_pose_applied_with_keys_stays_although_mute_was_keyed(interpolation, new_keys):
    ob = make_arm()
    ob.pose.bones[ob.chain_ik.chains[0].subtarget].location.y -= 0.4
    rigs.key(ob, "chain_ik.chains[0].mute", {1: False, 10: True, 20: False})
    rigs.go_to(5)
    before = turns(ob)
    new_keys(interpolation)
    press(apply, use_keys=True)
    assert refusal(apply) == "The chain does not move its bones: unmute it, or raise its influence."
    for _ in rigs.each_frame((5, 20, 1, 12)):
        assert ob.chain_ik.chains[0].mute
        assert angles_between(turns(ob), before).max() <= 1e-6
    curves = [curve for curve in rigs.curves_of(ob) if "rotation" in curve.data_path]
    kinds = {point.interpolation for curve in curves for point in curve.keyframe_points}
    assert kinds == {interpolation}


@pytest.fixture
def new_keys(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A function that sets New Interpolation Type; the old value returns after the test."""
    edit = bpy.context.preferences.edit
    return partial(monkeypatch.setattr, edit, "keyframe_new_interpolation_type")


@pytest.mark.parametrize(
    ("interpolation", "to", "keyed_at"),
    [
        ("BEZIER", "FK", (1, 12)),
        ("CONSTANT", "IK", (1, 19)),
        ("CONSTANT", "FK", ()),
        ("LINEAR", "IK", (1, 12, 31)),
        ("LINEAR", "FK", (1, 12, 31)),
    ],
)
def test_keys_from_a_switch_on_have_the_users_interpolation(interpolation, to, keyed_at, new_keys):
    new_keys("LINEAR" if interpolation != "LINEAR" else "BEZIER")
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    control = chain.subtarget
    for frame in keyed_at:
        ob.pose.bones[control].location.y = -0.02 * frame
        rigs.turn_bones(ob, frame, 0.6, ARM)
        key_all(ob, (*ARM, control), (frame,))
    chain.mute = to == "IK"
    rigs.go_to(20)
    keyed = ARM if to == "FK" else (*ARM, control)
    frames = np.arange(1.0, 19.01, 0.25)
    earlier = {
        (curve.data_path, curve.array_index): [curve.evaluate(frame) for frame in frames]
        for curve in rigs.curves_of(ob)
        if keyed_at and not keyed_at[1] > 19
    }
    new_keys(interpolation)
    press(switch, to=to)
    rigs.turn_bones(ob, 5, 0.6, ARM)
    rigs.key_rotations(ob, 27, keyed)
    for curve in rigs.curves_of(ob):
        before = earlier.get((curve.data_path, curve.array_index))
        if before is not None and "chain_ik" not in curve.data_path:
            values = [curve.evaluate(frame) for frame in frames]
            np.testing.assert_allclose(values, before, atol=1e-5, err_msg=curve.data_path)
        if any(f'"{name}"].rot' in curve.data_path for name in keyed):
            kinds = {point.co.x: point.interpolation for point in curve.keyframe_points}
            assert (kinds[20], kinds[27]) == (interpolation, interpolation), curve.data_path
            assert keyed_at or kinds[19] == interpolation, curve.data_path


@pytest.mark.parametrize(("to", "keyed_at"), [("FK", (1, 12)), ("IK", (31,))])
def test_keys_that_are_inserted_before_a_switch_are_of_the_kind_of_their_neighbours(to, keyed_at):
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    keyed = ARM if to == "FK" else (*ARM, chain.subtarget)
    key_all(ob, keyed, keyed_at)
    chain.mute = to == "IK"
    rigs.go_to(20)
    press(switch, to=to)
    key_all(ob, keyed, (5, 16, 18))
    for curve in rigs.curves_of(ob):
        kinds = {point.interpolation for point in curve.keyframe_points}
        assert kinds == {"BEZIER"} or "chain_ik" in curve.data_path


def key_all(ob: bpy.types.Object, bones: Sequence[str], frames: Sequence[int]) -> None:
    for frame in frames:
        for name in bones:
            for prop in ("location", "rotation_quaternion"):
                ob.pose.bones[name].keyframe_insert(prop, frame=frame)


KINDS_OF_KEYS = ["BEZIER", "LINEAR", "CONSTANT", "SINE", "ELASTIC"]


@pytest.mark.parametrize("extrapolation", ["CONSTANT", "LINEAR"])
@pytest.mark.parametrize("kind", KINDS_OF_KEYS)
def test_a_key_put_on_a_curve_changes_nothing_that_it_plays(kind, extrapolation):
    ob = rigs.make_empty()
    rng = make_rng(3)
    for frame in (1, 7, 20, 31):
        ob.location.x = rng.normal()
        ob.keyframe_insert("location", index=0, frame=frame)
    (curve,) = rigs.curves_of(ob)
    curve.extrapolation = extrapolation
    for point in curve.keyframe_points:
        point.interpolation = kind
        point.handle_left_type = point.handle_right_type = "FREE"
        # Handles up to the length of the shortest segment, as playback shortens longer ones.
        point.handle_right = point.co + Vector((rng.uniform(1, 5), rng.normal()))
        point.handle_left = point.co - Vector((rng.uniform(1, 5), rng.normal()))
    frames = np.arange(-3.0, 40.0, 0.25)
    before = [curve.evaluate(frame) for frame in frames]
    # Curves of other kinds cannot be split.
    inside = (10, 25, 4) if kind in KINDS_OF_KEYS[:3] else ()
    for frame in (*inside, 35, -2, *inside[:1]):
        split(curve, frame)
    assert len(curve.keyframe_points) == 6 + len(inside)
    np.testing.assert_allclose([curve.evaluate(frame) for frame in frames], before, atol=2e-5)
    if kind != "ELASTIC" and extrapolation == "CONSTANT":
        assert {point.interpolation for point in curve.keyframe_points} == {kind}
    curve.keyframe_points.clear()
    split(curve, 5)
    assert [point.co.x for point in curve.keyframe_points] == [5.0]


KEYING: dict[str, Callable[[], None]] = {
    "switch": lambda: press(switch),
    "switch space": lambda: press(bpy.ops.pose.chain_ik_switch_space, space="Prop"),
    "snap": lambda: press(snap, use_keys=True),
    "snap range": lambda: press(snap, use_range=True, frame_start=20, frame_end=30),
}


@pytest.mark.parametrize("button", KEYING)
@pytest.mark.parametrize("played_by", ["CYCLES", "NOISE", "NLA"])
def test_frames_before_keys_of_controls_play_as_they_did_whatever_plays_them(played_by, button):
    """An added key lengthens cycles, and an action covers strips also before its first key."""
    ob = make_arm()
    chain = ob.chain_ik.chains[0]
    target, pole = ob.pose.bones[chain.subtarget], ob.pose.bones[chain.pole_subtarget]
    places = {1: (0.0, -0.1, 0.0), 8: (0.1, -0.2, -0.5), 16: (0.0, -0.3, -0.2)}
    rigs.key(ob, target.path_from_id("location"), places)
    rigs.key(ob, target.path_from_id("rotation_quaternion"), {1: (1, 0, 0, 0), 9: (1, 0.2, 0, 0)})
    rigs.key(ob, pole.path_from_id("location"), places)
    data = ob.animation_data
    if played_by == "NLA":
        data.nla_tracks.new().strips.new("Played", 1, data.action)
        data.action = None
    else:
        for curve in rigs.curves_of(ob):
            curve.modifiers.new(played_by)
        data.action.update_tag()
    rigs.make_empty("Prop")
    if button == "switch":
        rigs.go_to(4)
        press(switch)
    before = rigs.play(ob, range(1, 31))
    KEYING[button]()
    after = rigs.play(ob, range(1, 31))
    first = 20 if button == "snap range" else 30
    np.testing.assert_allclose(after[: first - 1], before[: first - 1], atol=1e-5)
    arm = slice(len(ARM))
    np.testing.assert_allclose(after[:, arm], before[:, arm], atol=MAX_TURN)


@pytest.mark.parametrize("mode", ["QUATERNION", "YZX", "AXIS_ANGLE"])
@pytest.mark.parametrize(
    ("keyed_at", "jumps"),
    [(range(1, 31), True), (range(1, 31, 11), False), (range(1, 13), False)],
)
def test_a_switch_to_fk_says_by_how_much_a_pose_jumps_back_to_its_keys(
    mode, keyed_at, jumps, capfd
):
    """Motion capture has keys at each frame: they play on right after the switch."""
    ob = make_arm()
    bones = [ob.pose.bones[name] for name in ARM]
    rigs.set_each(bones, rotation_mode=mode)
    rigs.turn_bones(ob, 3, 0.4, ARM)
    for frame in keyed_at:
        rigs.key_rotations(ob, frame, ARM)
    rigs.go_to(12)
    rigs.shift(ob.pose.bones[ob.chain_ik.chains[0].subtarget], x=0.5, y=-0.9, z=-0.6)
    press(switch)
    said = capfd.readouterr().out

    def read_turns(frame: int) -> np.ndarray:
        rigs.go_to(frame)
        return np.array([bone.matrix_basis.to_quaternion() for bone in bones])

    jump = np.degrees(angles_between(read_turns(12), read_turns(13)).max())
    assert (jump > 20.0) == jumps
    warning = (
        f"After frame 12 the keys of hand ({jump:.0f}°) play, and the pose jumps back to them: undo"
        " this, and fade Influence from 1 to 0 with linear keys instead."
    )
    assert (warning in said) == jumps
    assert ("jumps back" in said) == jumps


@pytest.mark.parametrize("is_shared", [True, False])
@pytest.mark.parametrize("button", KEYING)
@pytest.mark.parametrize("kind", ["BONE", "EMPTY"])
def test_another_object_that_plays_new_keys_is_named(kind, button, is_shared, capfd):
    """Two characters may play one action. A key of one moves the other one."""
    ob, other = make_arm(kind), rigs.make_empty("Other")
    chain = ob.chain_ik.chains[0]
    target = chain.target if kind == "EMPTY" else ob.pose.bones[chain.subtarget]
    # A switch keys the bones, too.
    for keyed in (target, ob.pose.bones["upper_arm"]):
        rigs.key(keyed, "location", {1: keyed.location.copy()})
    data = target.id_data.animation_data
    assign_action(other, data.action, getattr(data, "action_slot", None))
    if not is_shared:
        other.animation_data.action = other.animation_data.action.copy()
    rigs.make_empty("Prop")
    keys = rigs.keys_of(other)
    KEYING[button]()
    assert (rigs.keys_of(other) != keys) == (is_shared and (kind, button) != ("EMPTY", "switch"))
    warning = (
        "Warning: The keys also play on 'Other', because the action is the same: undo this, and"
        " give each object its own action first."
    )
    assert (warning in capfd.readouterr().out) == (rigs.keys_of(other) != keys)


@pytest.mark.parametrize(
    "keyed",
    [
        {"influence": {1: 0.0, 16: 1.0}},
        {"pole_angle": {1: 0.0, 16: 1.0}},
        {"mute": {1: False, 5: True}},
        {"influence": {1: 1.0}, "mute": {}},
        {},
    ],
)
def test_frames_before_a_switch_play_as_they_did_also_at_a_second_one_there(keyed):
    ob = make_arm(pole_mode="FOLLOW")
    target = ob.pose.bones[ob.chain_ik.chains[0].subtarget]
    rigs.key(ob, target.path_from_id("location"), {1: (0.0, 0.0, 0.0), 16: (0.2, -0.4, -0.6)})
    for name, values in keyed.items():
        rigs.key(ob, f"chain_ik.chains[0].{name}", values)
    rigs.change(ob.chain_ik.chains[0], mute="mute" in keyed)
    before = rigs.play(ob, range(1, 9))
    arm = slice(len(ARM))
    for _ in range(3):
        press(switch)
        after = rigs.play(ob, range(1, 9))
        np.testing.assert_allclose(after[:-1], before[:-1], atol=1e-5)
        np.testing.assert_allclose(after[:, arm], before[:, arm], atol=MAX_TURN)


WARNING = (
    "Warning: Something else, for example a constraint, holds 'Held' away from its place in the"
    " pose: undo this, and mute the cause first."
)


def test_a_control_that_a_constraint_holds_elsewhere_is_reported(capfd):
    ob, held = rigs.make_rig(LIMB, names=ARM), rigs.make_empty("Held", (0.4, -0.3, 1.0))
    limit = ties.constrain(held, "LIMIT_LOCATION", use_max_z=True, max_z=1.2)
    select_bones(ob, ARM, held)

    def read_messages() -> list[str]:
        lines = capfd.readouterr().out.splitlines()
        return [line for line in lines if line.startswith(("Warning", "Info: 'Held'"))]

    for button, settings in (
        (bpy.ops.pose.chain_ik_add, {}),
        (switch, {"to": "IK"}),
        (snap, {}),
        (snap, {"use_range": True, "frame_start": 1, "frame_end": 3}),
    ):
        rigs.turn_bones(ob, 0, 0.3, ARM)
        read_messages()
        press(button, **settings)
        assert read_messages() == [WARNING], button
        if button == bpy.ops.pose.chain_ik_add:
            np.testing.assert_allclose(held.location, (0.4, -0.3, 1.0), atol=1e-6)
        rigs.change(ob.chain_ik.chains[0], mute=True)
    limit.mute = True
    press(snap)
    assert read_messages() == []
