"""What the overlay draws in a viewport."""

from __future__ import annotations

import math
from collections.abc import Iterator

import bpy
import gpu
import numpy as np
import pytest

from blender_ik_addon.overlay.colours import read_colours
from blender_ik_addon.overlay.scene_strokes import Items
from blender_ik_addon.overlay.words import find_pixels
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from tests.blender.interface.drawn import draw_panel
from tests.blender.overlay.viewports import (
    NEAR,
    around_point,
    draw,
    in_viewport,
    needs_gpu,
    strokes,
)
from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.selecting import select_objects

FAR = (0.0, 0.0, 3.01)


@pytest.fixture
def seen() -> Iterator[None]:
    """A context in which the first viewport is drawn."""
    with in_viewport():
        yield


def colour_of_lines() -> set[tuple[float, ...]]:
    """Return the colours of all chains."""
    points, colours = strokes().thick.join()
    assert len(points) == len(colours)
    return {tuple(np.round(each, 3)) for each in colours.tolist()}


def theme(name: str) -> set[tuple[float, ...]]:
    """Return a colour of the theme, as ``colour_of_lines`` does."""
    return {tuple(np.round(getattr(read_colours(bpy.context), name), 3))}


def test_a_chain_is_a_line_through_its_joints_wherever_they_go(seen: None) -> None:
    ob, target = rigs.make_arm()
    for target.location in ((0.6, 0.5, 1.2), (-0.5, 0.6, 0.9)):
        bpy.context.view_layer.update()
        points, _ = strokes().thick.join()
        joints = [rigs.head(ob, "Bone.0"), rigs.head(ob, "Bone.1"), rigs.tail(ob, "Bone.1")]
        np.testing.assert_allclose(points, np.array(joints)[[0, 1, 1, 2]], atol=1e-6)
        np.testing.assert_allclose(points[-1], target.location, atol=1e-4)


def test_the_colour_tells_how_a_chain_ended(seen: None) -> None:
    ob, target = rigs.make_arm(NEAR)
    assert colour_of_lines() == theme("reached")
    target.location = FAR
    bpy.context.view_layer.update()
    assert colour_of_lines() == theme("missed")
    (word,) = strokes().words
    assert word.text == "1 m"
    assert word.colour == read_colours(bpy.context).missed
    ob.chain_ik.chains[0].mute = True
    bpy.context.view_layer.update()
    assert colour_of_lines() == theme("idle")
    assert not strokes().words


def test_chains_that_limits_hold_or_that_have_stretched_are_amber(seen: None) -> None:
    ob, target = rigs.make_arm(NEAR)
    joint = jointed_rigs.give(ob.chain_ik.chains[0], "Bone.1", "HINGE_X", x=(-3.0, 3.0))
    bpy.context.view_layer.update()
    assert colour_of_lines() == theme("held")
    joint.use_limit_x, joint.kind = False, "BALL"
    ob.pose.bones["Bone.1"].ik_stretch = 1.0
    ob.chain_ik.chains[0].use_stretch = True
    target.location = (0.0, 0.0, 2.4)
    bpy.context.view_layer.update()
    assert ob.chain_ik.chains[0].status.startswith("Reached")
    assert colour_of_lines() == theme("held")


def test_a_chain_is_green_that_only_its_soft_distance_keeps_short(seen: None) -> None:
    ob, _ = rigs.make_arm((0.0, 0.0, 1.95), soft_distance=0.3)
    assert "short of the target by the soft distance" in ob.chain_ik.chains[0].status
    assert colour_of_lines() == theme("reached")
    ob.pose.bones["Bone.1"].lock_rotation = (True, True, True)
    ob.update_tag()
    bpy.context.view_layer.update()
    assert ob.chain_ik.chains[0].status.startswith("Held back by locked rotation channels")
    assert colour_of_lines() == theme("held")


def test_one_bone_that_points_at_its_target_is_green(seen: None) -> None:
    ob, _ = rigs.make_arm(FAR, chain_count=1)
    assert ob.chain_ik.chains[0].status.startswith("Points at its target, ")
    assert colour_of_lines() == theme("reached")
    # It is to reach now, and may not grow.
    ob.chain_ik.chains[0].use_stretch = True
    bpy.context.view_layer.update()
    assert ob.chain_ik.chains[0].status.startswith("Out of reach by")
    assert colour_of_lines() == theme("missed")


@pytest.mark.parametrize(
    ("kind", "colour", "ends"),
    [
        ("NONE", None, ()),
        ("HEEL", "pole", (0,)),
        ("TOE", "held", (1,)),
        ("FOOT", "reached", (0, 1)),
    ],
)
def test_what_stands_has_dots_on_the_floor_in_the_colour_of_its_kind(
    seen: None, kind: str, colour: str | None, ends: tuple[int, ...]
) -> None:
    ob, _ = rigs.make_arm(NEAR)
    for name in Items._fields:
        setattr(bpy.context.scene.chain_ik.overlay, name, name == "show_contacts")
    ob.chain_ik.chains[0].planted = kind
    bpy.context.view_layer.update()
    dots = strokes().dots.join()
    if colour is None:
        assert dots is None
        return
    # At rest the bone stands upright, so its heel is the floor and its toe right above that.
    matrix = rigs.evaluated(ob).matrix_world @ rigs.evaluated(ob).pose.bones["Bone.1"].matrix
    under = matrix @ ob.data.bones["Bone.1"].matrix_local.inverted()
    rest = ob.data.bones["Bone.1"]
    low = min(rest.head_local.z, rest.tail_local.z)
    expected = [(rest.head_local, rest.tail_local)[end].copy() for end in ends]
    for each in expected:
        each.z = low
    np.testing.assert_allclose(dots[0], [under @ each for each in expected], atol=1e-6)
    assert {tuple(np.round(each, 3)) for each in dots[1].tolist()} == theme(colour)


def test_a_pin_of_a_body_has_a_ring_at_its_target(seen: None) -> None:
    ob, target = rigs.make_arm(NEAR)
    for name in Items._fields:
        setattr(bpy.context.scene.chain_ik.overlay, name, name == "show_contacts")
    ob.chain_ik.chains[0].use_pin = True
    bpy.context.view_layer.update()
    assert not strokes().rims
    ob.chain_ik.body.root, ob.chain_ik.body.use_body = "Bone.0", True
    bpy.context.view_layer.update()
    (ring,) = strokes().rims
    assert ring.centre == pytest.approx(tuple(target.matrix_world.translation), abs=1e-6)
    ob.chain_ik.chains[0].use_pin = False
    bpy.context.view_layer.update()
    assert not strokes().rims


def test_reach_pole_and_limits_are_those_of_the_active_chain_alone(seen: None) -> None:
    ob = rigs.make_rig()
    rigs.add_bones(ob, np.array(rigs.ARM) + np.array([2.0, 0.0, 0.0]), prefix="Other")
    pole = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    arm = rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=NEAR), pole_target=pole)
    rigs.add_chain(ob, "Other.1", rigs.make_empty(location=(2.6, 0.5, 1.2)))
    jointed_rigs.give(arm, "Bone.1", "HINGE_X", x=(-90.0, 90.0))
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()
    ob.chain_ik.active_index = 0
    found = strokes()
    reach = [rim.radius for rim in found.rims]
    assert reach == pytest.approx([2 * np.hypot(1.0, 0.1)], abs=1e-5)
    assert found.areas.points
    ob.chain_ik.active_index = 1
    other = strokes()
    assert other.rims[0].centre == pytest.approx((2.0, 0.0, 0.0), abs=1e-6)
    assert not other.areas.points
    assert len(other.thick.join()[0]) == 8


def test_what_a_chain_cannot_fold_below_is_drawn_as_well(seen: None) -> None:
    ob = rigs.make_rig([(0.0, 0.0, 0.0), (0.0, 0.0, 2.0), (0.0, 0.0, 3.0)])
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=(1.5, 0.0, 1.0)))
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()
    assert [rim.radius for rim in strokes().rims] == pytest.approx([3.0, 1.0], abs=1e-5)


def test_what_is_missed_is_told_in_the_colour_of_its_own_chain(seen: None) -> None:
    rigs.make_arm(NEAR)
    other, far = rigs.make_arm(FAR, name="Other")
    bpy.context.scene.chain_ik.overlay.show_poles = False
    found, missed = strokes(), read_colours(bpy.context).missed
    points, colours = found.thin.join()
    gap = [rigs.tail(other, "Bone.1"), rigs.position(far)]
    np.testing.assert_allclose(points[-2:], gap, atol=1e-5)
    np.testing.assert_allclose(colours[-2:], [missed, missed], atol=1e-6)
    np.testing.assert_allclose([word.colour for word in found.words], [missed], atol=1e-6)
    assert colour_of_lines() == theme("reached") | theme("missed")


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1)])
@pytest.mark.parametrize("keeps", ["MIRROR", "KEEP"])
def test_the_plane_of_a_pole_is_the_one_in_which_the_chain_bends(
    seen: None, scale: tuple[float, float, float], keeps: str
) -> None:
    ob = rigs.make_rig()
    ob.scale = scale
    pole = rigs.make_empty("Pole", (0.3, -2.0, 1.0))
    settings = {"pole_target": pole, "pole_angle": 0.8, "negative_scale": keeps}
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=NEAR), **settings)
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()
    found = strokes()
    (root, end, corner), _ = found.areas.join()
    elbow = rigs.head(ob, "Bone.1")
    normal = np.cross(end - root, corner - root)
    assert abs((elbow - root) @ normal) < 1e-5 * np.linalg.norm(normal)
    along = (end - root) / np.linalg.norm(end - root)
    across = corner - root - along * ((corner - root) @ along)
    assert (elbow - root) @ across > 0.0
    # The line leads to the pole as it is.
    points, _ = found.thin.join()
    assert np.linalg.norm(points - rigs.position(pole), axis=1).min() < 1e-5
    assert np.linalg.norm(corner - rigs.position(pole)) > 0.5


ITEMS = {
    "show_chains": "thick",
    "show_joints": "dots",
    "show_reach": "rims",
    "show_poles": "areas",
    "show_limits": "areas",
    "show_text": "words",
    "show_target_lines": "thin",
}


def test_each_item_can_be_switched_off(seen: None) -> None:
    ob, _ = rigs.make_arm(FAR)
    ob.chain_ik.chains[0].pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    jointed_rigs.give(ob.chain_ik.chains[0], "Bone.1", "CONE", cone=80.0)
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()

    def count(kind: str) -> int:
        pieces = getattr(strokes(), kind)
        return len(pieces) if isinstance(pieces, list) else len(pieces.points)

    for item, kind in ITEMS.items():
        before = count(kind)
        setattr(bpy.context.scene.chain_ik.overlay, item, False)
        assert count(kind) < before, item
        setattr(bpy.context.scene.chain_ik.overlay, item, True)


def test_a_chain_that_leaves_its_bones_alone_has_no_pole_plane(seen: None) -> None:
    ob, _ = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    bpy.context.view_layer.objects.active = ob
    for chain.mute, chain.influence in ((False, 1.0), (True, 1.0), (False, 0.0), (False, 1.0)):
        bpy.context.view_layer.update()
        is_shown = chain.influence > 0.0 and not chain.mute
        assert bool(strokes().areas.points) == is_shown


@pytest.mark.parametrize("way", ["eye", "viewport", "edit mode"])
def test_nothing_is_drawn_of_what_is_not_seen(seen: None, way: str) -> None:
    ob, _ = rigs.make_arm()
    assert strokes().thick.points
    if way == "eye":
        ob.hide_set(True)
    elif way == "viewport":
        ob.hide_viewport = True
    else:
        rigs.enter(ob, "EDIT")
    bpy.context.view_layer.update()
    assert not strokes().thick.points
    if way == "edit mode":
        rigs.enter(ob, "OBJECT")


def test_a_target_bone_of_an_armature_that_was_never_evaluated_is_drawn_nowhere(seen: None) -> None:
    ob, _ = rigs.make_arm()
    new = bpy.data.objects.new("New", ob.data)
    chain = ob.chain_ik.chains[0]
    chain.target, chain.subtarget = new, "Bone.0"
    assert len(strokes().thick.join()[0]) == 4


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("spoiled", "value"),
    [("object", math.nan), ("object", 3e38), ("Bone.0", math.nan), ("Bone.1", 1e25)],
)
def test_a_rig_that_stands_nowhere_is_not_drawn_and_says_why(
    seen: None, spoiled: str, value: float, capfd: pytest.CaptureFixture[str]
) -> None:
    ob, _ = rigs.make_arm()
    other, _ = rigs.make_arm(name="Other")
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    jointed_rigs.give(chain, "Bone.0", "BALL", x=(-50, 50), y=(-50, 50), z=(-50, 50))
    jointed_rigs.give(chain, "Bone.1", "ELBOW_X", x=(-50, 50), y=(-50, 50))
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()
    assert len(strokes().thick.join()[0]) == 8
    spoiled_one = ob if spoiled == "object" else ob.pose.bones[spoiled]
    spoiled_one.scale = (value, value, value)
    bpy.context.view_layer.update()
    capfd.readouterr()
    found = strokes()
    points, _ = found.thick.join()
    assert len(points) == 4
    np.testing.assert_allclose(points[3], rigs.tail(other, "Bone.1"), atol=1e-5)
    assert not found.rims
    assert not found.areas.points
    assert np.isfinite(found.dots.join()[0]).all()
    # What the gizmos of limits are placed by.
    find_ends(rigs.evaluated(ob), chain_spec(chain), "Bone.0")
    assert capfd.readouterr() == ("", "")
    assert "not finite or too large" in chain.status, chain.status


def test_chains_beside_one_that_stands_nowhere_are_drawn(seen: None) -> None:
    ob, _ = rigs.make_arm()
    rigs.add_bones(ob, np.array(rigs.ARM) + np.array([2.0, 0.0, 0.0]), prefix="Other")
    rigs.add_chain(ob, "Other.1", rigs.make_empty(location=(2.6, 0.5, 1.2)))
    bpy.context.view_layer.objects.active = ob
    ob.chain_ik.active_index = 1
    bpy.context.view_layer.update()
    ob.pose.bones["Bone.0"].scale.x = math.nan
    bpy.context.view_layer.update()
    found = strokes()
    points, _ = found.thick.join()
    assert len(points) == 4
    np.testing.assert_allclose(points[0], rigs.head(ob, "Other.0"), atol=1e-6)
    assert found.rims[0].centre == pytest.approx((2.0, 0.0, 0.0), abs=1e-6)


def test_local_view_shows_its_own_rigs_alone(seen: None) -> None:
    ob, _ = rigs.make_arm()
    other, _ = rigs.make_arm(name="Other")
    select_objects(active=other)
    ob.select_set(False)
    bpy.ops.view3d.localview(frame_selected=False)
    assert bpy.context.space_data.local_view is not None
    bpy.context.view_layer.update()
    points, _ = strokes().thick.join()
    assert len(points) == 4
    np.testing.assert_allclose(points[3], rigs.tail(other, "Bone.1"), atol=1e-5)
    bpy.ops.view3d.localview(frame_selected=False)
    bpy.context.view_layer.update()
    assert len(strokes().thick.join()[0]) == 8


def test_words_behind_the_eye_are_nowhere(seen: None) -> None:
    eye, ahead = np.array((1.0, 2.0, 3.0)), np.array((0.0, 0.0, -1.0))
    matrix = np.eye(4)
    matrix[:3, 3] = -eye
    # Without a lens: what lies one ahead fills the view, and so would what lies one behind.
    matrix[3] = (0.0, 0.0, -1.0, eye[2])
    points = eye + np.array((ahead, -ahead, 2.0 * ahead + (1.0, 0.0, 0.0)))
    pixels = find_pixels(points, matrix, (400, 200))
    np.testing.assert_allclose(pixels[[0, 2]], [(200.0, 100.0), (300.0, 100.0)])
    assert np.isnan(pixels[1]).all()


@pytest.mark.parametrize(("in_blender", "in_scene"), [(True, True), (True, False), (False, True)])
def test_items_that_change_nothing_are_grey(seen: None, in_blender: bool, in_scene: bool) -> None:
    bpy.context.space_data.overlay.show_overlays = in_blender
    bpy.context.scene.chain_ik.overlay.show_overlay = in_scene
    switch, *items = draw_panel(bpy.types.VIEW3D_PT_overlay_chain_ik)
    assert switch.name == "show_overlay"
    assert switch.is_active == in_blender
    assert {each.name for each in items} == set(Items._fields)
    assert {each.is_active for each in items} == {in_blender and in_scene}
    bpy.context.space_data.overlay.show_overlays = True


@needs_gpu
def test_pixels_of_a_chain_are_green_and_there_are_none_when_it_is_off(seen: None) -> None:
    gpu.init()
    ob, _ = rigs.make_arm()
    for item in ("show_joints", "show_target_lines"):
        setattr(bpy.context.scene.chain_ik.overlay, item, False)
    pixels, _ = draw()
    around = around_point(pixels, 0.5 * (rigs.head(ob, "Bone.0") + rigs.head(ob, "Bone.1")))
    best = around[..., 3].max()
    assert best > 0.5
    red, green, blue, _ = around[around[..., 3] == best][0]
    assert green > red > blue
    bpy.context.scene.chain_ik.overlay.show_overlay = False
    assert not draw()[0].any()


@needs_gpu
def test_drawing_leaves_the_state_of_the_graphics_card_as_it_was(seen: None) -> None:
    gpu.init()
    # Words put the state back by themselves: there are none.
    rigs.make_arm(NEAR)
    assert draw()[1] == [("NONE", "NONE")] * 2
