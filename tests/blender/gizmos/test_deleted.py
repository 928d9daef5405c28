"""Targets and poles that were deleted, which chains keep in the file: not shown, not moved."""

from __future__ import annotations

from functools import partial

import bpy
import numpy as np
import pytest

from tests.blender.gizmos.grabbed import started_by_gizmos
from tests.blender.overlay.viewports import in_viewport, strokes
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, refusal, select_objects

snap_target = bpy.ops.pose.chain_ik_snap_target
MOVES = {
    "target": partial(bpy.ops.pose.chain_ik_move_target, location=(1.0, 1.0, 1.0)),
    "pole": partial(bpy.ops.pose.chain_ik_move_pole, location=(1.0, 1.0, 1.0)),
}
RINGS = {word: f"pose.chain_ik_move_{word}" for word in MOVES}
DIAL = "pose.chain_ik_turn_pole"


def make_arm(*, is_live: bool = True) -> bpy.types.Object:
    """Return an armature object in pose mode with a chain that has a target and a pole."""
    ob, _ = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.3, -2.0, 1.0))
    bpy.context.scene.chain_ik.use_live = is_live
    rigs.enter(ob, "POSE")
    rigs.updated()
    return ob


def followed(ob: bpy.types.Object, word: str) -> bpy.types.Object:
    chain = ob.chain_ik.chains[0]
    return chain.target if word == "target" else chain.pole_target


def delete(ob: bpy.types.Object, word: str) -> bpy.types.Object:
    """Delete the target or the pole as a person does, and go back to the pose."""
    gone = followed(ob, word)
    bpy.ops.object.mode_set(mode="OBJECT")
    select_objects(active=gone)
    press(bpy.ops.object.delete)
    select_objects(active=ob)
    rigs.enter(ob, "POSE")
    rigs.updated()
    # The chain keeps it in the file.
    assert followed(ob, word) == gone
    return gone


@pytest.mark.parametrize(("word", "is_live"), [("target", True), ("pole", False)])
def test_what_was_deleted_is_not_shown_nor_moved_nor_snapped_until_it_is_in_the_scene_again(
    word, is_live
):
    ob = make_arm(is_live=is_live)
    moved, other = followed(ob, word), "pole" if word == "target" else "target"
    for name in ("hide_viewport", "hide_render"):
        setattr(moved, name, True)
        rigs.updated()
        assert RINGS[word] in started_by_gizmos()
        setattr(moved, name, False)
    rigs.updated()
    assert started_by_gizmos() == {*RINGS.values(), DIAL}
    gone = delete(ob, word)
    assert started_by_gizmos() == {RINGS[other]}
    places = [rigs.position(followed(ob, each)) for each in MOVES]
    sentence = f"The {word} '{gone.name}' is no longer in the scene: choose another {word}."
    assert refusal(MOVES[word]) == sentence
    for match in (snap_target, partial(bpy.ops.pose.chain_ik_switch, to="IK")):
        assert f"'{gone.name}' is no longer in the scene" in refusal(match)
    np.testing.assert_array_equal([rigs.position(followed(ob, each)) for each in MOVES], places)
    press(MOVES[other])
    rigs.link(gone)
    rigs.updated()
    assert started_by_gizmos() == {*RINGS.values(), DIAL}
    press(MOVES[word])


@pytest.mark.parametrize("is_live", [True, False])
def test_the_overlay_draws_no_line_to_what_was_deleted(is_live):
    with in_viewport():
        ob = make_arm(is_live=is_live)
        lines = len(strokes().thin.join()[0])
        pole = len(strokes().areas.points)
        assert lines
        assert pole
    delete(ob, "pole")
    with in_viewport():
        found = strokes()
        assert not found.areas.points
        assert 0 < len(found.thin.join()[0]) < lines
    delete(ob, "target")
    with in_viewport():
        found = strokes()
        assert not found.thin.points
        assert not found.words
    with in_viewport():
        ob.chain_ik.chains[0].target = rigs.make_empty("Other")
        rigs.updated()
        assert strokes().thin.points
        bpy.context.scene.collection.objects.unlink(followed(ob, "target"))
        bpy.context.view_layer.update()
        assert not strokes().thin.points
