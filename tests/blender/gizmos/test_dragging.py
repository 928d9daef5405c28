"""Gizmos: which are shown where, the operators that they start, and drags and clicks on them."""

import math
from functools import partial
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Vector

from blender_ik_addon.operators.drags.dragging import SNAP
from blender_ik_addon.preferences.colours import colours
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.gizmos import grabbed
from tests.blender.gizmos.test_placing import add_control
from tests.blender.overlay import viewports
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import add_joint
from tests.blender.setups.saved_rigs import linked
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0))
TARGET, POLE = (0.3, 0.2, 1.6), (0.2, -2.0, 1.0)
# Largest errors, in pixels and radians: float32 is this coarse in a view that is 18 m away.
MAX_PIXELS, MAX_RADIANS = 0.2, 0.01
OFFSETS = ((20.0, 0.0), (30.0, 15.0), (45.0, -25.0))
LIMIT = {"bone": "Bone.1", "turn": "X", "end": "MAX"}


@pytest.fixture
def chain() -> bpy.types.PropertyGroup:
    """The chain of an arm with a pole, in pose mode, with a limit of its second bone."""
    ob = rigs.make_rig(LIMB)
    chain = rigs.add_chain(ob, "Bone.1", rigs.make_empty("Target", TARGET), solver="NEWTON")
    chain.pole_target = rigs.make_empty("Pole", POLE)
    add_joint(chain, "Bone.1", "HINGE_X", x=(-150, 60))
    rigs.enter(ob, "POSE")
    rigs.updated()
    return chain


def start(name: str, context: bpy.types.Context, chain: bpy.types.PropertyGroup) -> grabbed.Drag:
    if name == "move_target":
        x, y = grabbed.pixel_of(context, rigs.position(chain.target))
        path, settings = [(x, y), *((x + right, y + up) for right, up in OFFSETS)], {}
    elif name == "turn_pole":
        path, settings = ring(context, chain, (0.0, 0.3, 0.6)), {}
    else:
        path, settings = arc(context, chain, (0.0, 0.1, 0.2)), LIMIT
    drag = grabbed.Drag(name, context, path[0], **settings)
    drag.drag_along(path[1:])
    return drag


def ring(
    context: bpy.types.Context, chain: bpy.types.PropertyGroup, turns: tuple[float, ...]
) -> list[grabbed.Pixel]:
    """Return pixels of the dial at angles, counter-clockwise seen from the end of its line."""
    line = pole_axis(chain.id_data, chain_spec(chain))
    first = np.cross(line.direction, (1.0, 0.0, 0.0))
    first /= np.linalg.norm(first)
    second, middle = np.cross(line.direction, first), (line.root + line.end) / 2.0
    points = [middle + first * math.cos(turn) + second * math.sin(turn) for turn in turns]
    return [grabbed.pixel_of(context, point) for point in points]


def arc(
    context: bpy.types.Context, chain: bpy.types.PropertyGroup, turns: tuple[float, ...]
) -> list[grabbed.Pixel]:
    """Return pixels of the max end of the second bone's limit, turned on by angles."""
    ends = find_ends(chain.id_data, chain_spec(chain), "Bone.1")
    (end,) = (limit_end for limit_end in ends if limit_end.is_max)
    return [grabbed.pixel_of(context, point) for point in end.points(end.angle + np.array(turns))]


def values(chain: bpy.types.PropertyGroup) -> tuple[object, ...]:
    return tuple(chain.target.location), chain.pole_angle, chain.joints[0].max_x


def test_the_target_is_under_the_mouse_or_on_an_axis_until_its_key_is_pressed_again(view, chain):
    drag = start("move_target", view, chain)
    place = rigs.position(chain.target)
    assert np.linalg.norm(np.subtract(grabbed.pixel_of(view, place), drag.mouse)) < MAX_PIXELS
    assert np.linalg.norm(place - TARGET) > 0.1
    for along, axis in enumerate("XYZ"):
        drag.send(axis)
        moved = np.abs(rigs.position(chain.target) - TARGET)
        assert moved[along] > 0.01
        np.testing.assert_allclose(np.delete(moved, along), 0.0, atol=1e-6)
        drag.send(axis)
        np.testing.assert_allclose(rigs.position(chain.target), place, atol=1e-6)
    place = rigs.position(chain.target)
    for key, modifier in product("ZX", ("ctrl", "shift", "alt", "oskey")):
        drag.send(key, "PRESS", modifier)
        drag.send(key, "RELEASE", modifier)
        assert drag.context.header.startswith("Moved by ")
        assert "along" not in drag.context.header
    drag.release()
    assert drag.result == {"FINISHED"}
    np.testing.assert_array_equal(rigs.position(chain.target), place)
    # Adjust Last Operation starts from this value.
    np.testing.assert_allclose(drag.location, place, atol=1e-5)


@pytest.mark.parametrize("name", ["move_target", "turn_pole", "set_limit"])
def test_esc_and_the_right_button_restore_everything_and_the_status_bar_says_so(view, chain, name):
    before = values(chain)
    for key, value in (("ESC", "PRESS"), ("RIGHTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
        drag = start(name, view, chain)
        assert values(chain) != before
        assert drag.context.is_handling
        assert "Esc or right click: cancel" in drag.context.status
        assert ("X, Y, Z: along one axis" in drag.context.status) == (name == "move_target")
        assert drag.context.header
        drag.send(key, value)
        assert drag.context.status is None
        assert drag.context.header is None
        if value == "PRESS":
            assert drag.result == {"CANCELLED"}
            assert values(chain) == before


@pytest.mark.parametrize("turns", [(0.0, 0.3, 0.7), (0.0, -0.4, -0.9)])
def test_the_dial_turns_with_the_mouse(view, chain, turns):
    chain.joints.clear()
    path = ring(view, chain, turns)
    drag = grabbed.Drag("turn_pole", view, path[0])
    drag.drag_along(path[1:])
    assert chain.pole_angle == pytest.approx(turns[-1], abs=MAX_RADIANS)
    drag.drag_along(path[-1:], "ctrl")
    steps = math.degrees(chain.pole_angle) / SNAP
    assert steps == pytest.approx(round(steps), abs=1e-5)
    drag.release()
    assert drag.angle == chain.pole_angle


def test_an_end_of_a_limit_follows_the_mouse_until_its_chain_is_gone(view, chain):
    path, before = arc(view, chain, (0.0, 0.2, 0.4)), chain.joints[0].max_x
    drag = grabbed.Drag("set_limit", view, path[0], **LIMIT)
    drag.drag_along(path[1:])
    assert drag.angle == pytest.approx(chain.joints[0].max_x)
    assert drag.angle == pytest.approx(before + 0.4, abs=MAX_RADIANS)
    chain.id_data.chain_ik.chains.clear()
    drag.drag_along(path[:1])
    assert drag.result == {"CANCELLED"}
    assert drag.reports == [
        "The dragged target, pole or chain no longer exists: choose another one."
    ]
    assert drag.context.status is None


def test_a_held_target_stays_and_past_a_limit_it_stops_at_its_last_place(view, chain):
    holder = chain.target.constraints.new("COPY_LOCATION")
    rigs.change(holder, target=rigs.make_empty("Holder", (0.2, 0.1, 1.5)))
    before = values(chain)
    drag = start("move_target", view, chain)
    reason = "stops the target 'Target' from moving there"
    assert reason in drag.context.header
    drag.release()
    assert drag.result == {"CANCELLED"}
    (report,) = drag.reports
    assert reason in report
    assert drag.context.status is None
    assert values(chain) == before
    chain.target.constraints.remove(holder)
    limit = chain.target.constraints.new("LIMIT_LOCATION")
    rigs.change(limit, use_max_z=True, max_z=TARGET[2] + 0.2)
    x, y = grabbed.pixel_of(view, rigs.position(chain.target))
    drag = grabbed.Drag("move_target", view, (x, y))
    drag.drag_along([(x + 10.0, y + 10.0)])
    place = rigs.position(chain.target)
    assert place[2] > TARGET[2] + 0.01
    drag.drag_along([(x + 10.0, y + 200.0)])
    np.testing.assert_array_equal(rigs.position(chain.target), place)
    drag.release()
    assert drag.result == {"FINISHED"}
    np.testing.assert_allclose(drag.location, place, atol=1e-6)
    np.testing.assert_allclose(chain.target.location, place, atol=1e-6)


activate = bpy.ops.pose.chain_ik_activate


def make_arms() -> tuple[bpy.types.Object, bpy.types.Object, str]:
    """Return a rig in pose mode, and its targets: an empty and, of the active chain, a bone."""
    ob, target = rigs.make_arm()
    name = add_control(ob, "", seed=2)
    rigs.add_chain(ob, "Bone.0", ob, subtarget=name)
    select_bone(ob)
    return ob, target, name


def select_bone(ob: bpy.types.Object) -> None:
    select_bones(ob, ["Bone.1"])
    # Selecting has made the chain of the bone active.
    ob.chain_ik.active_index = 1


def selected() -> set[str]:
    if bpy.context.mode == "POSE":
        selection, active = bpy.context.selected_pose_bones, bpy.context.active_pose_bone
    else:
        selection, active = bpy.context.selected_objects, bpy.context.active_object
    return {f"{item.name}{'*' * (item == active)}" for item in selection}


def click(view: bpy.types.Context, place: object, modifier: str = "") -> None:
    drag = grabbed.Drag("move_target", view, grabbed.pixel_of(view, place))
    drag.send("LEFTMOUSE", "RELEASE", modifier)
    assert drag.result == {"CANCELLED"}, drag.reports
    rigs.updated()


def test_a_click_on_a_ring_selects_its_bone_or_object_and_shift_keeps_the_rest(view):
    ob, target, name = make_arms()
    before = rigs.head(ob, name)
    click(view, before)
    assert selected() == {f"{name}*"}
    select_bone(ob)
    click(view, before, "shift")
    assert selected() == {"Bone.1", f"{name}*"}
    click(view, before, "shift")
    assert selected() == {"Bone.1"}
    assert tuple(rigs.head(ob, name)) == tuple(before)
    rigs.enter(ob, "OBJECT")
    ob.chain_ik.active_index = 0
    for modifier, others in (("", set()), ("shift", {"Rig"})):
        select_objects(active=ob)
        click(view, rigs.position(target), modifier)
        assert selected() == {"Rig Target*"} | others
    bpy.context.view_layer.objects.active = ob
    # As in Blender, a selected object becomes the active one first, and is deselected next.
    for expected in ({"Rig", "Rig Target*"}, {"Rig"}):
        click(view, rigs.position(target), "shift")
        assert selected() == expected


def test_a_click_on_a_diamond_selects_the_target_of_its_chain_if_that_can_be_selected():
    ob, target, name = make_arms()
    for extend in (False, True):
        select_bone(ob)
        ob.chain_ik.active_index = 0
        assert activate(index=1, use_extend=extend) == {"FINISHED"}
        assert selected() == {f"{name}*"} | ({"Bone.1"} if extend else set())
        rigs.updated()
        assert ob.chain_ik.active_index == 1
    for mode, index in (("POSE", 0), ("OBJECT", 1)):
        rigs.enter(ob, mode)
        before = selected()
        assert activate(index=index) == {"FINISHED"}
        assert selected() == before
        assert ob.chain_ik.active_index == index
    rigs.enter(ob, "POSE")
    ob.data.bones[name].hide_select = True
    before = selected()
    assert activate(index=1) == {"FINISHED"}
    assert selected() == before
    rigs.enter(ob, "OBJECT")
    target.hide_select = True
    assert activate(index=0) == {"FINISHED"}
    assert selected() == {"Rig*"}
    ob.chain_ik.chains[0].target = None
    assert activate(index=0) == {"FINISHED"}
    assert selected() == {"Rig*"}


MOVE_TARGET, MOVE_POLE = "pose.chain_ik_move_target", "pose.chain_ik_move_pole"
TURN_POLE, SET_LIMIT = "pose.chain_ik_turn_pole", "pose.chain_ik_set_limit"


def make_arm(*, is_live: bool = True) -> tuple[bpy.types.Object, bpy.types.PropertyGroup]:
    ob, _ = rigs.make_arm()
    ob.chain_ik.chains[0].pole_target = rigs.make_empty("Pole", POLE)
    bpy.context.scene.chain_ik.use_live = is_live
    rigs.enter(ob, "POSE")
    rigs.updated()
    return ob, ob.chain_ik.chains[0]


def gizmos_of(operator: str) -> list[grabbed.FakeGizmo]:
    return [gizmo for gizmo in grabbed.shown_gizmos() if operator in gizmo.started]


def test_gizmos_that_a_solver_does_not_use_are_hidden_and_their_operators_refused():
    _ob, chain = make_arm()
    assert grabbed.started_by_gizmos() == {MOVE_TARGET, MOVE_POLE, TURN_POLE}
    rigs.change(chain, solver="FOLLOW")
    assert grabbed.started_by_gizmos() == {MOVE_TARGET}
    before = rigs.position(chain.pole_target)
    for operator, value in (("move_pole", {"location": (1.0, 1.0, 1.0)}), ("turn_pole", {})):
        press = getattr(bpy.ops.pose, f"chain_ik_{operator}")
        text = refusal(press, **value)
        assert text == "The solver of this chain uses no pole: choose another solver first."
    chain.pole_target = None
    assert "uses no pole" in refusal(bpy.ops.pose.chain_ik_pole_add)
    np.testing.assert_array_equal(rigs.position(bpy.data.objects["Pole"]), before)


def test_rings_are_on_the_objects_that_they_move_and_a_chain_without_effect_has_none():
    ob, chain = make_arm()
    add_joint(chain, "Bone.1", "HINGE_X", x=(-20, 50))
    rigs.change(ob.data.bones, active=ob.data.bones["Bone.1"])
    shown = {MOVE_TARGET, MOVE_POLE, TURN_POLE, SET_LIMIT}
    for operator in shown:
        # A gizmo stays visible while it is dragged.
        gizmos = gizmos_of(operator)
        assert gizmos
        assert all(gizmo.use_draw_modal for gizmo in gizmos), operator
    drawn = colours(bpy.context)
    for operator in (MOVE_POLE, TURN_POLE):
        assert gizmos_of(operator)[0].color == pytest.approx(drawn["pole"]) != drawn["limit"]
    for operator, moved in ((MOVE_TARGET, chain.target), (MOVE_POLE, chain.pole_target)):
        (ring,) = gizmos_of(operator)
        np.testing.assert_allclose(ring.matrix_basis.translation, rigs.position(moved), atol=1e-6)
    for setting in ({"mute": True}, {"influence": 0.0}):
        assert grabbed.started_by_gizmos() == shown
        with rigs.changed(chain, **setting):
            assert grabbed.started_by_gizmos() == set()
    # The diamond of another chain.
    rigs.add_chain(ob, "Bone.0", None)
    rigs.change(ob.chain_ik, active_index=0)
    assert grabbed.started_by_gizmos() == grabbed.GIZMO_OPERATORS
    with grabbed.in_viewport() as context:
        context.space_data.show_gizmo = False
        assert not grabbed.started_by_gizmos()


@pytest.mark.parametrize("kind", ["BALL", "CONE", "ELBOW_X"])
def test_a_dot_moves_the_end_of_the_limit_that_it_marks(kind):
    ob, chain = make_arm()
    add_joint(chain, "Bone.1", kind, x=(-20, 50), y=(-30, 60), z=(-10, 70))
    rigs.change(ob.data.bones, active=ob.data.bones["Bone.1"])
    points = {
        ("XYZ"[end.axis], "MAX" if end.is_max else "MIN"): end.point
        for end in find_ends(ob, chain_spec(chain), "Bone.1")
    }
    dots = gizmos_of(SET_LIMIT)
    assert len(dots) == len(points) >= 4
    for dot in dots:
        settings = dot.started[SET_LIMIT]
        assert settings.bone == "Bone.1"
        place = points.pop((settings.turn, settings.end))
        np.testing.assert_allclose(dot.matrix_basis.translation, place, atol=1e-6)


def test_a_handle_is_hit_where_it_is_and_nowhere_else():
    make_arm()
    with grabbed.in_viewport() as context:
        handles = grabbed.FakeGizmo("VIEW3D_GT_chain_ik_handles")
        handles.show({1: Vector((100.0, 50.0)), 3: Vector((110.0, 50.0))}, 1.0)
        for mouse, part in (((98, 52), 1), ((108, 50), 3), ((104, 51), 1), ((100, 70), -1)):
            assert handles.test_select(context, mouse) == part
        # Handles are twice as large if the interface is.
        handles.show({1: Vector((100.0, 50.0))}, 2.0)
        assert handles.test_select(context, (100, 62)) == 1
        handles.show({}, 1.0)
        assert handles.test_select(context, (100, 50)) == -1


def test_linked_rigs_show_no_gizmos_and_their_overrides_do(tmp_path: Path):
    make_arm()
    bpy.ops.object.mode_set(mode="OBJECT")
    of_library, _ = linked(tmp_path / "library.blend", "Rig", "Rig Target")
    select_objects(active=of_library)
    assert not grabbed.started_by_gizmos()
    override = of_library.override_create(remap_local_usages=True)
    select_objects(active=override)
    assert MOVE_TARGET in grabbed.started_by_gizmos()


snap_target = bpy.ops.pose.chain_ik_snap_target
MOVES = {
    "target": partial(bpy.ops.pose.chain_ik_move_target, location=(1.0, 1.0, 1.0)),
    "pole": partial(bpy.ops.pose.chain_ik_move_pole, location=(1.0, 1.0, 1.0)),
}
RINGS = {"target": MOVE_TARGET, "pole": MOVE_POLE}


def object_of(ob: bpy.types.Object, word: str) -> bpy.types.Object:
    chain = ob.chain_ik.chains[0]
    return chain.target if word == "target" else chain.pole_target


def delete(ob: bpy.types.Object, word: str) -> bpy.types.Object:
    removed = object_of(ob, word)
    bpy.ops.object.mode_set(mode="OBJECT")
    select_objects(active=removed)
    press(bpy.ops.object.delete)
    select_objects(active=ob)
    rigs.enter(ob, "POSE")
    rigs.updated()
    # The chain is a user of it, so it stays in the file.
    assert object_of(ob, word) == removed
    return removed


def drawn() -> tuple[int, bool]:
    """Return how many thin pieces the overlay draws, and whether it draws a pole plane."""
    with viewports.in_viewport():
        strokes = viewports.strokes()
        assert not strokes.words
        return len(strokes.thin.points), bool(strokes.areas.points)


@pytest.mark.parametrize(("word", "is_live"), [("target", True), ("pole", False)])
def test_a_deleted_target_or_pole_has_no_gizmo_and_no_moves_until_it_is_in_the_scene_again(
    word, is_live
):
    ob = make_arm(is_live=is_live)[0]
    moved, other = object_of(ob, word), "pole" if word == "target" else "target"
    for name in ("hide_viewport", "hide_render"):
        with rigs.changed(moved, **{name: True}):
            assert RINGS[word] in grabbed.started_by_gizmos()
    assert grabbed.started_by_gizmos() == {*RINGS.values(), TURN_POLE}
    lines = drawn()
    assert lines[1]
    removed = delete(ob, word)
    assert grabbed.started_by_gizmos() == {RINGS[other]}
    # The overlay draws no line to it either.
    assert drawn()[0] < lines[0]
    assert drawn()[1] == (word == "target")
    places = [rigs.position(object_of(ob, role)) for role in MOVES]
    sentence = f"The {word} '{removed.name}' is no longer in the scene: choose another {word}."
    assert refusal(MOVES[word]) == sentence
    for match in (snap_target, partial(bpy.ops.pose.chain_ik_switch, to="IK")):
        assert f"'{removed.name}' is no longer in the scene" in refusal(match)
    np.testing.assert_array_equal([rigs.position(object_of(ob, role)) for role in MOVES], places)
    press(MOVES[other])
    rigs.link(removed)
    rigs.updated()
    assert grabbed.started_by_gizmos() == {*RINGS.values(), TURN_POLE}
    assert drawn() == lines
    press(MOVES[word])
