"""Gizmos: which are shown, where, what each starts, and what a drag or a click on them does."""

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
from tests.blender.setups.jointed_rigs import give
from tests.blender.setups.saved_rigs import linked
from tests.blender.setups.selecting import press, refusal, select_bones, select_objects

LIMB = ((0.0, 0.0, 0.0), (0.1, -0.2, 1.0), (0.0, 0.0, 2.0))
TARGET, POLE = (0.3, 0.2, 1.6), (0.2, -2.0, 1.0)
# Pixels and radians: the view is 18 m away, where Blender's float32 tells no less than so much.
ON_MOUSE, TURNED = 0.2, 0.01
WAY = ((20.0, 0.0), (30.0, 15.0), (45.0, -25.0))
LIMIT = {"bone": "Bone.1", "turn": "X", "end": "MAX"}


@pytest.fixture
def chain() -> bpy.types.PropertyGroup:
    """The chain of an arm with a pole, in pose mode, with a limit of its second bone."""
    ob = rigs.make_rig(LIMB)
    found = rigs.add_chain(ob, "Bone.1", rigs.make_empty("Target", TARGET), solver="NEWTON")
    found.pole_target = rigs.make_empty("Pole", POLE)
    give(found, "Bone.1", "HINGE_X", x=(-150, 60))
    rigs.enter(ob, "POSE")
    rigs.updated()
    return found


def start(name: str, context: bpy.types.Context, chain: bpy.types.PropertyGroup) -> grabbed.Drag:
    if name == "move_target":
        x, y = grabbed.pixel_of(context, rigs.position(chain.target))
        path, settings = [(x, y), *((x + right, y + up) for right, up in WAY)], {}
    elif name == "turn_pole":
        path, settings = ring(context, chain, (0.0, 0.3, 0.6)), {}
    else:
        path, settings = arc(context, chain, (0.0, 0.1, 0.2)), LIMIT
    drag = grabbed.Drag(name, context, path[0], **settings)
    drag.go(path[1:])
    return drag


def ring(
    context: bpy.types.Context, chain: bpy.types.PropertyGroup, turns: tuple[float, ...]
) -> list[grabbed.Pixel]:
    """Return where points of the dial are seen, counter-clockwise from the end of its line."""
    line = pole_axis(chain.id_data, chain_spec(chain))
    first = np.cross(line.direction, (1.0, 0.0, 0.0))
    first /= np.linalg.norm(first)
    second, middle = np.cross(line.direction, first), (line.root + line.end) / 2.0
    points = [middle + first * math.cos(turn) + second * math.sin(turn) for turn in turns]
    return [grabbed.pixel_of(context, point) for point in points]


def arc(
    context: bpy.types.Context, chain: bpy.types.PropertyGroup, turns: tuple[float, ...]
) -> list[grabbed.Pixel]:
    """Return where the greatest bend of the second bone would be seen, turned further."""
    ends = find_ends(chain.id_data, chain_spec(chain), "Bone.1")
    (end,) = (each for each in ends if each.is_max)
    return [grabbed.pixel_of(context, each) for each in end.points(end.angle + np.array(turns))]


def values(chain: bpy.types.PropertyGroup) -> tuple[object, ...]:
    return tuple(chain.target.location), chain.pole_angle, chain.joints[0].max_x


def test_the_target_is_under_the_mouse_or_on_an_axis_until_its_key_is_pressed_again(view, chain):
    drag = start("move_target", view, chain)
    place = rigs.position(chain.target)
    assert np.linalg.norm(np.subtract(grabbed.pixel_of(view, place), drag.mouse)) < ON_MOUSE
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
        assert drag.told.header.startswith("Moved by ")
        assert "along" not in drag.told.header
    drag.let_go()
    assert drag.result == {"FINISHED"}
    np.testing.assert_array_equal(rigs.position(chain.target), place)
    # For Adjust Last Operation, which starts from it.
    np.testing.assert_allclose(drag.location, place, atol=1e-5)


@pytest.mark.parametrize("name", ["move_target", "turn_pole", "set_limit"])
def test_esc_and_the_right_button_put_everything_back_and_the_status_bar_says_so(view, chain, name):
    before = values(chain)
    for key, value in (("ESC", "PRESS"), ("RIGHTMOUSE", "PRESS"), ("LEFTMOUSE", "RELEASE")):
        drag = start(name, view, chain)
        assert values(chain) != before
        assert drag.told.is_handling
        assert "Esc or right click: cancel" in drag.told.status
        assert ("X, Y, Z: along one axis" in drag.told.status) == (name == "move_target")
        assert drag.told.header
        drag.send(key, value)
        assert drag.told.status is None
        assert drag.told.header is None
        if value == "PRESS":
            assert drag.result == {"CANCELLED"}
            assert values(chain) == before


@pytest.mark.parametrize("turns", [(0.0, 0.3, 0.7), (0.0, -0.4, -0.9)])
def test_the_dial_turns_with_the_mouse(view, chain, turns):
    chain.joints.clear()
    path = ring(view, chain, turns)
    drag = grabbed.Drag("turn_pole", view, path[0])
    drag.go(path[1:])
    assert chain.pole_angle == pytest.approx(turns[-1], abs=TURNED)
    drag.go(path[-1:], "ctrl")
    steps = math.degrees(chain.pole_angle) / SNAP
    assert steps == pytest.approx(round(steps), abs=1e-4)
    drag.let_go()
    assert drag.angle == chain.pole_angle


def test_an_end_of_a_limit_follows_the_mouse_until_its_chain_is_gone(view, chain):
    path, before = arc(view, chain, (0.0, 0.2, 0.4)), chain.joints[0].max_x
    drag = grabbed.Drag("set_limit", view, path[0], **LIMIT)
    drag.go(path[1:])
    assert drag.angle == pytest.approx(chain.joints[0].max_x)
    assert drag.angle == pytest.approx(before + 0.4, abs=TURNED)
    chain.id_data.chain_ik.chains.clear()
    drag.go(path[:1])
    assert drag.result == {"CANCELLED"}
    assert drag.reports == ["What was dragged is gone: choose another target, pole or chain."]
    assert drag.told.status is None


def test_what_a_constraint_holds_stays_and_past_a_limit_it_stops_where_it_got_to(view, chain):
    holder = chain.target.constraints.new("COPY_LOCATION")
    rigs.change(holder, target=rigs.make_empty("Holder", (0.2, 0.1, 1.5)))
    before = values(chain)
    drag = start("move_target", view, chain)
    held = "keeps the target 'Target' from going there"
    assert held in drag.told.header
    drag.let_go()
    assert drag.result == {"CANCELLED"}
    (report,) = drag.reports
    assert held in report
    assert drag.told.status is None
    assert values(chain) == before
    chain.target.constraints.remove(holder)
    limit = chain.target.constraints.new("LIMIT_LOCATION")
    rigs.change(limit, use_max_z=True, max_z=TARGET[2] + 0.2)
    x, y = grabbed.pixel_of(view, rigs.position(chain.target))
    drag = grabbed.Drag("move_target", view, (x, y))
    drag.go([(x + 10.0, y + 10.0)])
    place = rigs.position(chain.target)
    assert place[2] > TARGET[2] + 0.01
    drag.go([(x + 10.0, y + 200.0)])
    np.testing.assert_array_equal(rigs.position(chain.target), place)
    drag.let_go()
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
        found, active = bpy.context.selected_pose_bones, bpy.context.active_pose_bone
    else:
        found, active = bpy.context.selected_objects, bpy.context.active_object
    return {f"{each.name}{'*' * (each == active)}" for each in found}


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
    for modifier, kept in (("", set()), ("shift", {"Rig"})):
        select_objects(active=ob)
        click(view, rigs.position(target), modifier)
        assert selected() == {"Rig Target*"} | kept
    bpy.context.view_layer.objects.active = ob
    # What is selected becomes the active one first, as Blender has it.
    for expected in ({"Rig", "Rig Target*"}, {"Rig"}):
        click(view, rigs.position(target), "shift")
        assert selected() == expected


def test_a_click_on_a_diamond_selects_the_target_of_its_chain_where_that_can_be_selected():
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
    return [each for each in grabbed.shown_gizmos() if operator in each.started]


def test_what_a_solver_does_not_use_is_not_shown_and_refused_with_what_to_do():
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


def test_rings_stand_on_what_they_move_and_a_chain_that_leaves_its_bones_alone_has_none():
    ob, chain = make_arm()
    give(chain, "Bone.1", "HINGE_X", x=(-20, 50))
    rigs.change(ob.data.bones, active=ob.data.bones["Bone.1"])
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
    for setting in ({"mute": True}, {"influence": 0.0}):
        assert grabbed.started_by_gizmos() == shown
        with rigs.changed(chain, **setting):
            assert grabbed.started_by_gizmos() == set()
    # The diamond of another chain.
    rigs.add_chain(ob, "Bone.0", None)
    rigs.change(ob.chain_ik, active_index=0)
    assert grabbed.started_by_gizmos() == grabbed.GRABBED
    with grabbed.in_viewport() as context:
        context.space_data.show_gizmo = False
        assert not grabbed.started_by_gizmos()


@pytest.mark.parametrize("kind", ["BALL", "CONE", "ELBOW_X"])
def test_each_dot_moves_the_end_that_it_stands_on(kind):
    ob, chain = make_arm()
    give(chain, "Bone.1", kind, x=(-20, 50), y=(-30, 60), z=(-10, 70))
    rigs.change(ob.data.bones, active=ob.data.bones["Bone.1"])
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
    with viewports.in_viewport():
        found = viewports.strokes()
        assert not found.words
        return len(found.thin.points), bool(found.areas.points)


@pytest.mark.parametrize(("word", "is_live"), [("target", True), ("pole", False)])
def test_what_was_deleted_is_not_shown_nor_moved_nor_snapped_until_it_is_in_the_scene_again(
    word, is_live
):
    ob = make_arm(is_live=is_live)[0]
    moved, other = followed(ob, word), "pole" if word == "target" else "target"
    for name in ("hide_viewport", "hide_render"):
        with rigs.changed(moved, **{name: True}):
            assert RINGS[word] in grabbed.started_by_gizmos()
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
