"""FOLLOW in a scene: chains dragged by tip or root, each playback the same, the pose restored."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.core import Lead
from tests.blender.setups import rigs, scaled_rigs
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects
from tests.blender.setups.sliding_rigs import locations
from tests.core.solvers.test_follow import follow
from tests.helpers import make_rng

bake = bpy.ops.pose.chain_ik_bake
COUNT, LAST = 6, 24
REACH = float(COUNT)
# Distance: the rounding of float32 poses on a chain of this length.
TOLERANCE = 1e-6 * REACH


@pytest.fixture(autouse=True)
def short_scene(empty_scene):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    scene.frame_set(1)


def swim(frame, last=LAST):
    """Return the target's place at a frame: a winding path from the tip's place at frame 1."""
    time = (frame - 1.0) / (last - 1.0)
    return (2.0 * np.sin(5.0 * time), 3.0 * time + np.sin(7.0 * time), 6.0 + 4.0 * time)


def make_tail(name="Tail", *, last=LAST, is_still=False, **settings):
    """Return a selected rig of six bones, and its target, which swims unless `is_still`."""
    modes, parent = settings.pop("modes", "QUATERNION"), settings.pop("parent", "")
    ob = rigs.make_armature(name)
    if parent:
        rigs.add_bones(ob, [(0.3, 0, -1), (0, 0.2, -0.2)], prefix=parent)
    rigs.add_bones(ob, rigs.zigzag(COUNT), modes=modes, parent=f"{parent}.0" if parent else "")
    target = rigs.make_empty(f"{name} Target", swim(1))
    if not is_still:
        rigs.key(target, "location", {frame: swim(frame, last) for frame in range(1, last + 1)})
    rigs.add_chain(ob, f"Bone.{COUNT - 1}", target, solver="FOLLOW", chain_count=COUNT, **settings)
    select_objects(active=ob)
    return ob, target


def drag(points, place):
    """Return the joints (n + 1, 3) after the core has dragged them to a place."""
    return follow(points[:, :, None], np.array(place)[None, :, None])[:, :, 0]


def joints(ob, depsgraph=None):
    return scaled_rigs.joints(ob, [f"Bone.{i}" for i in range(COUNT)], depsgraph)


def lengths(points):
    return np.linalg.norm(np.diff(points, axis=-2), axis=-1)


def play(ob, frames=range(1, LAST + 1)):
    return np.array([joints(ob, rigs.go_to(frame)) for frame in frames])


@pytest.mark.parametrize("lead", ["TIP", "ROOT"])
@pytest.mark.parametrize("bend", [np.pi, 0.4])
def test_a_chain_is_dragged_through_the_frames_as_the_core_drags_it(lead, bend):
    ob, _ = make_tail(follow_lead=lead, max_bend=bend)
    shown = play(ob)
    # Limited bends amplify the rounding of float32.
    tolerance = 30 * TOLERANCE if bend == np.pi else 2e-3 * REACH
    expected = rigs.zigzag(COUNT)[:, :, None]
    for frame, pose in zip(range(1, LAST + 1), shown, strict=True):
        place = np.array(swim(frame))[None, :, None]
        expected = follow(expected, place, Lead(lead), bend)
        np.testing.assert_allclose(pose, expected[:, :, 0], atol=tolerance)
        np.testing.assert_allclose(pose[-1 if lead == "TIP" else 0], swim(frame), atol=TOLERANCE)
    errors = lengths(shown) - lengths(rigs.zigzag(COUNT))
    assert np.abs(errors).max() < TOLERANCE
    assert not locations(ob)[1:].any()
    chain = ob.chain_ik.chains[0]
    assert chain.status.startswith("Reached")
    assert chain.residual < TOLERANCE


def test_a_jump_starts_from_the_stored_pose_and_a_few_frames_left_out_do_not():
    ob, _ = make_tail()
    play(ob, range(1, 10))
    after_jump = play(ob, [20])[0]
    np.testing.assert_allclose(after_jump, drag(rigs.zigzag(COUNT), swim(20)), atol=10 * TOLERANCE)
    back = play(ob, [15])[0]
    np.testing.assert_allclose(back, drag(rigs.zigzag(COUNT), swim(15)), atol=10 * TOLERANCE)
    whole = play(ob)
    skipping = play(ob, [1, 4, 7, 10])
    np.testing.assert_allclose(skipping[-1], whole[9], atol=0.05 * REACH)
    assert np.abs(skipping[-1] - play(ob, [10])[0]).max() < TOLERANCE
    assert np.abs(whole[9] - play(ob, [24, 10])[-1]).max() > 0.05


def test_frames_evaluated_ahead_for_motion_blur_do_not_change_the_motion():
    ob, _ = make_tail()
    plain, blurred = play(ob), []
    for frame in range(1, LAST + 1):
        for shutter in (frame - 0.25, frame + 0.25, frame):
            depsgraph = rigs.go_to(shutter)
        blurred.append(joints(ob, depsgraph))
    # The difference comes from the target's path between the frames, which is curved.
    np.testing.assert_allclose(np.array(blurred), plain, atol=2e-4 * REACH)


@pytest.mark.parametrize("is_gradual", [False, True])
def test_time_stretching_shows_the_same_motion_slowly_and_starts_it_once(is_gradual):
    first, last = 5, 20
    ob, target = make_tail()
    for curve in rigs.curves_of(target):
        rigs.set_each(curve.keyframe_points, interpolation="LINEAR")
    if is_gradual:
        chain = ob.chain_ik.chains[0]
        chain.solver, chain.force.use_gradual, chain.force.ease = "FORCE", True, 0.3
    scene = bpy.context.scene
    scene.frame_start = first
    rigs.go_to(last)
    plain = play(ob, range(first, last + 1))
    scene.frame_start, scene.render.frame_map_new = 2 * first, 200
    slow = play(ob, range(2 * first, 2 * last + 1))
    np.testing.assert_allclose(slow[::2], plain, atol=1e-3 * REACH)
    np.testing.assert_array_equal(play(ob, range(2 * first, 2 * last + 1)), slow)


def test_frames_without_any_movement_are_not_a_jump():
    ob, target = make_tail(is_still=True)
    for place in (swim(8), swim(16)):
        rigs.change(target, location=place)
    start = joints(ob)
    for frame in range(2, 20):
        rigs.go_to(frame)
    target.location = swim(18)
    after = joints(ob, rigs.go_to(20))
    np.testing.assert_allclose(after, drag(start, swim(18)), atol=30 * TOLERANCE)


def test_a_chain_dragged_by_hand_goes_on_from_its_last_pose_and_at_rest_nothing_moves():
    ob, target = make_tail(is_still=True)
    rigs.go_to(5)
    expected = joints(ob)[:, :, None]
    for seed in range(6):
        rigs.change(target, location=np.array(target.location) + make_rng(seed).normal(size=3))
        expected = follow(expected, np.array(target.location)[None, :, None])
        np.testing.assert_allclose(joints(ob), expected[:, :, 0], atol=30 * TOLERANCE)
    rigs.assert_stays(ob, target)


@pytest.mark.parametrize(
    ("is_local", "inherited"), [(True, "FULL"), (False, "NONE"), (False, "ALIGNED")]
)
def test_below_a_parent_that_moves_turns_and_scales_the_tip_is_at_its_target(is_local, inherited):
    ob, target = make_tail(parent="Above")
    ob.data.bones["Bone.0"].use_local_location = is_local
    ob.data.bones["Bone.0"].inherit_scale = inherited
    ob.scale, ob.location, ob.rotation_euler = (1.5, -0.7, 1.1), (1, 2, 3), (0.4, 0.2, 1.0)
    ob.pose.bones["Above.0"].scale = (1.0, 1.3, 0.8)
    path = 'pose.bones["Above.0"].rotation_quaternion'
    rigs.key(ob, path, {1: (1, 0, 0, 0), LAST: (1, 0.5, -0.2, 0.4)})
    for frame in range(1, LAST + 1):
        depsgraph = rigs.go_to(frame)
        gap = rigs.tail(ob, "Bone.5", depsgraph) - rigs.position(target, depsgraph)
        np.testing.assert_allclose(gap, 0.0, atol=5 * TOLERANCE)


def test_keyed_bones_start_from_their_keys_and_go_on_from_their_last_pose():
    ob, _ = make_tail()
    ob.chain_ik.chains[0].mute = True
    rigs.go_to(1)
    rigs.key_bones(ob, frames=(1, 9))
    rigs.key(ob, 'pose.bones["Bone.0"].location', {1: (0.5, 0.2, -0.3), 9: (0.0, 0.0, 0.0)})
    rigs.go_to(1)
    expected = joints(ob)[:, :, None]
    ob.chain_ik.chains[0].mute = False
    motion = play(ob)
    for frame, shown in zip(range(1, 6), motion, strict=False):
        expected = follow(expected, np.array(swim(frame))[None, :, None])
        np.testing.assert_allclose(shown, expected[:, :, 0], atol=30 * TOLERANCE)
    np.testing.assert_array_equal(play(ob), motion)


@pytest.mark.parametrize(
    ("way", "value"), [("mute", True), ("remove", None), ("solver", "NEWTON"), ("restore", None)]
)
def test_the_stored_pose_is_restored_with_its_location(way, value):
    ob, _ = make_tail(is_still=True)
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, mute=True)
    ob.pose.bones["Bone.0"].location = (0.3, -0.2, 0.1)
    rigs.turn_bones(ob, seed=3)
    before, start = rigs.rotations(ob), locations(ob)
    rigs.change(chain, mute=False)
    rigs.change(chain.target, location=(4.0, 1.0, 2.0))
    assert np.abs(locations(ob) - start).max() > 0.5
    rigs.release_chain(ob, way, value)
    np.testing.assert_allclose(locations(ob), start, atol=1e-7)
    if way != "solver":
        assert rigs.rotations(ob) == before
    else:
        assert "location" not in chain.stored_pose


def test_influence_shows_a_share_of_the_motion_and_the_chain_goes_on_from_the_whole():
    influence = 0.5
    whole, _ = make_tail("Whole")
    part, _ = make_tail("Part", influence=influence)
    for _ in rigs.each_frame(range(1, 12)):
        np.testing.assert_allclose(
            locations(part)[0], influence * locations(whole)[0], atol=30 * TOLERANCE
        )
    rigs.assert_stays(part)
    assert part.chain_ik.chains[0].status.startswith("Part of the way")


def test_once_influence_is_full_the_pose_is_that_of_full_influence_from_the_start():
    """A chain at its target is not dragged again: the whole motion is remembered."""
    ends = []
    for influence in (1.0, 0.5):
        name = f"Tail {influence}"
        ob, target = make_tail(name, is_still=True, influence=influence, use_anchor=True)
        rigs.change(target, location=(1.0, 1.0, 3.0))
        rigs.change(ob.chain_ik.chains[0], influence=1.0)
        assert ob.chain_ik.chains[0].status.startswith("Reached")
        ends.append(joints(ob))
    np.testing.assert_allclose(ends[1], ends[0], atol=10 * TOLERANCE)


def test_solve_once_drags_the_chain_and_its_root_if_that_can_be_dragged():
    ob, target = make_tail(is_still=True)
    rigs.change(ob.chain_ik.chains[0], mute=True)
    target.location = (3.0, 1.0, 5.0)
    select_bones(ob, ["Bone.5"], target)
    expected = drag(joints(ob), target.location)
    press(bpy.ops.pose.chain_ik_solve, solver="FOLLOW")
    np.testing.assert_allclose(joints(ob), expected, atol=10 * TOLERANCE)
    message = refusal(bpy.ops.pose.chain_ik_solve, solver="FOLLOW", chain_count=3)
    assert "clear Connected" in message


@pytest.mark.parametrize("influence", [1.0, 0.5])
def test_undo_and_a_saved_file_go_on_from_the_present_pose(influence, tmp_path):
    ob, target = make_tail(is_still=True, influence=influence)
    for place in ((3.0, 1.0, 5.0), (3.0, 4.0, 5.0)):
        rigs.change(target, location=place)
    before = joints(ob)
    bpy.ops.ed.undo_push(message="dragged")
    rigs.change(target, location=(-3.0, -4.0, 2.0))
    bpy.ops.ed.undo_push(message="dragged on")
    bpy.ops.ed.undo()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(joints(bpy.data.objects["Tail"]), before, atol=10 * TOLERANCE)
    reopen(tmp_path / "tail.blend")
    bpy.context.view_layer.update()
    np.testing.assert_allclose(joints(bpy.data.objects["Tail"]), before, atol=10 * TOLERANCE)


def test_a_bake_shows_the_live_motion_and_a_second_one_gives_the_same_keys():
    ob, _ = make_tail(max_bend=0.4)
    live = play(ob)
    keys = []
    for _ in rigs.each_frame((9, 1)):
        press(bake)
        np.testing.assert_allclose(play(ob), live, atol=TOLERANCE)
        np.testing.assert_allclose(play(ob, range(LAST, 0, -1)), live[::-1], atol=TOLERANCE)
        curves = rigs.curves_of(ob)
        keys.append([[tuple(point.co) for point in curve.keyframe_points] for curve in curves])
        assert len(curves) == 4 * COUNT + 3
        # The second bake starts from the pose without keys.
        ob.animation_data_clear()
        rigs.set_each(ob.pose.bones, location=(0, 0, 0), rotation_quaternion=(1, 0, 0, 0))
        ob.chain_ik.chains[0].mute = False
    assert keys[0] == keys[1]
