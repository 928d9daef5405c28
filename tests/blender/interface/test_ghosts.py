"""Ghosts: which poses are drawn in the viewport, in which colours, and where their names stand."""

import warnings
from collections.abc import Callable
from itertools import pairwise

import bpy
import gpu
import numpy as np

from blender_ik_addon.overlay import ghosts
from tests.blender.compare.compared_rigs import compared, joints_of, limb
from tests.blender.overlay.viewports import Pixels, around_point, draw, in_viewport, needs_gpu
from tests.blender.setups import rigs


def drawn() -> list[ghosts.Ghost]:
    return ghosts.ghosts(bpy.context)


def test_each_pose_that_was_found_is_drawn_in_a_colour_of_its_own_and_the_chosen_one_marked():
    rig = limb("tail")
    assert drawn() == []
    found = compared(rig.ob)
    solved = [name for name, row in found.items() if row.is_solved]
    assert "Two-Bone" not in solved
    bpy.context.window_manager.chain_ik.active_index = [*found].index("CCD")
    shown = drawn()
    assert [each.name for each in shown] == solved
    assert len({each.colour for each in shown}) == len(shown)
    assert [each.name for each in shown if each.is_chosen] == ["CCD"]
    for each in shown:
        np.testing.assert_array_equal(each.joints, joints_of(found[each.name]).astype(np.float32))
    (newton,) = (each.joints for each in shown if each.name == "Newton")
    np.testing.assert_allclose(newton, rig.joints(), atol=1e-4)


def test_ghosts_stay_whatever_chain_and_armature_are_called_until_they_are_switched_off():
    ob, _ = rigs.make_arm()
    compared(ob)
    before = len(drawn())
    ob.chain_ik.chains[0].name, ob.name = "Other", "Another Rig"
    assert len(drawn()) == before > 0
    with in_viewport():
        bpy.context.space_data.overlay.show_overlays = False
        assert not drawn()
    kept = bpy.context.window_manager.chain_ik
    kept.show_ghosts = False
    assert not drawn()
    kept.show_ghosts = True
    assert len(drawn()) == before
    bpy.ops.pose.chain_ik_compare_clear()
    assert not drawn()


def pixels(
    in_scene: Callable[[], None] = ghosts.draw_in_scene,
    on_screen: Callable[[], None] = ghosts.draw_on_screen,
) -> Pixels:
    """Return what is drawn of ghosts; what is out of date for Blender fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, states = draw(in_scene, on_screen)
    assert states == [("NONE", "NONE")] * 2
    return found


@needs_gpu
def test_pixels_of_lines_are_between_joints_and_those_of_dots_at_them():
    gpu.init()
    # Others lie over it here and there.
    for row in (row for name, row in compared(limb("tail").ob).items() if name != "Newton"):
        row.joints.clear()
    with in_viewport():
        (ghost,) = drawn()
        joints, colour = ghost.joints, np.array(ghost.colour[:3])
        lines, dots = pixels(on_screen=lambda: None), pixels(in_scene=lambda: None)
        for i, (start, end) in enumerate(pairwise(joints)):
            for found, point in ((lines, 0.5 * (start + end)), (dots, start)):
                # Inside of the edge of a dot.
                around = around_point(found, point)[1:4, 1:4]
                best = around[around[..., 3] == around[..., 3].max()][0]
                assert best[3] > 0.5, i
                # Brighter where the colour is brighter.
                assert (best[:3].argsort() == colour.argsort()).all(), i
        bpy.context.space_data.overlay.show_overlays = False
        assert not pixels().any()


def test_names_that_would_lie_on_each_other_stand_below_each_other():
    places = [(10.0, 50.0), (12.0, 50.3), (11.0, 49.9), (400.0, 50.0), (10.0, 20.0)]
    found = ghosts.side_by_side(places, 16.0)
    assert found[0] == places[0]
    assert found[3] == places[3]
    assert [x for x, _ in found] == [x for x, _ in places]
    for i, (x, y) in enumerate(found):
        for a, b in found[:i]:
            assert abs(x - a) > 100.0 or abs(y - b) >= 16.0
    column = sorted([y for x, y in found if x < 100.0], reverse=True)
    assert np.allclose(-np.diff(column), 16.0, atol=0.5), "no gaps"
