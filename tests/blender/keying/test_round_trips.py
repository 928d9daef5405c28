"""Exports, live and baked, brought in again: what each format holds, as the documentation says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import addon_utils
import bpy
import numpy as np
import pytest

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

FRAMES = range(1, 13)
KEYED = (1, 5, 9, 12)
LENGTH = 5
CLOSE = 1e-4
"""A share of the length."""


def make_live() -> np.ndarray:
    """Make a tail that follows a keyed target, and return where that is by frame, shape (f, 3)."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    ob = rigs.make_armature("Rig")
    ob.location, ob.rotation_euler = (0.3, -0.2, 0.5), (0.3, -0.2, 0.7)
    bpy.context.view_layer.update()
    joints = rigs.zigzag(LENGTH, seed=LENGTH)
    modes = ["XYZ", *["QUATERNION"] * (LENGTH - 1)]
    tip = rigs.add_bones(ob, joints, prefix="Tail", modes=modes)[-1]
    # It tells where the tip's tail is: formats hold heads.
    rigs.add_bones(ob, (joints[-1], joints[-1] + (0, 0, 0.2)), prefix="End", parent=tip)
    # Exports of deforming bones leave it out.
    (control,) = rigs.add_bones(ob, ((0, 2, 0), (0, 2, 1)), prefix="Control")
    ob.data.bones[control].use_deform = False
    target = rigs.make_empty()
    ways = make_rng(LENGTH).normal(size=(len(KEYED), 3))
    ways *= 0.75 * LENGTH / np.linalg.norm(ways, axis=1, keepdims=True)
    rigs.key(target, "location", dict(zip(KEYED, ways + np.array(ob.location), strict=True)))
    rigs.add_chain(ob, tip, target, chain_count=LENGTH)
    select_objects(active=ob)
    return np.array([rigs.position(target, rigs.go_to(frame)) for frame in FRAMES])


def tips() -> np.ndarray:
    """Return where the end bone of the only armature is, by frame."""
    (ob,) = (each for each in bpy.data.objects if each.type == "ARMATURE")
    end = next(bone.name for bone in ob.data.bones if "End" in bone.name)
    return np.array([rigs.head(ob, end, rigs.go_to(frame)) for frame in FRAMES])


def assert_on_targets(found: np.ndarray, targets: np.ndarray) -> None:
    assert np.linalg.norm(found - targets, axis=1).max() <= CLOSE * LENGTH


def gltf(path: str) -> Callable[[], object]:
    # Else each action is an animation of its own, and Blender brings in the first of them.
    mode = "ACTIVE_ACTIONS"
    bpy.ops.export_scene.gltf(filepath=path, export_animation_mode=mode, export_def_bones=True)
    return lambda: bpy.ops.import_scene.gltf(
        filepath=path, bone_heuristic="BLENDER", disable_bone_shape=True
    )


def fbx(path: str) -> Callable[[], object]:
    bpy.ops.export_scene.fbx(
        filepath=path,
        use_armature_deform_only=True,
        add_leaf_bones=False,
        bake_anim_use_all_actions=False,
        bake_anim_use_nla_strips=False,
        bake_anim_simplify_factor=0.0,
    )
    return lambda: bpy.ops.import_scene.fbx(filepath=path, anim_offset=0.0)


def usd(path: str) -> Callable[[], object]:
    bpy.ops.wm.usd_export(filepath=path, export_animation=True, only_deform_bones=True)
    return lambda: bpy.ops.wm.usd_import(filepath=path)


def gltf_of_scene(path: str) -> Callable[[], object]:
    bpy.ops.export_scene.gltf(
        filepath=path, export_animation_mode="SCENE", export_anim_scene_split_object=False
    )
    return lambda: bpy.ops.import_scene.gltf(filepath=path)


def bvh(path: str) -> Callable[[], object]:
    bpy.ops.export_anim.bvh(
        filepath=path, frame_start=FRAMES[0], frame_end=FRAMES[-1], root_transform_only=False
    )
    return lambda: bpy.ops.import_anim.bvh(filepath=path, axis_forward="Y", axis_up="Z")


# How it is exported, and whether it was baked before.
EXPORTS = {
    "glTF, baked": (gltf, True),
    "FBX, baked": (fbx, True),
    "USD, baked": (usd, True),
    "glTF, Scene": (gltf_of_scene, False),
    "FBX, the present animation": (fbx, False),
    "BVH": (bvh, False),
}
ENDINGS = {"glTF": "glb", "FBX": "fbx", "USD": "usdc", "BVH": "bvh"}
ADDONS = ("io_scene_gltf2", "io_scene_fbx", "io_anim_bvh")


def available(names: Iterable[str]) -> list[object]:
    """Return what can be tried: Debian's Blender is built without some formats."""
    options = bpy.app.build_options
    return [
        pytest.param(
            name,
            marks=pytest.mark.skipif(
                not getattr(options, name.split(",")[0].lower(), True),
                reason=f"this Blender is built without {name}, as Debian's is",
            ),
        )
        for name in names
    ]


@pytest.fixture
def addons() -> Iterator[None]:
    # Those that were on before stay on, for the tests that follow.
    added = [name for name in ADDONS if not addon_utils.check(name)[1]]
    for name in added:
        addon_utils.enable(name)
    yield
    for name in added:
        addon_utils.disable(name)


@pytest.mark.usefixtures("addons")
@pytest.mark.parametrize("what", available(EXPORTS))
def test_exports_hold_what_chains_do(what, tmp_path):
    export, is_baked = EXPORTS[what]
    targets = make_live()
    if what == "BVH":
        # The format knows no object: bones are in armature space.
        bpy.data.objects["Rig"].location = bpy.data.objects["Rig"].rotation_euler = (0, 0, 0)
        targets = tips()
    if is_baked:
        press(bpy.ops.pose.chain_ik_bake, which="ALL")
    assert_on_targets(tips(), targets)
    bring_in = export(str(tmp_path / f"rig.{ENDINGS[what.split(',')[0]]}"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bring_in()
    if is_baked:
        assert not any(each.chain_ik.chains for each in bpy.data.objects)
        assert not [b for each in bpy.data.armatures for b in each.bones if "Control" in b.name]
    assert_on_targets(tips(), targets)
