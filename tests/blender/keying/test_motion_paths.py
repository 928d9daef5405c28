"""Update Motion Paths: Blender's paths show what chains do; a warning tells when they do not."""

import bpy
import numpy as np
import pytest

from blender_ik_addon.properties.records import live_rigs
from blender_ik_addon.rig.keying.motion_paths import fill, frames_to_play, traced
from blender_ik_addon.rig.reading.refusals import RigError
from tests.blender.interface.drawn import draw, names
from tests.blender.keying.test_bake_options import make_rope
from tests.blender.setups import rigs, ties
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects, state

update = bpy.ops.pose.chain_ik_motion_paths
LAST = 12
SWING = {1: (0.7, 0.3, 1.2), 6: (-0.6, 0.9, 0.8), LAST: (0.2, -0.7, 1.4)}
# Tolerance of float32 paths and poses, as a share of the chain's length.
PATH_TOLERANCE = 1e-6
WRONG = "Motion paths are wrong"


def make_arm(**settings):
    """Return an arm with an animated separate bone, and its animated target."""
    ob, target = rigs.make_arm(**settings)
    rigs.key(target, "location", SWING)
    rigs.add_bones(ob, ((0.5, 0, 1), (0.5, 0.5, 1)), prefix="Beside")
    rigs.key(ob, 'pose.bones["Beside.0"].location', {1: (0, 0, 0), LAST: (0.3, 0.1, 0.4)})
    ob.location, ob.rotation_euler, ob.scale = (1, 2, 3), (0.3, -0.4, 0.5), (1.2, 0.8, 1.1)
    bpy.context.scene.frame_set(3)
    return ob, target


def calculate(ob, end="TAILS", bones=None, **settings):
    """Press Blender's button for the given bones, by default all."""
    select_bones(ob, bones or [bone.name for bone in ob.pose.bones])
    press(bpy.ops.pose.paths_calculate, bake_location=end, **settings)


def points(path):
    return np.array([tuple(point.co) for point in path.points])


def paths_of(ob):
    return {bone.name: points(bone.motion_path) for bone in ob.pose.bones if bone.motion_path}


def truth(ob, end="TAILS", frames=range(1, LAST + 1)):
    """Return the ends of bones by name, world space, shape (f, 3), frame by frame."""
    place_of = {"TAILS": rigs.tail, "HEADS": rigs.head}[end]
    rows = {bone.name: [] for bone in ob.pose.bones}
    for frame in frames:
        depsgraph = rigs.go_to(frame)
        for name, places in rows.items():
            places.append(place_of(ob, name, depsgraph))
    return {name: np.array(places) for name, places in rows.items()}


def assert_shows(ob, expected):
    paths = paths_of(ob)
    assert paths
    for name, places in paths.items():
        np.testing.assert_allclose(places, expected[name], atol=4 * PATH_TOLERANCE, err_msg=name)


def warning():
    """Return the labels of the sidebar's main panel."""
    bpy.context.view_layer.update()
    labels = [item.name for item in draw(only="Chain IK") if item.kind == "label"]
    return " ".join(labels)


@pytest.mark.parametrize("end", ["TAILS", "HEADS"])
def test_paths_show_what_chains_do_where_blender_s_own_do_not(end):
    ob, _ = make_arm()
    expected = truth(ob, end)
    rigs.go_to(3)
    calculate(ob, end)
    blender = paths_of(ob)
    moved = "Bone.1" if end == "HEADS" else "Bone.0"
    assert np.abs(blender[moved] - expected[moved]).max() > 0.05
    np.testing.assert_allclose(blender["Beside.0"], expected["Beside.0"], atol=4 * PATH_TOLERANCE)
    # The path of an object that hangs on a chain is filled as well.
    prop = rigs.make_empty("Prop", (0, 0, 0.2), parent=ob, parent_bone="Bone.1")
    rigs.enter(ob, "OBJECT")
    select_objects(prop, active=ob)
    press(bpy.ops.object.paths_calculate)
    places = [rigs.position(prop, rigs.go_to(frame)) for frame in range(1, LAST + 1)]
    assert np.abs(points(prop.motion_path) - places).max() > 0.05
    press(update)
    assert_shows(ob, expected)
    np.testing.assert_allclose(points(prop.motion_path), places, atol=4 * PATH_TOLERANCE)
    np.testing.assert_allclose(points(ob.motion_path), [ob.location] * LAST, atol=PATH_TOLERANCE)


@pytest.mark.parametrize("kind", ["PERSP", "ORTHO"])
def test_paths_in_camera_space_are_where_blender_has_them(kind):
    ob, _ = make_arm()
    scene = bpy.context.scene
    lens = bpy.data.cameras.new("Camera")
    lens.type, lens.shift_x, lens.sensor_fit = kind, 0.1, "VERTICAL"
    scene.render.pixel_aspect_x, scene.render.resolution_y = 1.5, 1500
    scene.camera = rigs.link(bpy.data.objects.new("Camera", lens))
    rigs.key(scene.camera, "location", {1: (5, 0, 9), LAST: (3, 1, 8)})
    rigs.key(scene.camera, "rotation_euler", {1: (0.4, 0, 0), LAST: (0.1, 1, -1)})
    ob.pose.animation_visualization.motion_path.use_camera_space_bake = True
    select_objects(active=ob)
    press(bpy.ops.pose.chain_ik_bake, mute=True)
    calculate(ob)
    expected = paths_of(ob)
    assert np.ptp(expected["Bone.1"], axis=0).max() > 0.1
    ob.chain_ik.chains[0].mute = False
    press(update)
    assert_shows(ob, expected)


def test_each_path_keeps_its_frames_and_what_is_cleared_meanwhile_is_left_alone():
    ob, _ = make_arm()
    calculate(ob, bones=["Bone.1"], range="MANUAL")
    settings = ob.pose.animation_visualization.motion_path
    settings.frame_start, settings.frame_end = -3, 5
    calculate(ob, bones=["Bone.0"], range="MANUAL")
    frames = {
        bone.name: range(bone.motion_path.frame_start, bone.motion_path.frame_end)
        for bone in ob.pose.bones
        if bone.motion_path
    }
    calculate(ob, bones=["Beside.0"])
    work = in_steps(ob)
    next(work)
    bpy.ops.pose.paths_clear(only_selected=True)
    list(work)
    assert paths_of(ob).keys() == frames.keys()
    for name, path in paths_of(ob).items():
        expected = truth(ob, frames=frames[name])[name]
        np.testing.assert_allclose(path, expected, atol=4 * PATH_TOLERANCE, err_msg=name)


def test_chains_that_go_on_start_at_the_first_frame_of_the_scene():
    ob, _ = make_rope()
    played = truth(ob)
    settings = ob.pose.animation_visualization.motion_path
    settings.frame_start, settings.frame_end = 5, 9
    calculate(ob, range="MANUAL")
    press(update)
    for name, path in paths_of(ob).items():
        np.testing.assert_allclose(path, played[name][4:9], atol=4 * PATH_TOLERANCE, err_msg=name)


@pytest.mark.parametrize("is_stopped", [False, True])
def test_frame_pose_and_what_chains_remember_are_as_before_also_where_it_is_stopped(is_stopped):
    ob, _ = make_rope()
    expected = rigs.play(ob, range(1, 8))
    # Calculated first: Blender 4.2 runs handlers on these frames, although its paths ignore them.
    calculate(ob)
    rigs.play(ob, range(1, 6))
    before, pose, paths = state(), rigs.pose(ob), paths_of(ob)
    if is_stopped:
        work = in_steps(ob)
        for _ in range(4):
            next(work)
        work.close()
        rigs.updated()
        assert all((path == paths[name]).all() for name, path in paths_of(ob).items())
    else:
        press(update)
        assert not all((path == paths[name]).all() for name, path in paths_of(ob).items())
    assert bpy.context.scene.frame_current == 5
    assert state() == before
    np.testing.assert_array_equal(rigs.pose(ob), pose)
    continued = rigs.play(ob, (6, 7))
    np.testing.assert_allclose(continued, expected[5:], atol=PATH_TOLERANCE)


def test_the_sidebar_warns_of_blender_s_own_paths_also_after_undo_renaming_and_loading(tmp_path):
    bpy.ops.ed.undo_push(message="empty")
    ob, _ = make_arm()
    select_objects(active=ob)
    assert WRONG not in warning()
    assert "pose.chain_ik_motion_paths" not in names(draw(), "operator")
    calculate(ob)
    # Only at the present frame Blender's paths are right: they show the chain as it is now.
    assert WRONG in warning()
    assert "pose.chain_ik_motion_paths" in names(draw(), "operator")
    press(update)
    bpy.ops.ed.undo()
    assert WRONG in warning()
    bpy.ops.ed.redo()
    assert WRONG not in warning()
    bpy.context.object.pose.bones["Bone.1"].name = "Forearm"
    assert WRONG not in warning()
    reopen(tmp_path / "paths.blend")
    assert WRONG not in warning()
    bpy.ops.pose.paths_update()
    assert WRONG in warning()


def test_the_warning_is_about_bones_that_chains_move():
    ob, _ = make_arm()
    calculate(ob, bones=["Beside.0"])
    assert WRONG not in warning()
    rigs.add_bones(ob, ((0, 0, 2), (0, 0.2, 2)), prefix="Hand", parent="Bone.1")
    calculate(ob, bones=["Hand.0"])
    assert WRONG in warning()
    chain = ob.chain_ik.chains[0]
    chain.influence = 0.0
    assert WRONG not in warning()
    rigs.key(ob, "chain_ik.chains[0].influence", {1: 0.0, LAST: 1.0})
    rigs.go_to(1)
    assert WRONG in warning()
    chain.mute = True
    assert WRONG not in warning()
    chain.mute = False
    bpy.context.scene.chain_ik.use_live = False
    assert WRONG not in warning()


def calculate_all(ob):
    if ob.pose:
        calculate(ob)
        rigs.enter(ob, "OBJECT")
    select_objects(active=ob)
    press(bpy.ops.object.paths_calculate)


def hang_empty(ob):
    """Return a grandchild of a bone that a chain poses."""
    child = rigs.make_empty("Prop")
    child.parent = rigs.make_empty("Between", parent=ob, parent_bone="Bone.1")
    return child


def hang_rig(ob):
    """Return an armature with a bone that follows one that a chain poses."""
    follower = rigs.make_rig(name="Sleeve")
    ties.constrain(follower.pose.bones["Bone.0"], "COPY_LOCATION", target=ob, subtarget="Bone.1")
    return follower


@pytest.mark.parametrize("hang", [hang_empty, hang_rig])
def test_the_warning_is_about_whatever_hangs_on_chains_whatever_is_selected(hang):
    ob, _ = make_arm()
    follower = hang(ob)
    calculate_all(follower)
    for active in (follower, ob):
        select_objects(active=active)
        assert WRONG in warning()
    select_objects(active=follower)
    press(update)
    assert WRONG not in warning()
    follower.parent = None
    for bone in follower.pose.bones if follower.pose else ():
        for constraint in list(bone.constraints):
            bone.constraints.remove(constraint)
    calculate_all(follower)
    assert WRONG not in warning()


def test_where_there_is_nothing_to_fill_it_says_what_to_do():
    calculate(rigs.make_rig(name="Other"))
    assert refusal(update).startswith("No armature of this scene has a chain")
    bpy.ops.pose.paths_clear(only_selected=False)
    ob, _ = make_arm()
    select_objects(active=ob)
    assert "calculate paths first" in refusal(update)
    calculate(ob)
    bpy.context.scene.chain_ik.use_live = False
    assert "Live is off" in refusal(update)


def in_steps(ob):
    """Return the steps of an update, which a window runs one by one."""
    scene, graph = bpy.context.scene, bpy.context.evaluated_depsgraph_get()
    paths = traced([ob], graph)
    frames = frames_to_play(scene, paths, live_rigs(scene))
    return fill(scene, paths, [ob], frames, bpy.context.evaluated_depsgraph_get)


@pytest.mark.parametrize("is_removed", [False, True])
def test_an_update_is_refused_after_its_objects_have_changed(is_removed):
    ob, _ = make_arm()
    calculate(ob)
    rigs.enter(ob, "OBJECT")
    work = in_steps(ob)
    next(work)
    if is_removed:
        bpy.data.objects.remove(ob)
    else:
        ob.pose.bones["Bone.1"].name = "Other"
    with pytest.raises(RigError, match="changed during the update"):
        next(work)
