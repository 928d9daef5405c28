"""Where Blender plays frames by itself: what it sees of live chains, as the documentation says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import bpy
import numpy as np
import pytest

from tests.blender.keying import test_round_trips as trips
from tests.blender.setups import rigs
from tests.blender.setups.renders import looking
from tests.blender.setups.selecting import select_bones, select_objects

LAST = 12
FRAMES = range(1, LAST + 1)
SWING = {1: (0.7, 0.3, 1.2), 5: (-0.6, 0.9, 0.8), LAST: (0.2, -0.7, 1.4)}
# Poses are float32, and curves are read as float32.
SAME = 1e-5


@pytest.fixture(autouse=True)
def short_scene(empty_scene):
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, LAST
    scene.frame_set(1)


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


def gltf_of_scene(path: str) -> Callable[[], object]:
    bpy.ops.export_scene.gltf(
        filepath=path, export_animation_mode="SCENE", export_anim_scene_split_object=False
    )
    return lambda: bpy.ops.import_scene.gltf(filepath=path)


def gltf_of_actions(path: str) -> Callable[[], object]:
    bpy.ops.export_scene.gltf(filepath=path)
    return lambda: bpy.ops.import_scene.gltf(filepath=path)


def fbx_of_all_actions(path: str) -> Callable[[], object]:
    bpy.ops.export_scene.fbx(filepath=path)
    return lambda: bpy.ops.import_scene.fbx(filepath=path, anim_offset=0.0)


EXPORTS = {
    "glTF, Scene": ("glb", gltf_of_scene, True),
    "glTF, Actions": ("glb", gltf_of_actions, False),
    "FBX, the present animation": ("fbx", trips.fbx, True),
    "FBX, All Actions": ("fbx", fbx_of_all_actions, False),
    "USD": ("usdc", trips.usd, False),
}


@pytest.mark.slow
@pytest.mark.usefixtures("addons")
@pytest.mark.parametrize("what", EXPORTS)
def test_exports_of_live_chains_are_right_or_do_not_move_at_all(what, tmp_path):
    ending, export, is_right = EXPORTS[what]
    if ending == "usdc" and not bpy.app.build_options.usd:
        pytest.skip("this Blender is built without USD, as Debian's is")
    targets = trips.make_live()
    bring_in = export(str(tmp_path / f"rig.{ending}"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bring_in()
    found = trips.tips()
    if is_right:
        trips.assert_on_targets(found, targets)
    else:
        for name, places in found.items():
            assert np.ptp(places, axis=0).max() < SAME, name
            assert off(places, targets[name]) > 1.0, name


addons = trips.addons


@pytest.mark.slow
@pytest.mark.usefixtures("addons")
def test_bvh_holds_what_live_chains_do(tmp_path):
    trips.make_live()
    ob, path = bpy.data.objects["Rig"], str(tmp_path / "rig.bvh")
    # The format knows no object: bones are in armature space.
    ob.location = ob.rotation_euler = (0, 0, 0)
    expected = trips.tips()
    bpy.ops.export_anim.bvh(filepath=path, frame_start=1, frame_end=LAST, root_transform_only=False)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bpy.ops.import_anim.bvh(filepath=path, axis_forward="Y", axis_up="Z")
    found = trips.tips()
    trips.assert_on_targets(found, expected)


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
