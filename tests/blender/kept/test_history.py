"""Undo, redo, save, load, edit mode, scene switches: chains go on, or say why they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import numpy as np
import pytest

from blender_ik_addon.rig.live import live
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import reopen
from tests.blender.setups.warm_rigs import chain, named
from tests.helpers import assert_positions_close

NEAR, FAR = (0.6, 0.5, 1.2), (-0.7, 0.4, 0.8)


def assert_follows() -> None:
    rigs.assert_reaches(named("Rig"), "Bone.1", named("Rig Target"), rigs.updated())


def push(step: str) -> None:
    bpy.context.view_layer.update()
    bpy.ops.ed.undo_push(message=step)


def make_arm_with_history(**settings: object) -> None:
    rigs.make_arm(NEAR, **settings)
    push("made")


def assert_shows(pose: np.ndarray) -> None:
    """Check the pose that undo has left, without another update."""
    rigs.assert_same_pose(named("Rig"), pose)


def test_undo_and_redo_of_targets_and_settings_bring_each_pose_back():
    make_arm_with_history()
    poses = [rigs.pose(named("Rig"))]
    steps = (
        lambda: setattr(named("Rig Target"), "location", FAR),
        lambda: setattr(chain(), "influence", 0.3),
        lambda: setattr(chain(), "bone", "Bone.0"),
        lambda: setattr(chain(), "mute", True),
    )
    for step in steps:
        step()
        push("changed")
        poses.append(rigs.pose(named("Rig")))
        assert np.abs(poses[-1] - poses[-2]).max() > 1e-3
    for pose in poses[-2::-1]:
        bpy.ops.ed.undo()
        assert_shows(pose)
    for pose in poses[1:]:
        bpy.ops.ed.redo()
        assert_shows(pose)
    for _ in steps:
        bpy.ops.ed.undo()
    assert_follows()


def test_undo_of_adding_a_chain_leaves_the_pose_of_before():
    ob = rigs.make_rig()
    rigs.turn_bones(ob)
    rigs.make_empty("Rig Target")
    push("posed")
    before = rigs.rotations(ob)
    rigs.add_chain(named("Rig"), "Bone.1", named("Rig Target"))
    push("added")
    assert rigs.rotations(named("Rig")) != before
    bpy.ops.ed.undo()
    assert len(named("Rig").chain_ik.chains) == 0
    assert rigs.rotations(named("Rig")) == before
    assert not named("Rig").pose.bones["Bone.1"].constraints
    bpy.ops.ed.redo()
    assert_follows()
    chain().mute = True
    bpy.context.view_layer.update()
    assert rigs.rotations(named("Rig")) == before


def test_a_saved_file_opens_with_its_pose_and_goes_on(tmp_path):
    _ob, target = rigs.make_arm()
    rigs.key(target, "location", {1: NEAR, 11: FAR})
    bpy.context.scene.frame_set(6)
    before = rigs.pose(named("Rig"))
    reopen(tmp_path / "saved.blend")
    assert_shows(before)
    assert_follows()
    assert chain().status.startswith("Reached")
    for frame in (9, 2):
        bpy.context.scene.frame_set(frame)
        assert_follows()


@pytest.mark.parametrize("was_live", [True, False])
def test_a_file_in_which_the_target_was_moved_without_a_solve_is_solved_on_load(was_live, tmp_path):
    _ob, target = rigs.make_arm()
    target.hide_render = True
    bpy.context.view_layer.update()
    bpy.context.scene.chain_ik.use_live = was_live
    target.location = FAR
    for _ in range(2):
        reopen(tmp_path / "saved.blend")
    if not was_live:
        assert not bpy.context.scene.chain_ik.use_live
        bpy.context.scene.chain_ik.use_live = True
    assert_positions_close(rigs.tail(named("Rig"), "Bone.1"), FAR, rigs.REACHED)
    # Its anchor is not made twice.
    assert len(named("Rig").pose.bones["Bone.1"].constraints) == 1


def test_nothing_is_written_while_a_rig_is_in_edit_mode_and_a_deleted_tip_is_said():
    ob, target = rigs.make_arm(NEAR)
    before = rigs.rotations(ob)
    rigs.enter(ob, "EDIT")
    target.location = FAR
    bpy.context.view_layer.update()
    assert rigs.rotations(ob) == before
    bpy.ops.object.mode_set(mode="OBJECT")
    assert_follows()
    rigs.delete_bones(ob, "Bone.1")
    bpy.context.view_layer.update()
    assert chain().status == "Bone 'Bone.1' no longer exists: choose another tip."


def test_a_scene_switched_away_and_back_goes_on():
    rigs.make_arm(NEAR)
    first = bpy.context.scene
    second = bpy.data.scenes.new("Second")
    bpy.context.window.scene = second
    named("Rig Target").location = FAR
    bpy.context.view_layer.update()
    bpy.context.window.scene = first
    assert_follows()


@contextmanager
def noted_events(*names: str) -> Iterator[list[str]]:
    """Note which events Blender tells of, each after the add-on has answered it."""
    handlers = {name: getattr(bpy.app.handlers, name) for name in names}
    events: list[str] = []
    noting = {name: lambda *_given, name=name: events.append(name) for name in names}
    for name, handler in noting.items():
        handlers[name].append(handler)
    yield events
    for name, handler in noting.items():
        handlers[name].remove(handler)


@pytest.mark.parametrize("is_own_target", [False, True])
def test_nothing_is_evaluated_inside_undo_and_redo(is_own_target):
    make_arm_with_history()
    if is_own_target:
        ob = named("Rig")
        rigs.add_bones(ob, ((0.6, 0.5, 1.2), (0.6, 0.5, 1.5)), prefix="Control")
        chain().target, chain().subtarget = ob, "Control.0"
        push("own target")
    named("Rig").location = (0.1, 0.2, 0.3)
    push("moved")
    for step, event in ((bpy.ops.ed.undo, "undo_post"), (bpy.ops.ed.redo, "redo_post")):
        with noted_events(event, "depsgraph_update_post") as events:
            step()
        assert events == [event, "depsgraph_update_post"]
        assert chain().status == "Reached"


def test_undo_in_edit_mode_leaves_what_is_said_of_chains():
    make_arm_with_history()
    bpy.ops.mesh.primitive_cube_add()
    push("cube")
    bpy.ops.object.mode_set(mode="EDIT")
    push("edit mode")
    bpy.ops.mesh.select_all(action="SELECT")
    push("select")
    bpy.ops.transform.translate(value=(1, 0, 0))
    push("move")
    bpy.ops.ed.undo()
    assert bpy.context.object.mode == "EDIT"
    assert chain().status == "Reached"
    named("Rig Target").location = FAR
    assert_follows()
    assert chain().status == "Reached"


def test_undo_has_the_scene_solved_once(monkeypatch):
    make_arm_with_history()
    named("Rig Target").location = FAR
    push("moved")
    solved, original = [], live.update_chains
    monkeypatch.setattr(
        live, "update_chains", lambda *given: solved.append(given) or original(*given)
    )
    bpy.ops.ed.undo()
    rigs.updated()
    assert len(solved) == 1
    assert_follows()
