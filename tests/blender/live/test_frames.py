"""Chains and other animation over time: frames in any order, and renders."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.keying.playing import preserve_frame
from tests.blender.setups import rigs, ties
from tests.blender.setups.keyed_limbs import read_by, strip_of
from tests.blender.setups.renders import reading_engine, render_frames
from tests.blender.setups.selecting import press, select_objects
from tests.helpers import make_rng

FRAMES = (1, 16)
SWING = {1: (0.7, 0.3, 1.2), 8: (-0.6, 0.9, 0.8), 16: (0.2, -0.7, 1.4)}


@pytest.mark.parametrize(
    ("mode", "influence", "start_from", "is_nla"),
    [
        ("QUATERNION", 0.4, "KEYED", False),
        ("XYZ", 0.0, "KEYED", False),
        ("AXIS_ANGLE", 0.4, "KEYED", False),
        ("ZYX", 1.0, "REST", False),
        ("QUATERNION", 0.0, "KEYED", True),
        ("QUATERNION", 1.0, "KEYED", True),
    ],
)
def test_animated_bones_start_from_what_curves_and_nla_give_unless_from_rest(
    mode, influence, start_from, is_nla
):
    ob = rigs.make_rig(modes=mode)
    rigs.key_bones(ob)
    if is_nla:
        strip_of(ob).influence = 0.6
        rigs.key_bones(ob, seed=9, frames=(1, 16))
        ob.animation_data.action_blend_type = "COMBINE"
    target = rigs.make_empty()
    rigs.key(target, "location", SWING)
    free = rigs.link(ob.copy())
    settings = {"influence": influence, "start_from": start_from}
    rigs.add_chain(ob, "Bone.1", target, **settings)
    for frame in (16, 1, 11.5):
        twin = rigs.make_rig(name="Twin", modes=mode)
        rigs.go_to(frame)
        for bone, keyed in zip(twin.pose.bones, free.pose.bones, strict=True):
            name = rigs.rotation_property(keyed)
            if start_from == "KEYED":
                setattr(bone, name, getattr(keyed, name))
        rigs.add_chain(twin, "Bone.1", target, **settings)
        bpy.context.view_layer.update()
        rigs.assert_same_pose(ob, twin)
        if influence == 0.0:
            rigs.assert_same_pose(ob, free)
        bpy.data.objects.remove(twin)


def test_where_a_bone_is_keyed_on_one_axis_its_others_start_from_the_stored_pose():
    ob = rigs.make_rig(modes="XYZ")
    rigs.turn_bones(ob)
    pose = tuple(ob.pose.bones["Bone.0"].rotation_euler)
    ob.keyframe_insert('pose.bones["Bone.0"].rotation_euler', index=2, frame=1)
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(), influence=0.0)
    ob.pose.bones["Bone.0"].rotation_euler[2] = 0.9
    ob.keyframe_insert('pose.bones["Bone.0"].rotation_euler', index=2, frame=11)
    for frame in rigs.each_frame((1, 11)):
        euler = ob.pose.bones["Bone.0"].rotation_euler
        np.testing.assert_allclose(euler, (*pose[:2], pose[2] if frame == 1 else 0.9), atol=1e-6)


def make_busy_scene() -> bpy.types.Object:
    """Return a rig with two levels of chains, keyed bones, keyed settings and moving targets."""
    ob = rigs.make_rig(modes=("XYZ", "AXIS_ANGLE"))
    rigs.add_bones(ob, ((0, 0, 2), (0.3, 0.1, 2.7), (0, 0, 3.4)), prefix="Limb", parent="Bone.1")
    rigs.turn_bones(ob)
    for frame in (1, 16):
        rigs.key_rotations(ob, frame, ["Bone.0", "Limb.1"])
        rigs.turn_bones(ob, seed=3)
    target, limb_target = rigs.make_empty(), rigs.make_empty("Limb Target")
    rigs.key(target, "location", SWING)
    rigs.key(limb_target, "location", {1: (0.9, 0.5, 2.0), 16: (-0.9, 0.1, 1.9)})
    rigs.add_chain(ob, "Bone.1", target, influence=0.7)
    rigs.add_chain(ob, "Limb.1", limb_target, chain_count=2, solver="CCD")
    rigs.key(ob, "chain_ik.chains[0].influence", {1: 0.5, 16: 1.0})
    rigs.key(ob, "chain_ik.chains[1].use_flip_bend", {1: False, 9: True})
    rigs.key(ob, "chain_ik.chains[1].mute", {1: False, 12: True, 14: False})
    return ob


@pytest.mark.parametrize("way", ["keyed", "driven"])
def test_scrubbing_renders_and_bakes_show_what_playing_shows(way, tmp_path):
    ob, scene = make_busy_scene(), bpy.context.scene
    stored = rigs.rotations(ob)["Limb.0"]
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    for i, name in enumerate(("influence", "mute")):
        path, values = f"chain_ik.chains[1].{name}", {1: i, 3: 0, 8: 1 - i, 12: i, 16: 0}
        if way == "driven":
            rigs.key(ob, f'["{name}"]', values)
            read_by(ob, path, ob, f'["{name}"]')
        else:
            rigs.key(ob, path, values)
    frames = range(FRAMES[0], FRAMES[-1] + 1)
    expected = {frame: rigs.pose(ob, rigs.go_to(frame)) for frame in frames}
    for frame in (*make_rng(0).permutation(frames), 9.25):
        pose = rigs.pose(ob, rigs.go_to(float(frame)))
        ob.update_tag()
        np.testing.assert_array_equal(rigs.pose(ob, rigs.updated()), pose)
        np.testing.assert_array_equal(pose, expected.get(frame, pose), f"frame {frame}")
    # At these frames the chain is idle: its bones have their stored pose.
    for _ in rigs.each_frame((1, 3, 12)):
        np.testing.assert_allclose(rigs.rotations(ob)["Limb.0"], stored, atol=1e-6)
    rigs.go_to(8)
    assert np.abs(np.subtract(rigs.rotations(ob)["Limb.0"], stored)).max() > 0.05
    rendered = render_frames(tmp_path, lambda graph: rigs.pose(ob, graph), (FRAMES[0], FRAMES[-1]))
    for frame, pose in expected.items():
        np.testing.assert_allclose(rendered[frame], pose, atol=4e-6, err_msg=f"frame {frame}")
    rigs.go_to(12)
    select_objects(active=ob)
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    assert all(chain.mute for chain in ob.chain_ik.chains)
    for frame in make_rng(5).permutation(frames):
        pose = rigs.pose(ob, rigs.go_to(int(frame)))
        np.testing.assert_allclose(pose, expected[frame], atol=4e-6, err_msg=f"frame {frame}")


@pytest.mark.parametrize("place", [0, 99])
@pytest.mark.parametrize("event", ["frame_change_post", "depsgraph_update_post"])
def test_what_handlers_of_others_move_is_followed_in_the_same_update(event, place, tmp_path):
    ob, target = rigs.make_arm()
    leader = rigs.make_empty("Leader")
    rigs.key(leader, "location", SWING)

    def follow_leader(_scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
        location = leader.evaluated_get(graph).location
        if location != target.location:
            target.location = location

    def read(graph: bpy.types.Depsgraph) -> float:
        assert np.abs(rigs.position(target, graph) - rigs.position(leader, graph)).max() < 1e-6
        return np.linalg.norm(rigs.tail(ob, "Bone.1", graph) - rigs.position(target, graph))

    handlers = getattr(bpy.app.handlers, event)
    handlers.insert(place, follow_leader)
    if event == "frame_change_post":
        gaps = [read(rigs.go_to(frame)) for frame in (5, 9.5)]
        gaps += render_frames(tmp_path, read, (3, 6), (-0.25,)).values()
    else:
        gaps = [read(rigs.change(leader, location=place)) for place in SWING.values()]
    handlers.remove(follow_leader)
    assert max(gaps) < rigs.TARGET_GAP
    modules = [handler.__module__.rpartition(".")[2] for handler in handlers]
    # The overlay must see an update before chains add to it.
    assert modules.index("overlay_cache") < modules.index("handlers")


def test_handlers_of_others_find_the_pose_of_their_frame_in_channels_and_evaluated():
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SWING)
    channels, gaps = {}, []

    def note(scene: bpy.types.Scene, graph: bpy.types.Depsgraph) -> None:
        channels[scene.frame_current] = rigs.rotations(ob)
        gaps.append(np.abs(rigs.tail(ob, "Bone.1", graph) - rigs.position(target, graph)).max())

    bpy.app.handlers.frame_change_post.append(note)
    for frame in rigs.each_frame((3, 9)):
        assert channels[frame] == rigs.rotations(ob)
    bpy.app.handlers.frame_change_post.remove(note)
    assert channels[3] != channels[9]
    assert max(gaps) < rigs.TARGET_GAP


@pytest.mark.parametrize("is_off", [False, True])
def test_outside_a_strip_and_with_nla_switched_off_the_start_is_the_stored_pose(is_off):
    ob = rigs.make_rig()
    rigs.key_bones(ob, frames=(1, 6))
    rigs.set_each(ob.pose.bones, rotation_quaternion=(1, 0, 0, 0))
    strip_of(ob, start=10).extrapolation = "NOTHING"
    ob.animation_data.use_nla = not is_off
    twin, target = rigs.make_rig(name="Twin"), rigs.make_empty()
    for owner in (ob, twin):
        rigs.add_chain(owner, "Bone.1", target, influence=0.5)
    for frame in rigs.each_frame((2, 3, 4, 12, 3, 20, 4)):
        if is_off or frame != 12:
            rigs.assert_same_pose(ob, twin)


@pytest.mark.parametrize("idle", [{"mute": True}, {"influence": 0.0}])
def test_a_chain_that_ends_as_the_frame_changes_leaves_bones_where_nla_has_them(idle):
    """Some frames are in a strip that moves and scales bones, others before it: the stored pose."""
    ob = rigs.make_rig()
    for bone in ob.pose.bones:
        for name, count in (("rotation_quaternion", 4), ("scale", 3)):
            values = {at: [1.0 + 0.02 * at, *[0.01 * at] * (count - 1)] for at in (10, 20)}
            rigs.key(bone, name, values)
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


RENDERED = (3, 7)
SHORT_SWING = {1: (0.7, 0.3, 1.2), 5: (-0.6, 0.9, 0.8), 9: (0.2, -0.7, 1.4)}
SUBFRAMES = (0.5, -0.25, 0.25)
"""Offsets that motion blur evaluates before the frame itself."""
BYSTANDER = 'pose.bones["Bystander.0"]'


def read_in_viewport(read, frames=RENDERED, subframes=()) -> dict[float, object]:
    """Return what `read` returns at frames, by frame; then restore the present frame."""
    scene = bpy.context.scene
    present = scene.frame_current
    readings = {}
    for frame in range(frames[0], frames[1] + 1):
        for offset in (*subframes, 0.0):
            readings[frame + offset] = read(rigs.go_to(frame + offset))
    scene.frame_set(present)
    return readings


def make_busy_rig() -> bpy.types.Object:
    """Return a rig with a swinging arm, and a bystander bone with every kind of animation."""
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SHORT_SWING)
    rigs.add_bones(ob, ((1, 0, 0), (1, 0, 1)), prefix="Bystander", modes="XYZ")
    bone = ob.pose.bones["Bystander.0"]
    rigs.add_bones(ob, ((2, 0, 0), (2, 0, 1)), prefix="Free")
    ob.pose.bones["Free.0"].rotation_quaternion = (0.8, 0.6, 0, 0)
    ob["hand"], ob["strength"] = 3.5, 0.0
    bone["grip"] = 0.0
    ob["pair"] = (0.0, 0.0)
    ties.constrain(bone, "LIMIT_LOCATION", use_max_x=True, max_x=-1.0)
    rigs.key(ob, '["strength"]', {1: 0.0, 9: 1.0})
    rigs.key(ob, BYSTANDER + '["grip"]', {1: 0.0, 9: 2.0})
    rigs.key(ob, BYSTANDER + '.constraints["Limit Location"].influence', {1: 0.0, 9: 1.0})
    for name, end in (("location", 0.8), ("rotation_euler", 0.7), ("scale", 1.5)):
        start = 1.0 if name == "scale" else 0.0
        rigs.key(ob, f"{BYSTANDER}.{name}", {1: (start,) * 3, 9: (end, 0.2, -end)})
        rigs.key(ob, name, {1: (start,) * 3, 9: (end * 0.2, start, 0.5 * end)})
    driver = ob.driver_add('["pair"]', 1).driver
    variable = driver.variables.new()
    variable.targets[0].id, variable.targets[0].data_path = ob, '["strength"]'
    driver.expression = f"{variable.name} * 2"
    return ob


READINGS = {
    "a keyed bone": lambda ob: np.array(ob.pose.bones["Bystander.0"].matrix),
    "a keyed custom property": lambda ob: ob["strength"],
    "a keyed custom property of a bone": lambda ob: ob.pose.bones["Bystander.0"]["grip"],
    "a driven custom property": lambda ob: ob["pair"][1],
    "a keyed constraint": lambda ob: ob.pose.bones["Bystander.0"].constraints[0].influence,
    "the keyed object": lambda ob: np.array(ob.matrix_world),
    "a bone that nobody has keyed": lambda ob: np.array(ob.pose.bones["Free.0"].matrix),
    "a property that nobody has keyed": lambda ob: ob["hand"],
}


@pytest.mark.parametrize("is_in_nla", [False, True])
def test_chains_and_other_animation_move_in_renders_with_motion_blur_and_nothing_after(
    is_in_nla, tmp_path
):
    ob = make_busy_rig()
    rigs.key(ob, "chain_ik.chains[0].mute", {1: False, 4: True, 6: False})
    if is_in_nla:
        strip_of(ob)

    def read(depsgraph):
        values = [reading(ob.evaluated_get(depsgraph)) for reading in READINGS.values()]
        values.append(rigs.pose(ob, depsgraph))
        return np.concatenate([np.ravel(value) for value in values])

    moves = np.ptp(list(read_in_viewport(read, frames=(1, 9)).values()), axis=0)
    assert (moves > 0.01).sum() >= len(READINGS)
    assert ob["hand"] == 3.5
    assert ob.pose.bones["Free.0"].rotation_quaternion[1] == pytest.approx(0.6)
    bpy.context.scene.render.use_motion_blur = True
    expected = read_in_viewport(read, subframes=SUBFRAMES)
    bpy.context.scene.frame_set(2)
    before = (
        read(bpy.context.view_layer.depsgraph),
        [np.ravel(get(ob)) for get in READINGS.values()],
    )
    rendered = render_frames(tmp_path, read, RENDERED, SUBFRAMES)
    assert bpy.context.scene.frame_current == 2
    after = read(bpy.context.view_layer.depsgraph), [np.ravel(get(ob)) for get in READINGS.values()]
    np.testing.assert_allclose(after[0], before[0], atol=3e-6)
    np.testing.assert_allclose(np.hstack(after[1]), np.hstack(before[1]), atol=3e-6)
    for frame, value in expected.items():
        np.testing.assert_allclose(rendered[frame], value, atol=3e-6, err_msg=f"frame {frame}")


def test_scene_strips_render_what_chains_do(tmp_path):
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SHORT_SWING)
    shot = bpy.context.scene
    shot.camera = rigs.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    cut = bpy.data.scenes.new("Cut")
    editor = cut.sequence_editor_create()
    (editor.strips if hasattr(editor, "strips") else editor.sequences).new_scene("Shot", shot, 1, 1)
    cut.frame_start, cut.frame_end = RENDERED
    cut.render.filepath = str(tmp_path / "cut")
    for scene in (cut, shot):
        scene.render.resolution_x = scene.render.resolution_y = 4

    def gap(depsgraph):
        return rigs.tail(ob, "Bone.1", depsgraph) - rigs.position(target, depsgraph)

    with reading_engine(gap, ()) as gaps:
        shot.render.engine, before = "CHAIN_IK_LOOKING", shot.render.engine
        bpy.ops.render.render(animation=True, scene="Cut")
        shot.render.engine = before
    assert sorted(gaps) == list(range(RENDERED[0], RENDERED[1] + 1))
    np.testing.assert_allclose(list(gaps.values()), 0.0, atol=rigs.TARGET_GAP)


def test_a_removed_armature_keeps_no_other_from_being_restored_after_frames_were_played():
    removed, _ = rigs.make_arm()
    ob, _ = rigs.make_arm(name="Other")
    rigs.change(ob.chain_ik.chains[0], mute=True)
    before = rigs.rotations(ob)
    with preserve_frame(bpy.context.scene, is_reading=True):
        bpy.data.objects.remove(removed)
        ob.pose.bones["Bone.0"].rotation_quaternion = (0.0, 1.0, 0.0, 0.0)
    assert rigs.rotations(ob) == before
