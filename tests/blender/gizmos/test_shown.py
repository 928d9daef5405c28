"""Which gizmos are shown, where they stand, what each starts, and none of what is deleted."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Vector

from blender_ik_addon.preferences.colours import colours
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from tests.blender.gizmos import grabbed
from tests.blender.overlay.viewports import in_viewport as in_drawn_viewport
from tests.blender.overlay.viewports import strokes
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.saved_rigs import linked
from tests.blender.setups.selecting import press, refusal, select_objects

MOVE_TARGET, MOVE_POLE = "pose.chain_ik_move_target", "pose.chain_ik_move_pole"
TURN_POLE, SET_LIMIT = "pose.chain_ik_turn_pole", "pose.chain_ik_set_limit"
POLE = (0.3, -2.0, 1.0)


def make_arm(*, is_live: bool = True) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    ob, _ = rigs.make_arm()
    ob.chain_ik.chains[0].pole_target = rigs.make_empty("Pole", POLE)
    bpy.context.scene.chain_ik.use_live = is_live
    rigs.enter(ob, "POSE")
    rigs.updated()
    return ob, ob.chain_ik.chains[0]


def gizmos_of(operator: str) -> list[grabbed.FakeGizmo]:
    return [each for each in grabbed.shown_gizmos() if operator in each.started]


def test_what_a_solver_does_not_use_is_not_shown_and_refused_with_what_to_do():
    _ob, chain = make_arm()
    assert grabbed.started_by_gizmos() == {MOVE_TARGET, MOVE_POLE, TURN_POLE}
    chain.solver = "FOLLOW"
    rigs.updated()
    assert grabbed.started_by_gizmos() == {MOVE_TARGET}
    before = rigs.position(chain.pole_target)
    for operator, value in (("move_pole", {"location": (1.0, 1.0, 1.0)}), ("turn_pole", {})):
        press = getattr(bpy.ops.pose, f"chain_ik_{operator}")
        text = refusal(press, **value)
        assert text == "The solver of this chain uses no pole: choose another solver first."
    chain.pole_target = None
    assert "uses no pole" in refusal(bpy.ops.pose.chain_ik_pole_add)
    np.testing.assert_array_equal(rigs.position(bpy.data.objects["Pole"]), before)


def test_rings_stand_on_what_they_move_and_a_chain_that_leaves_its_bones_alone_has_none():
    ob, chain = make_arm()
    give(chain, "Bone.1", "HINGE_X", x=(-20, 50))
    ob.data.bones.active = ob.data.bones["Bone.1"]
    rigs.updated()
    shown = {MOVE_TARGET, MOVE_POLE, TURN_POLE, SET_LIMIT}
    for operator in shown:
        # What is dragged stays in sight meanwhile.
        found = gizmos_of(operator)
        assert found
        assert all(each.use_draw_modal for each in found), operator
    drawn = colours(bpy.context)
    for operator in (MOVE_POLE, TURN_POLE):
        assert gizmos_of(operator)[0].color == pytest.approx(drawn["pole"]) != drawn["limit"]
    for operator, moved in ((MOVE_TARGET, chain.target), (MOVE_POLE, chain.pole_target)):
        (ring,) = gizmos_of(operator)
        np.testing.assert_allclose(ring.matrix_basis.translation, rigs.position(moved), atol=1e-6)
    for setting, value, usual in (("mute", True, False), ("influence", 0.0, 1.0)):
        assert grabbed.started_by_gizmos() == shown
        setattr(chain, setting, value)
        rigs.updated()
        assert grabbed.started_by_gizmos() == set()
        setattr(chain, setting, usual)
        rigs.updated()
    # The diamond of another chain.
    rigs.add_chain(ob, "Bone.0", None)
    ob.chain_ik.active_index = 0
    rigs.updated()
    assert grabbed.started_by_gizmos() == grabbed.GRABBED
    with grabbed.in_viewport() as context:
        context.space_data.show_gizmo = False
        assert not grabbed.started_by_gizmos()
        context.space_data.show_gizmo = True


@pytest.mark.parametrize("kind", ["BALL", "CONE", "ELBOW_X"])
def test_each_dot_moves_the_end_that_it_stands_on(kind):
    ob, chain = make_arm()
    give(chain, "Bone.1", kind, x=(-20, 50), y=(-30, 60), z=(-10, 70))
    ob.data.bones.active = ob.data.bones["Bone.1"]
    rigs.updated()
    wanted = {
        ("XYZ"[end.axis], "MAX" if end.is_max else "MIN"): end.point
        for end in find_ends(ob, chain_spec(chain), "Bone.1")
    }
    dots = gizmos_of(SET_LIMIT)
    assert len(dots) == len(wanted) >= 4
    for dot in dots:
        asked = dot.started[SET_LIMIT]
        assert asked.bone == "Bone.1"
        place = wanted.pop((asked.turn, asked.end))
        np.testing.assert_allclose(dot.matrix_basis.translation, place, atol=1e-6)


def test_a_handle_is_hit_where_it_is_and_nowhere_else():
    make_arm()
    with grabbed.in_viewport() as context:
        handles = grabbed.FakeGizmo("VIEW3D_GT_chain_ik_handles")
        handles.show({1: Vector((100.0, 50.0)), 3: Vector((110.0, 50.0))}, 1.0)
        for mouse, part in (((98, 52), 1), ((108, 50), 3), ((104, 51), 1), ((100, 70), -1)):
            assert handles.test_select(context, mouse) == part
        # Twice as large with the interface.
        handles.show({1: Vector((100.0, 50.0))}, 2.0)
        assert handles.test_select(context, (100, 62)) == 1
        handles.show({}, 1.0)
        assert handles.test_select(context, (100, 50)) == -1


def test_linked_rigs_show_none_and_overrides_of_them_do(tmp_path: Path):
    make_arm()
    bpy.ops.object.mode_set(mode="OBJECT")
    of_library, _ = linked(tmp_path / "library.blend", "Rig", "Rig Target")
    select_objects(active=of_library)
    assert not grabbed.started_by_gizmos()
    own = of_library.override_create(remap_local_usages=True)
    select_objects(active=own)
    assert MOVE_TARGET in grabbed.started_by_gizmos()


snap_target = bpy.ops.pose.chain_ik_snap_target
MOVES = {
    "target": partial(bpy.ops.pose.chain_ik_move_target, location=(1.0, 1.0, 1.0)),
    "pole": partial(bpy.ops.pose.chain_ik_move_pole, location=(1.0, 1.0, 1.0)),
}
RINGS = {"target": MOVE_TARGET, "pole": MOVE_POLE}


def followed(ob: bpy.types.Object, word: str) -> bpy.types.Object:
    chain = ob.chain_ik.chains[0]
    return chain.target if word == "target" else chain.pole_target


def delete(ob: bpy.types.Object, word: str) -> bpy.types.Object:
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


def drawn() -> tuple[int, bool]:
    """Return how many lines to targets and poles the overlay draws, and whether a pole's plane."""
    with in_drawn_viewport():
        found = strokes()
        assert not found.words
        return len(found.thin.points), bool(found.areas.points)


@pytest.mark.parametrize(("word", "is_live"), [("target", True), ("pole", False)])
def test_what_was_deleted_is_not_shown_nor_moved_nor_snapped_until_it_is_in_the_scene_again(
    word, is_live
):
    ob = make_arm(is_live=is_live)[0]
    moved, other = followed(ob, word), "pole" if word == "target" else "target"
    for name in ("hide_viewport", "hide_render"):
        setattr(moved, name, True)
        rigs.updated()
        assert RINGS[word] in grabbed.started_by_gizmos()
        setattr(moved, name, False)
    rigs.updated()
    assert grabbed.started_by_gizmos() == {*RINGS.values(), TURN_POLE}
    lines = drawn()
    assert lines[1]
    gone = delete(ob, word)
    assert grabbed.started_by_gizmos() == {RINGS[other]}
    # Nor does the overlay draw a line to it.
    assert drawn()[0] < lines[0]
    assert drawn()[1] == (word == "target")
    places = [rigs.position(followed(ob, each)) for each in MOVES]
    sentence = f"The {word} '{gone.name}' is no longer in the scene: choose another {word}."
    assert refusal(MOVES[word]) == sentence
    for match in (snap_target, partial(bpy.ops.pose.chain_ik_switch, to="IK")):
        assert f"'{gone.name}' is no longer in the scene" in refusal(match)
    np.testing.assert_array_equal([rigs.position(followed(ob, each)) for each in MOVES], places)
    press(MOVES[other])
    rigs.link(gone)
    rigs.updated()
    assert grabbed.started_by_gizmos() == {*RINGS.values(), TURN_POLE}
    assert drawn() == lines
    press(MOVES[word])
