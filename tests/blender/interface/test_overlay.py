"""What the overlay draws in a viewport, and that it keeps nothing too long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import bpy
import gpu
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.overlay import viewport
from blender_ik_addon.overlay.colours import read_colours
from blender_ik_addon.overlay.gathering import find_view, gather
from blender_ik_addon.overlay.known import known
from blender_ik_addon.overlay.strokes import Strokes
from tests.blender.setups import jointed_rigs, rigs

NEAR, FAR = (0.6, 0.5, 1.2), (0.0, 0.0, 3.01)
SIZE = 400
needs_gpu = pytest.mark.skipif(
    not hasattr(gpu, "init"), reason="before 5.2 the module starts no graphics card by itself"
)


@pytest.fixture
def seen() -> Iterator[None]:
    """A context in which the first viewport is drawn."""
    with in_viewport():
        yield


@contextmanager
def in_viewport() -> Iterator[None]:
    """Have the first viewport of the file that is open drawn; nothing is known of it."""
    known.clear()
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield
    known.clear()


def strokes() -> Strokes:
    """Return what would be drawn now, made anew where something has changed."""
    known.settle()
    colours = read_colours(bpy.context)
    found = find_view(bpy.context, known, colours)
    return Strokes() if found is None else gather(bpy.context, known, *found)


def colour_of_lines() -> set[tuple[float, ...]]:
    """Return the colours of all chains."""
    points, colours = strokes().thick.join()
    assert len(points) == len(colours)
    return {tuple(np.round(each, 3)) for each in colours.tolist()}


def theme(name: str) -> set[tuple[float, ...]]:
    """Return a colour of the theme, as ``colour_of_lines`` does."""
    return {tuple(np.round(getattr(read_colours(bpy.context), name), 3))}


def test_a_chain_is_a_line_through_its_joints(seen: None) -> None:
    ob, _ = rigs.make_arm()
    points, _ = strokes().thick.join()
    joints = [rigs.head(ob, "Bone.0"), rigs.head(ob, "Bone.1"), rigs.tail(ob, "Bone.1")]
    np.testing.assert_allclose(points, np.array(joints)[[0, 1, 1, 2]], atol=1e-6)


def test_chains_follow_what_moves(seen: None) -> None:
    ob, target = rigs.make_arm()
    strokes()
    target.location = (-0.5, 0.6, 0.9)
    bpy.context.view_layer.update()
    points, _ = strokes().thick.join()
    np.testing.assert_allclose(points[-1], rigs.tail(ob, "Bone.1"), atol=1e-6)
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


@pytest.mark.parametrize(
    ("item", "kind"),
    [
        ("show_chains", "thick"),
        ("show_joints", "dots"),
        ("show_reach", "rims"),
        ("show_poles", "areas"),
        ("show_text", "words"),
        ("show_target_lines", "thin"),
    ],
)
def test_each_item_can_be_switched_off(seen: None, item: str, kind: str) -> None:
    ob, _ = rigs.make_arm(FAR)
    ob.chain_ik.chains[0].pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()

    def count() -> int:
        pieces = getattr(strokes(), kind)
        return len(pieces) if isinstance(pieces, list) else len(pieces.points)

    before = count()
    setattr(bpy.context.scene.chain_ik.overlay, item, False)
    assert count() < before


def test_limits_can_be_switched_off(seen: None) -> None:
    ob, _ = rigs.make_arm(NEAR)
    jointed_rigs.give(ob.chain_ik.chains[0], "Bone.1", "CONE", cone=80.0)
    bpy.context.view_layer.objects.active = ob
    bpy.context.view_layer.update()
    assert strokes().areas.points
    bpy.context.scene.chain_ik.overlay.show_limits = False
    assert not strokes().areas.points


@pytest.mark.parametrize("is_live", [True, False])
@pytest.mark.parametrize("of_bone", [True, False])
def test_limits_that_have_been_changed_are_drawn_anew(
    seen: None, of_bone: bool, is_live: bool
) -> None:
    ob, _ = rigs.make_arm(NEAR)
    joint = jointed_rigs.give(ob.chain_ik.chains[0], "Bone.0", "CONE", cone=80.0)
    bone = ob.pose.bones["Bone.1"]
    bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    bpy.context.scene.chain_ik.use_live = is_live
    bpy.context.view_layer.update()
    before, _ = strokes().areas.join()
    if of_bone:
        bone.ik_max_x = 0.7
    else:
        joint.cone_angle = 0.7
    bpy.context.view_layer.update()
    after, _ = strokes().areas.join()
    assert before.shape != after.shape or np.abs(before - after).max() > 0.01


def test_no_limits_are_kept_that_are_drawn_no_longer(seen: None) -> None:
    ob, _ = rigs.make_arm(NEAR)
    jointed_rigs.give(ob.chain_ik.chains[0], "Bone.0", "CONE", cone=80.0)
    bone = ob.pose.bones["Bone.1"]
    bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    rigs.key(ob, 'pose.bones["Bone.1"].ik_max_x', {1: 0.5, 50: 1.5})
    seen_lines = set()
    for frame in range(1, 50, 6):
        bpy.context.scene.frame_set(frame)
        points, _ = strokes().areas.join()
        seen_lines.add(points.tobytes())
        assert len(known.shapes) == 2
    assert len(seen_lines) == 9


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


def test_chains_that_come_and_go_are_seen_at_once(seen: None) -> None:
    ob = rigs.make_rig()
    assert not strokes().thick.points
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=NEAR))
    bpy.context.view_layer.update()
    assert len(strokes().thick.join()[0]) == 4
    ob.chain_ik.chains[0].chain_count = 1
    bpy.context.view_layer.update()
    assert len(strokes().thick.join()[0]) == 2
    ob.chain_ik.chains[0].bone = "Nobody"
    bpy.context.view_layer.update()
    assert not strokes().thick.points


def test_a_renamed_armature_is_still_seen(seen: None) -> None:
    ob, target = rigs.make_arm()
    strokes()
    ob.name = "Another"
    target.location.x += 0.1
    bpy.context.view_layer.update()
    assert len(strokes().thick.join()[0]) == 4


def load_rig(path: Path) -> bpy.types.Object:
    """Save an arm to a file, and return it linked into a new one."""
    rigs.make_arm(name="Rig")
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_found, wanted):
        wanted.objects = ["Rig"]
    return rigs.link(wanted.objects[0])


def check_both_are_drawn(one: bpy.types.Object, other: bpy.types.Object) -> None:
    """Check that the lines of two arms of one name are those of each."""
    bpy.context.view_layer.update()
    for _ in range(2):
        points, _ = strokes().thick.join()
        ends = np.array([rigs.tail(ob, "Bone.1") for ob in (one, other)])
        ends = ends[np.lexsort(ends.T.round(3))]
        assert len(points) == 8
        drawn = points[3::4]
        np.testing.assert_allclose(drawn[np.lexsort(drawn.T.round(3))], ends, atol=1e-5)
        bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)


@pytest.mark.parametrize("is_linked_first", [True, False])
def test_a_linked_rig_and_a_local_one_of_its_name_are_both_drawn(
    tmp_path: Path, is_linked_first: bool
) -> None:
    linked = load_rig(tmp_path / "library.blend")
    local, _ = rigs.make_arm((0.6, 0.5, 0.4), name="Rig")
    assert local.name == linked.name
    collection = bpy.context.scene.collection
    if not is_linked_first:
        collection.objects.unlink(linked)
        rigs.link(linked)
    with in_viewport():
        check_both_are_drawn(linked, local)


def test_a_linked_rig_beside_its_override_and_one_whose_library_has_moved_are_drawn(
    tmp_path: Path,
) -> None:
    linked = load_rig(tmp_path / "library.blend")
    override = linked.override_create()
    rigs.link(override)
    override.location.x += 3.0
    assert override.name == linked.name
    with in_viewport():
        check_both_are_drawn(linked, override)
        linked.library.filepath = str(tmp_path / "elsewhere.blend")
        check_both_are_drawn(linked, override)


def test_armatures_without_chains_leave_what_is_known_alone(seen: None) -> None:
    rigs.make_arm()
    other = rigs.make_rig(name="Other")
    bpy.context.view_layer.update()
    strokes()
    before = dict(known.names)
    rigs.turn_bones(other)
    assert known.names == before
    assert before


def test_nothing_is_computed_while_it_is_off(seen: None) -> None:
    _, target = rigs.make_arm()
    strokes()
    bpy.context.scene.chain_ik.overlay.show_overlay = False
    target.location.x += 0.1
    bpy.context.view_layer.update()
    assert viewport.find_drawn(bpy.context) is None
    assert not any(vars(known).values()), known
    bpy.context.scene.chain_ik.overlay.show_overlay = True
    bpy.context.space_data.overlay.show_overlays = False
    assert viewport.find_drawn(bpy.context) is None


def test_undo_and_load_leave_nothing_known(seen: None) -> None:
    rigs.make_arm()
    strokes()
    assert known.rigs
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert not any(vars(known).values()), known


@needs_gpu
def test_what_is_drawn_is_kept_until_something_changes(seen: None) -> None:
    gpu.init()
    _, target = rigs.make_arm()
    first, _ = viewport.find_drawn(bpy.context)
    assert viewport.find_drawn(bpy.context)[0] is first
    target.location.x += 0.1
    bpy.context.view_layer.update()
    assert viewport.find_drawn(bpy.context)[0] is not first


@needs_gpu
def test_colours_that_a_person_tries_are_not_all_kept(seen: None) -> None:
    gpu.init()
    ob, _ = rigs.make_arm()
    bpy.context.view_layer.objects.active = ob
    interface = bpy.context.preferences.themes[0].user_interface
    before, first = tuple(interface.gizmo_primary), viewport.find_drawn(bpy.context)
    for number in range(100):
        interface.gizmo_primary = (0.01 * number, 0.5, 0.5)
        assert viewport.find_drawn(bpy.context) != first
        assert 0 < len(known.drawn) <= 40
    interface.gizmo_primary = before


def draw() -> tuple[npt.NDArray[np.float64], list[tuple[str, str]]]:
    """Return the pixels that the callbacks draw, (h, w, 4), and the state after each of them."""
    view = bpy.context.region_data
    view.view_perspective = "ORTHO"
    view.view_rotation, view.view_distance = (0.5, 0.5, 0.5, 0.5), 8.0
    view.view_location = (0.0, 0.0, 1.0)
    view.update()
    image = gpu.types.GPUOffScreen(SIZE, SIZE)
    with image.bind():
        buffer = gpu.state.active_framebuffer_get()
        buffer.clear(color=(0.0, 0.0, 0.0, 0.0))
        with gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
            gpu.matrix.load_matrix(view.view_matrix)
            gpu.matrix.load_projection_matrix(view.window_matrix)
            viewport.draw_in_scene()
        states = [(gpu.state.blend_get(), gpu.state.depth_test_get())]
        viewport.draw_on_screen()
        states.append((gpu.state.blend_get(), gpu.state.depth_test_get()))
        pixels = buffer.read_color(0, 0, SIZE, SIZE, 4, 0, "FLOAT")
    found = np.array(pixels.to_list()).reshape(SIZE, SIZE, 4)
    image.free()
    return found, states


@needs_gpu
def test_pixels_of_a_chain_are_green_and_there_are_none_when_it_is_off(seen: None) -> None:
    gpu.init()
    ob, _ = rigs.make_arm()
    for item in ("show_joints", "show_target_lines"):
        setattr(bpy.context.scene.chain_ik.overlay, item, False)
    pixels, _ = draw()
    middle = 0.5 * (rigs.head(ob, "Bone.0") + rigs.head(ob, "Bone.1"))
    matrix = np.array(bpy.context.region_data.perspective_matrix)
    seen_at = (matrix @ [*middle, 1.0])[:2] * 0.5 + 0.5
    column, row = (seen_at * SIZE).astype(int).tolist()
    around = pixels[row - 2 : row + 3, column - 2 : column + 3]
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
