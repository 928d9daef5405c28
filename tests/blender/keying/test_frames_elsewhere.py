"""Where Blender plays frames by itself: what it sees of live chains, as the documentation says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.renders import looking
from tests.blender.setups.selecting import select_bones, select_objects

LAST = 12
FRAMES = range(1, LAST + 1)
SWING = {1: (0.7, 0.3, 1.2), 5: (-0.6, 0.9, 0.8), LAST: (0.2, -0.7, 1.4)}
# Poses are float32, and curves are read as float32.
SAME = 1e-5


def make_arm():
    """Return an arm without keys whose target swings, and the target."""
    ob, target = rigs.make_arm()
    rigs.key(target, "location", SWING)
    select_objects(active=ob)
    return ob, target


def read(where: Callable[[bpy.types.Depsgraph], object], frames: Sequence[int] = FRAMES):
    return np.array([where(rigs.go_to(frame)) for frame in frames])


def off(found, expected) -> float:
    """Return the greatest distance."""
    return float(np.linalg.norm(np.subtract(found, expected), axis=-1).max())


@pytest.mark.parametrize("visual_keying", [False, True])
def test_blender_s_bake_action_keys_what_live_chains_do(visual_keying):
    ob, target = make_arm()
    expected = read(lambda depsgraph: rigs.pose(ob, depsgraph))
    select_bones(ob, [bone.name for bone in ob.pose.bones])
    rigs.go_to(3)
    bpy.ops.nla.bake(
        frame_start=1, frame_end=LAST, visual_keying=visual_keying, bake_types={"POSE"}
    )
    # First the chain beside its keys; muted, the keys play alone, wherever the target is.
    for is_muted in (False, True):
        ob.chain_ik.chains[0].mute = is_muted
        if is_muted:
            target.animation_data_clear()
        found = read(lambda depsgraph: rigs.pose(ob, depsgraph))
        np.testing.assert_allclose(found, expected, atol=SAME)


def test_scene_strips_render_what_live_chains_do(tmp_path):
    ob, target = make_arm()
    shot = bpy.context.scene
    shot.camera = rigs.link(bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera")))
    cut = bpy.data.scenes.new("Cut")
    editor = cut.sequence_editor_create()
    (editor.strips if hasattr(editor, "strips") else editor.sequences).new_scene("Shot", shot, 1, 1)
    cut.frame_start, cut.frame_end = 5, 7
    cut.render.filepath = str(tmp_path / "cut")
    for scene in (cut, shot):
        scene.render.resolution_x = scene.render.resolution_y = 4

    def gap(depsgraph):
        return rigs.tail(ob, "Bone.1", depsgraph) - rigs.position(target, depsgraph)

    before = shot.render.engine
    with looking(gap, ()) as seen:
        shot.render.engine = "CHAIN_IK_LOOKING"
        bpy.ops.render.render(animation=True, scene="Cut")
        shot.render.engine = before
    assert sorted(seen) == [5, 6, 7]
    assert off(list(seen.values()), np.zeros(3)) < rigs.REACHED
