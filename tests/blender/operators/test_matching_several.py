"""FK and IK of several selected limbs in one step: all go to one side, and nothing moves."""

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.pulled_rigs import make_pulled
from tests.blender.setups.selecting import deselect_bones, press, refusal, select_bones, warnings

switch = bpy.ops.pose.chain_ik_switch
snap = bpy.ops.pose.chain_ik_snap_target

SIDES = {"L": [1, 1, 1], "R": [-1, 1, 1]}
CONTROLS = ("Chest", "Hand.L", "Hand.R")
BONES = ("Spine.0", "Spine.1", "Spine.2", "Arm.L.0", "Arm.L.1", "Arm.R.0", "Arm.R.1")
# Tolerance of a position, in scene units; the body measures three.
TOLERANCE = 1e-5


def make_body() -> bpy.types.Object:
    """Return a spine with two arms: the chest's control carries the hands', and these the poles."""
    ob = rigs.make_armature()
    spine = np.array([(0.0, 0.05 * (i % 2), 0.5 * i) for i in range(4)])
    rigs.add_bones(ob, spine, prefix="Spine")
    arm = np.array([(0.3, 0.0, 1.5), (0.9, 0.1, 1.5), (1.5, 0.0, 1.5)])
    up = np.array([0.0, 0.0, 0.2])
    for side, mirror in SIDES.items():
        rigs.add_bones(ob, arm * mirror, prefix=f"Arm.{side}", parent="Spine.2")
    controls = [("Chest", spine[-1], "")]
    for side, mirror in SIDES.items():
        hand = arm[2] * mirror
        controls.append((f"Hand.{side}", hand, "Chest"))
        controls.append((f"Pole.{side}", hand * [0.6, 1, 1] + [0.0, 1.0, 0.0], f"Hand.{side}"))
    for name, place, parent in controls:
        rigs.add_bones(ob, (place, place + up), names=(name,), parent=parent)
    ob.location, ob.rotation_euler = (0.4, 0.1, 0.0), (0.1, 0.2, 0.7)
    rigs.add_chain(ob, "Spine.2", ob, subtarget="Chest", name="Spine")
    for side in SIDES:
        rigs.add_chain(
            *(ob, f"Arm.{side}.1", ob),
            **{"name": f"Arm.{side}", "subtarget": f"Hand.{side}", "chain_count": 2},
            **{"pole_target": ob, "pole_subtarget": f"Pole.{side}", "solver": "TWO_BONE"},
        )
    select_bones(ob, CONTROLS)
    return ob


def share_spine(ob: bpy.types.Object) -> None:
    """Unite the spine and the arms in one tree."""
    for side in SIDES:
        rigs.change(ob.chain_ik.chains[f"Arm.{side}"], solver="NEWTON", chain_count=0)


def tails(ob: bpy.types.Object) -> np.ndarray:
    return np.array([rigs.tail(ob, name) for name in BONES])


def at(ob: bpy.types.Object, frame: int) -> np.ndarray:
    rigs.go_to(frame)
    return tails(ob)


def influences(ob: bpy.types.Object) -> dict[str, float]:
    return {chain.name: 0.0 if chain.mute else chain.influence for chain in ob.chain_ik.chains}


def mute(ob: bpy.types.Object, *names: str) -> None:
    for chain in ob.chain_ik.chains:
        chain.mute = chain.name in names
    rigs.updated()


def test_limbs_that_carry_each_other_switch_in_the_middle_of_a_shot_without_a_move():
    ob = make_body()
    for frame, step in ((1, (0, 0, 0)), (20, (0.3, -0.2, -0.4)), (40, (-0.2, 0.1, -0.2))):
        ob.pose.bones["Chest"].location = step
        ob.pose.bones["Hand.L"].location = np.array(step)[::-1]
        for name in ("Chest", "Hand.L"):
            ob.pose.bones[name].keyframe_insert("location", frame=frame)
    ob.chain_ik.chains["Arm.R"].influence = 0.5
    before = {frame: at(ob, frame) for frame in (1, 5, 12, 19, 20)}
    press(switch, to="FK")
    assert influences(ob) == {"Spine": 0.0, "Arm.L": 0.0, "Arm.R": 0.0}
    np.testing.assert_allclose(tails(ob), before[20], atol=TOLERANCE)
    rigs.go_to(30)
    rigs.turn_bones(ob, 3, 0.6, BONES)
    rigs.key_rotations(ob, 30, BONES)
    posed = tails(ob)
    press(switch)
    assert influences(ob) == {"Spine": 1.0, "Arm.L": 1.0, "Arm.R": 1.0}
    np.testing.assert_allclose(tails(ob), posed, atol=TOLERANCE)
    for frame in (30, 19, 5, 20, 1, 12, 30):
        expected = posed if frame == 30 else before[frame]
        np.testing.assert_allclose(at(ob, frame), expected, atol=TOLERANCE, err_msg=str(frame))
    # At a switch, nothing jumps more than the shot moves from frame to frame.
    for frame in (20, 30):
        step, last = (np.abs(at(ob, i) - at(ob, i - 1)).max() for i in (frame, frame - 1))
        assert step <= 1.5 * last + TOLERANCE


@pytest.mark.parametrize(("active", "expected"), [(1, 0.0), (0, 1.0)])
def test_all_chains_switch_to_the_side_that_the_active_chain_switches_to(active, expected):
    ob = make_body()
    mute(ob, "Spine")
    rigs.turn_bones(ob, 2, 0.6, BONES)
    before = tails(ob)
    ob.chain_ik.active_index = active
    press(switch)
    assert set(influences(ob).values()) == {expected}
    np.testing.assert_allclose(tails(ob), before, atol=TOLERANCE)


@pytest.mark.parametrize("is_broken", [False, True])
def test_controls_below_a_switched_one_stay_although_their_chains_are_not_selected(is_broken):
    ob = make_body()
    mute(ob, "Spine")
    rigs.turn_bones(ob, 2, 0.6, BONES)
    if is_broken:
        rigs.change(ob.chain_ik.chains["Arm.R"], subtarget="Gone")
    select_bones(ob, ["Spine.2"])
    before = tails(ob)
    rigs.go_to(20)
    press(switch, to="IK")
    np.testing.assert_allclose(tails(ob), before, atol=TOLERANCE)
    np.testing.assert_allclose(at(ob, 19), before, atol=TOLERANCE)
    np.testing.assert_allclose(at(ob, 20), before, atol=TOLERANCE)


def test_selected_chains_are_switched_unless_they_are_on_that_side_already(capfd):
    ob = make_body()
    rigs.go_to(10)
    select_bones(ob, ["Hand.L", "Arm.R.0"])
    ob.chain_ik.active_index = 0
    press(switch, to="FK")
    assert influences(ob) == {"Spine": 1.0, "Arm.L": 0.0, "Arm.R": 0.0}
    assert "Arm.L, Arm.R: FK from frame 10 on" in capfd.readouterr().out
    before = {curve.data_path: len(curve.keyframe_points) for curve in rigs.curves_of(ob)}
    rigs.go_to(20)
    select_bones(ob, CONTROLS)
    press(switch, to="FK")
    after = {curve.data_path: len(curve.keyframe_points) for curve in rigs.curves_of(ob)}
    assert {path: after[path] for path in before} == before
    printed = capfd.readouterr().out
    assert "Arm.L, Arm.R: FK already, so skipped" in printed
    assert "Spine: FK from frame 20 on" in printed
    keys = rigs.keys_of(ob)
    press(switch, to="FK")
    assert "Spine, Arm.L, Arm.R: FK already, so skipped" in capfd.readouterr().out
    assert rigs.keys_of(ob) == keys
    press(switch, to="IK")
    # A chain between FK and IK is on neither side.
    rigs.change(ob.chain_ik.chains["Arm.L"], influence=0.5)
    press(switch, to="IK")
    printed = capfd.readouterr().out
    assert "Spine, Arm.R: IK already, so skipped" in printed
    assert "Arm.L: IK from frame 20 on" in printed
    press(switch, to="FK")
    # Without a selection, the active chain is switched.
    deselect_bones(ob)
    ob.chain_ik.active_index = 0
    press(switch, to="IK")
    assert influences(ob) == {"Spine": 1.0, "Arm.L": 0.0, "Arm.R": 0.0}


@pytest.mark.parametrize("how", ["Follow", "no target", "locked"])
def test_a_chain_that_cannot_be_switched_is_named_and_the_others_are_switched(how, capfd):
    ob = make_body()
    mute(ob, "Spine", "Arm.L", "Arm.R")
    chain = ob.chain_ik.chains["Arm.L"]
    if how == "Follow":
        chain.solver = "FOLLOW"
    elif how == "no target":
        chain.target = None
    else:
        ob.pose.bones["Hand.L"].lock_location = (True, True, True)
    select_bones(ob, [*CONTROLS, "Arm.L.1"])
    rigs.turn_bones(ob, 5, 0.6, BONES)
    before = tails(ob)
    press(switch, to="IK")
    output = capfd.readouterr().out
    assert output.count("Warning: Arm.L: ") == 1
    assert "Spine, Arm.R: IK from frame" in output
    np.testing.assert_allclose(tails(ob), before, atol=TOLERANCE)
    assert influences(ob) == {"Spine": 1.0, "Arm.L": 0.0, "Arm.R": 1.0}


@pytest.mark.parametrize("how", ["no target", "locked"])
def test_nothing_changes_if_no_chain_can_be_switched(how):
    ob = make_body()
    for chain in ob.chain_ik.chains:
        chain.mute = chain.use_flip_bend = True
        if how == "no target":
            chain.target = None
        ob.pose.bones[chain.subtarget].lock_location = (True, True, True)
    select_bones(ob, BONES if how == "no target" else ["Arm.L.1"])
    rigs.turn_bones(ob, 2, 0.6, BONES)
    for operator in (switch, snap):
        message = refusal(operator)
        assert ("locked" in message) == (how == "locked")
        assert (message == "This chain has no target: choose one first.") == (how == "no target")
    assert all(chain.use_flip_bend for chain in ob.chain_ik.chains)


def test_chains_of_several_rigs_in_pose_mode_are_switched():
    first = make_body()
    second = make_body()
    second.location.x += 4.0
    bpy.ops.object.mode_set(mode="OBJECT")
    first.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    for ob in (first, second):
        for bone in ob.pose.bones:
            holder = bone if hasattr(bone, "select") else bone.bone
            holder.select = bone.name in CONTROLS
    before = tails(first), tails(second)
    press(switch, to="FK")
    for ob, expected in zip((first, second), before, strict=True):
        assert set(influences(ob).values()) == {0.0}
        np.testing.assert_allclose(tails(ob), expected, atol=TOLERANCE)


@pytest.mark.parametrize("shared", ["bones", "pole"])
def test_bones_or_poles_of_several_chains_are_matched_and_keyed_once(shared):
    ob = make_body()
    if shared == "bones":
        share_spine(ob)
    else:
        ob.chain_ik.chains["Arm.L"].pole_subtarget = "Pole.R"
    mute(ob, "Spine", "Arm.L", "Arm.R")
    rigs.turn_bones(ob, 7, 0.6, BONES)
    before = tails(ob)
    press(switch, to="IK")
    for curve in rigs.curves_of(ob):
        frames = sorted(point.co.x for point in curve.keyframe_points)
        assert frames == [0.0, 1.0], curve.data_path
    # One pole cannot hold two elbows in place, but hands, spine and one elbow.
    off = np.linalg.norm(tails(ob) - before, axis=1) > TOLERANCE
    elbows = [["Arm.L.0"], ["Arm.R.0"]] if shared == "pole" else []
    assert sorted(np.array(BONES)[off]) in ([], *elbows)


def test_a_chain_that_leaves_a_tree_or_joins_it_moves_none_of_its_bones():
    ob = make_body()
    share_spine(ob)
    ob.pose.bones["Hand.L"].location = (-0.2, 0.3, 0.2)
    for frame, to in ((10, "FK"), (20, "IK")):
        before = at(ob, frame)
        select_bones(ob, ["Arm.L.1"])
        press(switch, to=to)
        assert influences(ob) == {"Spine": 1.0, "Arm.L": float(to == "IK"), "Arm.R": 1.0}
        for shown in (frame + 1, frame):
            np.testing.assert_allclose(at(ob, shown), before, atol=TOLERANCE)


def test_several_chains_are_applied_and_their_targets_snapped_frame_by_frame():
    ob = make_body()
    ob.pose.bones["Chest"].location.x = 0.3
    mute(ob, "Arm.R")
    posed = tails(ob)
    press(bpy.ops.pose.chain_ik_apply, use_keys=True)
    rotations = {path: keys for (path, _), keys in rigs.keys_of(ob).items() if "rotation" in path}
    assert rotations
    assert all([frame for frame, _ in keys] == [1] for keys in rotations.values())
    assert set(influences(ob).values()) == {0.0}
    np.testing.assert_allclose(tails(ob), posed, atol=TOLERANCE)
    for frame in (1, 3):
        rigs.turn_bones(ob, frame, 0.6, BONES)
        rigs.key_rotations(ob, frame, BONES)
    before = {frame: at(ob, frame) for frame in (1, 2, 3)}
    press(snap, use_range=True, frame_start=1, frame_end=3)
    mute(ob)
    for frame in (2, 1, 3):
        np.testing.assert_allclose(at(ob, frame), before[frame], atol=TOLERANCE)


def test_a_target_that_takes_no_keys_is_named_and_the_others_are_snapped(capfd):
    ob = make_body()
    for side in SIDES:
        ob.pose.bones[f"Hand.{side}"].keyframe_insert("location", frame=1)
    locked = next(curve for curve in rigs.curves_of(ob) if "Hand.L" in curve.data_path)
    locked.lock = True
    mute(ob, "Arm.L", "Arm.R")
    hands = [ob.pose.bones[f"Hand.{side}"] for side in ("L", "R")]
    before = [np.array(hand.location) for hand in hands]
    for side in SIDES:
        ob.pose.bones[f"Arm.{side}.0"].rotation_quaternion = (0.9, 0.3, 0.1, 0.2)
    rigs.updated()
    press(bpy.ops.pose.chain_ik_snap_target, use_keys=True)
    assert "Arm.L: The F-curve 'Location' of 'Hand.L' is locked" in "".join(capfd.readouterr())
    assert np.array_equal(hands[0].location, before[0])
    np.testing.assert_allclose(rigs.tail(ob, "Arm.R.1"), rigs.head(ob, "Hand.R"), atol=1e-5)
    assert not np.allclose(hands[1].location, before[1], atol=0.01)


@pytest.mark.parametrize("button", [switch, snap])
@pytest.mark.parametrize("gravity", [0.0, 1.0])
def test_a_pose_that_gravity_will_bend_is_reported(button, gravity, capfd):
    ob, _, chain = make_pulled(gravity=gravity)

    def play() -> np.ndarray:
        return rigs.pose(ob, rigs.change(ob.chain_ik.chains[0], mute=False))

    rigs.change(chain, mute=True)
    rigs.turn_bones(ob, 0, 0.3, ("Bone.2",))
    posed = rigs.pose(ob, rigs.updated())
    press(button)
    expected = "Warning: Gravity bends Chain out of this pose: to keep the pose, set Gravity to 0."
    assert warnings(capfd) == ([expected] if gravity else [])
    live = play()
    assert (np.abs(live - posed).max() > 100.0 * TOLERANCE) == bool(gravity)
    # A live chain starts from the same pose as before.
    press(snap)
    assert warnings(capfd) == []
    np.testing.assert_allclose(play(), live, atol=TOLERANCE)
