"""Strokes and pixels that the overlay draws in a viewport."""

import math

import bpy
import gpu
import numpy as np
import pytest

from blender_ik_addon.overlay.colours import read_colours
from blender_ik_addon.overlay.scene_strokes import Items
from blender_ik_addon.properties.records import chain_spec
from blender_ik_addon.rig.reading.spaces import find_pixels
from blender_ik_addon.rig.reading.spec import Anchor
from blender_ik_addon.rig.reading.world import uids_in
from blender_ik_addon.rig.shapes.chain_shape import find_place
from blender_ik_addon.rig.shapes.limit_ends import find_ends
from blender_ik_addon.rig.tools.pole_axis import pole_axis
from tests.blender.interface.drawn import draw_panel
from tests.blender.overlay.viewports import REACHABLE, around_point, draw, needs_gpu, strokes
from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.selecting import select_objects
from tests.helpers import assert_positions_close

OUT_OF_REACH = (0.0, 0.0, 3.01)

pytestmark = pytest.mark.usefixtures("seen")


def colour_of_lines() -> set[tuple[float, ...]]:
    points, colours = strokes().thick.join()
    assert len(points) == len(colours)
    return {tuple(np.round(colour, 3)) for colour in colours.tolist()}


def theme(name: str) -> set[tuple[float, ...]]:
    """Return a colour of the theme, in the form of ``colour_of_lines``."""
    return {tuple(np.round(getattr(read_colours(bpy.context), name), 3))}


def test_a_chain_is_a_line_through_its_joints_while_it_is_visible():
    ob, target = rigs.make_arm()
    for target.location in ((0.6, 0.5, 1.2), (-0.5, 0.6, 0.9)):
        bpy.context.view_layer.update()
        points, _ = strokes().thick.join()
        joints = [rigs.head(ob, "Bone.0"), rigs.head(ob, "Bone.1"), rigs.tail(ob, "Bone.1")]
        np.testing.assert_allclose(points, np.array(joints)[[0, 1, 1, 2]], atol=1e-6)
        np.testing.assert_allclose(points[-1], target.location, atol=1e-4)
    for hide in (
        lambda is_hidden: ob.hide_set(is_hidden),
        lambda is_hidden: setattr(ob, "hide_viewport", is_hidden),
        lambda is_hidden: rigs.enter(ob, "EDIT" if is_hidden else "OBJECT"),
    ):
        for is_hidden in (True, False):
            hide(is_hidden)
            bpy.context.view_layer.update()
            assert bool(strokes().thick.points) != is_hidden
    # Let the target be a bone of an armature that was never evaluated.
    chain = ob.chain_ik.chains[0]
    chain.target, chain.subtarget = bpy.data.objects.new("New", ob.data), "Bone.0"
    assert len(strokes().thick.join()[0]) == 4


def test_a_bone_that_is_followed_is_where_its_head_is_in_any_armature():
    own, other = rigs.make_rig(), rigs.make_rig(name="Other")
    for ob in (own, other):
        rigs.turn_bones(ob, seed=1)
        rigs.change(ob, location=(3.0, -1.0, 2.0), rotation_euler=(0.3, 1.0, -2.0))
    graph, present = bpy.context.evaluated_depsgraph_get(), uids_in(bpy.context.scene)
    for ob in (own, other):
        place = find_place(Anchor(ob, "Bone.1"), graph, present)
        np.testing.assert_allclose(place, rigs.head(ob, "Bone.1"), atol=1e-5)
        assert np.isnan(find_place(Anchor(ob, "Gone"), graph, present)).all()
        assert np.isnan(find_place(Anchor(ob, "Bone.1"), graph, ())).all()


@pytest.mark.parametrize(
    ("place", "settings", "status", "colour"),
    [
        (REACHABLE, {}, "Reached", "reached"),
        (OUT_OF_REACH, {}, "Out of reach by", "missed"),
        (REACHABLE, {"mute": True}, "Muted", "idle"),
        ((0.0, 0.0, 1.95), {"soft_distance": 0.3}, "short of the target by", "reached"),
        (OUT_OF_REACH, {"chain_count": 1}, "Points at its target, ", "reached"),
        # A bone with Stretch has to reach; its IK Stretch is zero, so it cannot.
        (OUT_OF_REACH, {"chain_count": 1, "use_stretch": True}, "Out of reach by", "missed"),
    ],
)
def test_the_colour_shows_the_outcome_of_a_chain(place, settings, status, colour):
    ob, _ = rigs.make_arm(place, **settings)
    assert status in ob.chain_ik.chains[0].status
    assert colour_of_lines() == theme(colour)
    if settings in ({}, {"mute": True}):
        words = [("1 m", read_colours(bpy.context).missed)] if place == OUT_OF_REACH else []
        assert [(word.text, word.colour) for word in strokes().words] == words


def test_a_tip_that_constraints_move_off_its_target_is_amber_and_shows_its_distance():
    ob, target = rigs.make_arm(REACHABLE)
    rigs.change(ob.pose.bones["Bone.1"].constraints.new("COPY_ROTATION"), target=target)
    assert colour_of_lines() == theme("held")
    (word,) = strokes().words
    assert word.text.split()[0] in ob.chain_ik.chains[0].status


def test_chains_that_limits_or_locks_hold_or_that_have_stretched_are_amber():
    ob, target = rigs.make_arm(REACHABLE)
    chain = ob.chain_ik.chains[0]
    joint = jointed_rigs.add_joint(chain, "Bone.1", "HINGE_X", x=(-3.0, 3.0))
    bpy.context.view_layer.update()
    assert colour_of_lines() == theme("held")
    joint.use_limit_x, joint.kind = False, "BALL"
    ob.pose.bones["Bone.1"].ik_stretch = 1.0
    chain.use_stretch = True
    rigs.change(target, location=(0.0, 0.0, 2.4))
    assert chain.status.startswith("Reached")
    assert colour_of_lines() == theme("held")
    target.location, chain.use_stretch = REACHABLE, False
    ob.pose.bones["Bone.1"].lock_rotation = (True, True, True)
    rigs.tagged(ob)
    assert chain.status.startswith("Held back by locked rotation channels")
    assert colour_of_lines() == theme("held")


def test_planted_feet_have_dots_on_the_floor_and_a_pin_of_a_body_a_ring():
    ob, target = rigs.make_arm(REACHABLE)
    for name in Items._fields:
        setattr(bpy.context.scene.chain_ik.overlay, name, name == "show_contacts")
    chain = ob.chain_ik.chains[0]
    bpy.context.view_layer.update()
    assert strokes().dots.join() is None
    # At rest heel and toe are below head and tail, on a floor at the height of the lower one.
    rest = ob.data.bones["Bone.1"]
    matrix = rigs.evaluated(ob).matrix_world @ rigs.evaluated(ob).pose.bones["Bone.1"].matrix
    ends = [rest.head_local.copy(), rest.tail_local.copy()]
    for end in ends:
        end.z = min(rest.head_local.z, rest.tail_local.z)
    feet = np.array([matrix @ rest.matrix_local.inverted() @ end for end in ends])
    for chain.planted, colour, rows in (
        ("HEEL", "pole", [0]),
        ("TOE", "held", [1]),
        ("FOOT", "reached", [0, 1]),
    ):
        bpy.context.view_layer.update()
        points, colours = strokes().dots.join()
        np.testing.assert_allclose(points, feet[rows], atol=1e-6)
        assert {tuple(np.round(rgba, 3)) for rgba in colours.tolist()} == theme(colour)
    body = ob.chain_ik.body
    body.root, chain.planted = "Bone.0", "NONE"
    for chain.use_pin, body.use_body in ((True, False), (True, True), (False, True)):
        bpy.context.view_layer.update()
        rings = [ring.centre for ring in strokes().rims]
        is_shown = chain.use_pin and body.use_body
        assert rings == [pytest.approx(tuple(target.location), abs=1e-6)] * is_shown


def test_reach_pole_and_limits_are_those_of_the_active_chain_alone():
    ob = rigs.make_rig()
    rigs.add_bones(ob, np.array(rigs.ARM) + np.array([2.0, 0.0, 0.0]), prefix="Other")
    pole = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    arm = rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=REACHABLE), pole_target=pole)
    rigs.add_chain(ob, "Other.1", rigs.make_empty(location=(2.6, 0.5, 1.2)))
    jointed_rigs.add_joint(arm, "Bone.1", "HINGE_X", x=(-90.0, 90.0))
    rigs.change(bpy.context.view_layer.objects, active=ob)
    ob.chain_ik.active_index = 0
    drawn = strokes()
    reach = [rim.radius for rim in drawn.rims]
    assert reach == pytest.approx([2 * np.hypot(1.0, 0.1)], abs=1e-5)
    assert drawn.areas.points
    ob.chain_ik.active_index = 1
    other = strokes()
    assert other.rims[0].centre == pytest.approx((2.0, 0.0, 0.0), abs=1e-6)
    assert not other.areas.points
    assert len(other.thick.join()[0]) == 8
    # The smallest reach of a chain is drawn as well.
    ob = rigs.make_rig([(0.0, 0.0, 0.0), (0.0, 0.0, 2.0), (0.0, 0.0, 3.0)], name="Long")
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=(1.5, 0.0, 1.0)))
    rigs.change(bpy.context.view_layer.objects, active=ob)
    assert [rim.radius for rim in strokes().rims] == pytest.approx([3.0, 1.0], abs=1e-5)


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1)])
@pytest.mark.parametrize("keeps", ["MIRROR", "KEEP"])
def test_the_plane_of_a_pole_is_the_one_in_which_the_chain_bends(scale, keeps):
    ob = rigs.make_rig()
    ob.scale = scale
    pole = rigs.make_empty("Pole", (0.3, -2.0, 1.0))
    settings = {"pole_target": pole, "pole_angle": 0.8, "negative_scale": keeps}
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=REACHABLE), **settings)
    rigs.change(bpy.context.view_layer.objects, active=ob)
    drawn = strokes()
    (root, end, corner), _ = drawn.areas.join()
    elbow = rigs.head(ob, "Bone.1")
    normal = np.cross(end - root, corner - root)
    assert abs((elbow - root) @ normal) < 1e-5 * np.linalg.norm(normal)
    along = (end - root) / np.linalg.norm(end - root)
    across = corner - root - along * ((corner - root) @ along)
    assert (elbow - root) @ across > 0.0
    # The line leads to the pole, though the pole angle turns the plane away from it.
    points, _ = drawn.thin.join()
    assert np.linalg.norm(points - rigs.position(pole), axis=1).min() < 1e-5
    assert np.linalg.norm(corner - rigs.position(pole)) > 0.5


@pytest.mark.parametrize("is_limited", [False, True])
def test_the_plane_and_the_axis_of_a_pole_end_where_a_tip_that_turns_begins(is_limited):
    ob = rigs.make_rig(rigs.zigzag(3))
    target = rigs.make_empty(location=REACHABLE)
    target.rotation_euler = (0.9, 0.2, 0.4)
    settings = {"use_rotation": True, "rotation_bone": "TIP"}
    pole = rigs.make_empty("Pole", (0.3, -2.0, 1.0))
    chain = rigs.add_chain(ob, "Bone.2", target, pole_target=pole, **settings)
    if is_limited:
        rigs.limit_bones(ob, x=(-2.5, 2.5))
    rigs.change(bpy.context.view_layer.objects, active=ob)
    wrist, elbow = rigs.head(ob, "Bone.2"), rigs.head(ob, "Bone.1")
    root, end, corner = strokes().areas.join()[0][:3]
    assert_positions_close(end, wrist, 1e-6)
    assert_positions_close(pole_axis(ob, chain_spec(chain)).end, wrist, 1e-6)
    normal = np.cross(end - root, corner - root)
    assert abs((elbow - root) @ normal) < 1e-5 * np.linalg.norm(normal)


ITEMS = {
    "show_chains": "thick",
    "show_joints": "dots",
    "show_reach": "rims",
    "show_poles": "areas",
    "show_limits": "areas",
    "show_text": "words",
    "show_target_lines": "thin",
}


def test_every_item_can_be_switched_off_and_texts_have_the_colour_of_their_chain():
    rigs.make_arm(REACHABLE, name="Beside")
    ob, far = rigs.make_arm(OUT_OF_REACH)
    chain = ob.chain_ik.chains[0]
    missed = read_colours(bpy.context).missed
    points, colours = strokes().thin.join()
    gap = [rigs.tail(ob, "Bone.1"), rigs.position(far)]
    np.testing.assert_allclose(points[-2:], gap, atol=1e-5)
    np.testing.assert_allclose(colours[-2:], [missed, missed], atol=1e-6)
    assert [word.colour for word in strokes().words] == [missed]
    assert colour_of_lines() == theme("reached") | theme("missed")
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    jointed_rigs.add_joint(chain, "Bone.1", "CONE", cone=80.0)
    rigs.change(bpy.context.view_layer.objects, active=ob)

    def count(kind: str) -> int:
        pieces = getattr(strokes(), kind)
        return len(pieces) if isinstance(pieces, list) else len(pieces.points)

    for item, kind in ITEMS.items():
        before = count(kind)
        setattr(bpy.context.scene.chain_ik.overlay, item, False)
        assert count(kind) < before, item
        setattr(bpy.context.scene.chain_ik.overlay, item, True)
    # A chain without effect has no pole plane.
    chain.joints.clear()
    for chain.mute, chain.influence in ((True, 1.0), (False, 0.0), (False, 1.0)):
        bpy.context.view_layer.update()
        assert bool(strokes().areas.points) == (chain.influence > 0.0 and not chain.mute)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("spoiled", "value"),
    [("object", math.nan), ("object", 3e38), ("Bone.0", math.nan), ("Bone.1", 1e25)],
)
def test_a_rig_that_is_not_finite_or_too_large_is_not_drawn_and_says_why(spoiled, value, capfd):
    ob, _ = rigs.make_arm()
    other, _ = rigs.make_arm(name="Other")
    rigs.add_bones(ob, np.array(rigs.ARM) + np.array([2.0, 0.0, 0.0]), prefix="Beside")
    rigs.add_chain(ob, "Beside.1", rigs.make_empty("Third", (2.6, 0.5, 1.2)))
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    jointed_rigs.add_joint(chain, "Bone.0", "BALL", x=(-50, 50), y=(-50, 50), z=(-50, 50))
    jointed_rigs.add_joint(chain, "Bone.1", "ELBOW_X", x=(-50, 50), y=(-50, 50))
    rigs.change(bpy.context.view_layer.objects, active=ob)
    assert len(strokes().thick.join()[0]) == 12
    spoiled_one = ob if spoiled == "object" else ob.pose.bones[spoiled]
    rigs.change(spoiled_one, scale=(value, value, value))
    capfd.readouterr()
    drawn = strokes()
    points, _ = drawn.thick.join()
    # The other chain of this rig, and the chain of another rig, are drawn.
    beside = [rigs.tail(ob, "Beside.1")] if spoiled != "object" else []
    expected = [*beside, rigs.tail(other, "Bone.1")]
    np.testing.assert_allclose(points[3::4], expected, atol=1e-5)
    assert not drawn.rims
    assert not drawn.areas.points
    assert np.isfinite(drawn.dots.join()[0]).all()
    # The gizmos of limits call this; it must not print anything.
    find_ends(rigs.evaluated(ob), chain_spec(chain), "Bone.0")
    assert capfd.readouterr() == ("", "")
    assert "not finite or too large" in chain.status, chain.status


def test_local_view_shows_only_its_rigs():
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


def test_texts_behind_the_eye_have_no_pixels():
    eye, ahead = np.array((1.0, 2.0, 3.0)), np.array((0.0, 0.0, -1.0))
    matrix = np.eye(4)
    matrix[:3, 3] = -eye
    # A view of 90 degrees: division by depth alone gives pixels to points behind the eye too.
    matrix[3] = (0.0, 0.0, -1.0, eye[2])
    points = eye + np.array((ahead, -ahead, 2.0 * ahead + (1.0, 0.0, 0.0)))
    pixels = find_pixels(points, matrix, (400, 200))
    np.testing.assert_allclose(pixels[[0, 2]], [(200.0, 100.0), (300.0, 100.0)])
    assert np.isnan(pixels[1]).all()


@pytest.mark.parametrize(("in_blender", "in_scene"), [(True, True), (True, False), (False, True)])
def test_items_that_change_nothing_are_grey(in_blender, in_scene):
    bpy.context.space_data.overlay.show_overlays = in_blender
    bpy.context.scene.chain_ik.overlay.show_overlay = in_scene
    switch, *items = draw_panel(bpy.types.VIEW3D_PT_overlay_chain_ik)
    assert switch.name == "show_overlay"
    assert switch.is_active == in_blender
    assert {item.name for item in items} == set(Items._fields)
    assert {item.is_active for item in items} == {in_blender and in_scene}
    bpy.context.space_data.overlay.show_overlays = True


@needs_gpu
def test_pixels_of_a_chain_are_green_and_there_are_none_when_it_is_off():
    gpu.init()
    ob, _ = rigs.make_arm()
    # Drawing text resets the state of the graphics card, so the scene shows none.
    assert draw()[1] == [("NONE", "NONE")] * 2
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
