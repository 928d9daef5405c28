"""The pose that NLA strips give bones of a chain: known while the chain shows another one."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.keyed_limbs import strip_of
from tests.blender.setups.renders import render_frames
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.selecting import press, select_bones

FRAME, OTHER_FRAME = 9, 4
TOLERANCE = 1e-5
HALF = {"influence": 0.5}


def make_played(**settings: object) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Return an arm that a strip plays and a chain moves at FRAME, and a copy without the chain."""
    ob = rigs.make_rig()
    ob.name = "Rig"
    rigs.key_bones(ob)
    strip_of(ob)
    free = rigs.link(ob.copy())
    rigs.go_to(1)
    rigs.follow(ob, "Bone.1", (0.6, 0.5, 1.2), **settings)
    select_bones(ob, ["Bone.1"])
    rigs.go_to(FRAME)
    assert np.abs(rigs.pose(ob) - rigs.pose(free)).max() > 0.1
    return ob, free


def rig() -> bpy.types.Object:
    return bpy.data.objects["Rig"]


def strip() -> bpy.types.NlaStrip:
    return rig().animation_data.nla_tracks[0].strips[0]


def shown() -> np.ndarray:
    bpy.context.view_layer.update()
    return rigs.pose(rig(), bpy.context.view_layer.depsgraph)


def assert_is_pose_of_frame() -> None:
    """Check that setting the present frame again changes nothing, and neither does a tag."""
    before = shown()
    rig().update_tag()
    np.testing.assert_allclose(shown(), before, atol=TOLERANCE)
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    np.testing.assert_allclose(shown(), before, atol=TOLERANCE)


RELEASES = {
    "mute": ("mute", True),
    "influence": ("influence", 0.0),
    "restore": ("restore",),
    "remove": ("remove",),
}


@pytest.mark.parametrize("way", RELEASES)
def test_bones_that_a_chain_releases_show_what_the_strip_plays_at_this_frame(way):
    ob, free = make_played()
    rigs.release_chain(ob, *RELEASES[way])
    rigs.assert_same_pose(ob, free)


def test_a_render_of_an_armature_hidden_in_viewports_shows_what_the_strip_plays(tmp_path):
    ob, free = make_played()
    expected = rigs.pose(free)
    rigs.key(ob, "chain_ik.chains[0].influence", {OTHER_FRAME: 1.0, FRAME: 0.0})
    rigs.go_to(OTHER_FRAME)
    rigs.change(ob, hide_viewport=True)
    rendered = render_frames(tmp_path, partial(rigs.pose, ob), (OTHER_FRAME, FRAME))
    np.testing.assert_allclose(rendered[FRAME], expected, atol=TOLERANCE)


def test_a_bone_that_a_shorter_chain_leaves_shows_what_the_strip_plays_at_this_frame():
    ob, free = make_played()
    rigs.change(ob.chain_ik.chains[0], chain_count=1)
    root = ob.data.bones.find("Bone.0")
    np.testing.assert_allclose(rigs.pose(ob)[root], rigs.pose(free)[root], atol=TOLERANCE)


SNAPS = {
    "snap target": lambda: press(bpy.ops.pose.chain_ik_snap_target),
    "switch": lambda: press(bpy.ops.pose.chain_ik_switch, to="IK"),
}


@pytest.mark.parametrize("button", SNAPS)
def test_targets_of_a_muted_chain_snap_to_what_the_strip_plays_at_this_frame(button):
    ob, free = make_played()
    chain = ob.chain_ik.chains[0]
    rigs.change(chain, mute=True)
    SNAPS[button]()
    rigs.change(chain, mute=False)
    np.testing.assert_allclose(rigs.tail(ob, "Bone.1"), rigs.tail(free, "Bone.1"), atol=1e-4)


def move_target(_path: Path) -> None:
    rigs.shift(bpy.data.objects["Target"], x=0.1)


def undo(path: Path) -> None:
    bpy.ops.ed.undo_push(message="before")
    move_target(path)
    bpy.ops.ed.undo_push(message="moved")
    bpy.ops.ed.undo()


def undo_a_frame(_path: Path) -> None:
    bpy.ops.ed.undo_push(message="before")
    rigs.go_to(OTHER_FRAME)
    bpy.ops.ed.undo_push(message="frame")
    bpy.ops.ed.undo()


def switch_live_at_another_frame(_path: Path) -> None:
    rigs.go_to(OTHER_FRAME)
    rigs.change(bpy.context.scene.chain_ik, use_live=False)
    rigs.go_to(FRAME)
    rigs.change(bpy.context.scene.chain_ik, use_live=True)


def edit_at_another_frame(_path: Path) -> None:
    rigs.go_to(OTHER_FRAME)
    rigs.enter(rig(), "EDIT")
    rigs.go_to(FRAME)
    rigs.enter(rig(), "POSE")


def load(path: Path) -> None:
    reopen(path / "played.blend")


def tag_action(_path: Path) -> None:
    strip().action.update_tag()
    rig().update_tag()


# Ways to keep chains from being solved while True is given, and to have them solved again.
HIDING: dict[str, Callable[[bool], object]] = {
    "hidden": lambda is_hidden: rigs.change(rig(), hide_viewport=is_hidden),
    "in edit mode": lambda is_edited: rigs.enter(rig(), "EDIT" if is_edited else "POSE"),
    "not live": lambda is_off: rigs.change(bpy.context.scene.chain_ik, use_live=not is_off),
    "at rest": lambda is_at_rest: rigs.change(
        rig().data, pose_position="REST" if is_at_rest else "POSE"
    ),
}


def hide_and_show(state: str, _path: Path) -> None:
    for is_hidden in (True, False):
        HIDING[state](is_hidden)
        bpy.context.view_layer.update()


WAYS = [undo, undo_a_frame, edit_at_another_frame, switch_live_at_another_frame, load, tag_action]
WAYS += [partial(hide_and_show, state) for state in HIDING]


@pytest.mark.parametrize("way", WAYS)
def test_the_same_frame_is_the_same_pose_whatever_blender_reads_anew(way, tmp_path):
    make_played(**HALF)
    before = shown()
    way(tmp_path)
    np.testing.assert_allclose(shown(), before, atol=TOLERANCE)
    assert_is_pose_of_frame()


def move_keys() -> None:
    action = strip().action
    bags = [action]
    if hasattr(action, "layers"):
        bags = list(action.layers[0].strips[0].channelbags)
    for curve in bags[0].fcurves:
        curve.keyframe_points[1].co.y += 0.3


def fade_strip() -> None:
    strip().use_animated_influence = True
    strip().fcurves.find("influence").keyframe_points.insert(1, 0.4)


def add_strip() -> None:
    rigs.key_bones(rig(), seed=9)
    strip_of(rig())


EDITS = {
    "keys": move_keys,
    "strip moved": lambda: setattr(strip(), "frame_start", 3.0),
    "strip scaled": lambda: setattr(strip(), "scale", 2.0),
    "strip muted": lambda: setattr(strip(), "mute", True),
    "strip reversed": lambda: setattr(strip(), "use_reverse", True),
    "strip faded": fade_strip,
    "strip added": add_strip,
    "track muted": lambda: setattr(rig().animation_data.nla_tracks[0], "mute", True),
    "NLA off": lambda: setattr(rig().animation_data, "use_nla", False),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_of_keys_or_strips_and_its_undo_show_the_pose_of_their_animation(edit):
    make_played(**HALF)
    bpy.ops.ed.undo_push(message="made")
    before = shown()
    EDITS[edit]()
    after = shown()
    assert np.abs(after - before).max() > 0.01
    bpy.ops.ed.undo_push(message="edited")
    move_target(Path())
    bpy.ops.ed.undo_push(message="moved")
    for step, expected in (("undo", after), ("undo", before), ("redo", after)):
        getattr(bpy.ops.ed, step)()
        np.testing.assert_allclose(shown(), expected, atol=TOLERANCE, err_msg=step)
    assert_is_pose_of_frame()


@pytest.mark.parametrize("edit", ["keys", "strip moved"])
@pytest.mark.parametrize("state", HIDING)
def test_an_edit_of_keys_or_strips_counts_also_while_no_chain_is_solved(state, edit):
    _, free = make_played(**HALF)
    bpy.data.objects.remove(free)  # otherwise Blender leaves a hidden object with the former keys
    HIDING[state](True)
    EDITS[edit]()
    bpy.context.view_layer.update()
    HIDING[state](False)
    assert_is_pose_of_frame()


def test_bones_added_in_edit_mode_do_not_give_others_the_pose_of_their_neighbours():
    ob, _ = make_played(chain_count=2, **HALF)
    with rigs.editing(ob) as bones:
        bones.new("First").tail = (0.0, 0.0, 1.0)
        bones["Bone.0"].parent = bones["First"]
    assert list(ob.data.bones.keys()) == ["First", "Bone.0", "Bone.1"]
    assert_is_pose_of_frame()


def test_handlers_that_change_objects_at_a_new_frame_leave_the_pose_of_the_frame():
    make_played(**HALF)
    free = rigs.make_empty("Free")
    frames = (FRAME, OTHER_FRAME, FRAME)
    before = rigs.play(rig(), frames)

    def move(scene: bpy.types.Scene, _depsgraph: object = None) -> None:
        if free.location.z != scene.frame_current:
            free.location.z = scene.frame_current
            rig().location.x = 0.0

    handlers = (bpy.app.handlers.frame_change_post, bpy.app.handlers.depsgraph_update_post)
    for of_event in handlers:
        of_event.append(move)
    try:
        after = rigs.play(rig(), frames)
    finally:
        for of_event in handlers:
            of_event.remove(move)
    np.testing.assert_allclose(after, before, atol=TOLERANCE)
