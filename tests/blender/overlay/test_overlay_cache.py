"""The cache of the overlay between draws: complete, and never outdated."""

import bpy
import gpu
import numpy as np
import pytest

from blender_ik_addon.overlay import viewport
from blender_ik_addon.overlay.overlay_cache import cache
from tests.blender.overlay.viewports import REACHABLE, in_viewport, needs_gpu, strokes
from tests.blender.setups import jointed_rigs, rigs
from tests.blender.setups.saved_rigs import linked


@pytest.mark.parametrize("is_live", [True, False])
def test_limits_that_play_or_change_are_drawn_again(seen, is_live):
    ob, _ = rigs.make_arm(REACHABLE)
    joint = jointed_rigs.add_joint(ob.chain_ik.chains[0], "Bone.0", "CONE", cone=80.0)
    bone = ob.pose.bones["Bone.1"]
    bone.lock_ik_y = bone.lock_ik_z = bone.use_ik_limit_x = True
    bpy.context.view_layer.objects.active = ob
    bpy.context.scene.chain_ik.use_live = is_live
    rigs.key(ob, 'pose.bones["Bone.1"].ik_max_x', {1: 0.5, 50: 1.5})
    seen_lines = set()

    def record_lines() -> None:
        points, _ = strokes().areas.join()
        seen_lines.add(points.tobytes())

    for _ in rigs.each_frame(range(1, 50, 6)):
        record_lines()
    for holder, name in ((bone, "ik_max_x"), (joint, "cone_angle")):
        rigs.change(holder, **{name: 0.7})
        record_lines()
    assert len(seen_lines) == 11


def test_new_and_removed_chains_are_drawn_at_once_also_on_a_renamed_rig(seen):
    ob = rigs.make_rig()
    assert not strokes().thick.points
    rigs.add_chain(ob, "Bone.1", rigs.make_empty(location=REACHABLE))
    for ob.name in ("Rig", "Another"):
        bpy.context.view_layer.update()
        assert len(strokes().thick.join()[0]) == 4
    rigs.change(ob.chain_ik.chains[0], chain_count=1)
    assert len(strokes().thick.join()[0]) == 2
    rigs.change(ob.chain_ik.chains[0], bone="Nobody")
    assert not strokes().thick.points


def check_both_are_drawn(one: bpy.types.Object, other: bpy.types.Object) -> None:
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
def test_linked_rigs_a_local_one_and_an_override_of_one_name_are_all_drawn(
    tmp_path, is_linked_first
):
    rigs.make_arm(name="Rig")
    (of_library,) = linked(tmp_path / "library.blend", "Rig")
    local, _ = rigs.make_arm((0.6, 0.5, 0.4), name="Rig")
    assert local.name == of_library.name
    collection = bpy.context.scene.collection
    if not is_linked_first:
        collection.objects.unlink(of_library)
        rigs.link(of_library)
    with in_viewport():
        check_both_are_drawn(of_library, local)
    bpy.data.objects.remove(local)
    override = of_library.override_create()
    rigs.link(override)
    override.location.x += 3.0
    assert override.name == of_library.name
    with in_viewport():
        check_both_are_drawn(of_library, override)
        of_library.library.filepath = str(tmp_path / "elsewhere.blend")
        check_both_are_drawn(of_library, override)


@pytest.mark.parametrize("role", ["target", "pole_target"])
def test_a_removed_target_or_pole_is_not_drawn_even_before_the_next_update(seen, role):
    ob, _ = rigs.make_arm()
    chain = ob.chain_ik.chains[0]
    chain.pole_target = rigs.make_empty("Pole", (0.0, -2.0, 1.0))
    rigs.change(bpy.context.view_layer.objects, active=ob)
    before = strokes()
    bpy.data.objects.remove(getattr(chain, role))
    after = strokes()
    assert len(after.thick.join()[0]) == 4
    assert len(after.thin.join()[0]) < len(before.thin.join()[0])
    assert bool(after.areas.points) == (role == "target")


def test_nothing_is_computed_while_it_is_off_and_another_file_clears_the_cache(seen):
    _, target = rigs.make_arm()
    strokes()
    assert cache.rigs
    bpy.context.scene.chain_ik.overlay.show_overlay = False
    rigs.shift(target, x=0.1)
    assert viewport.find_drawn(bpy.context) is None
    assert not any(vars(cache).values()), cache
    bpy.context.scene.chain_ik.overlay.show_overlay = True
    bpy.context.space_data.overlay.show_overlays = False
    assert viewport.find_drawn(bpy.context) is None
    bpy.context.space_data.overlay.show_overlays = True
    strokes()
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    assert not any(vars(cache).values()), cache


@needs_gpu
def test_strokes_are_cached_until_they_change_but_not_for_all_colours(seen):
    gpu.init()
    ob, target = rigs.make_arm()
    bpy.context.view_layer.objects.active = ob
    first, _ = viewport.find_drawn(bpy.context)
    assert viewport.find_drawn(bpy.context)[0] is first
    rigs.shift(target, x=0.1)
    assert viewport.find_drawn(bpy.context)[0] is not first
    interface = bpy.context.preferences.themes[0].user_interface
    before, first = tuple(interface.gizmo_primary), viewport.find_drawn(bpy.context)
    for number in range(100):
        interface.gizmo_primary = (0.01 * number, 0.5, 0.5)
        assert viewport.find_drawn(bpy.context) != first
        assert 0 < len(cache.drawn) <= 40
    interface.gizmo_primary = before
