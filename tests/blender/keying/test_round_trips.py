"""Exports, live and baked, brought in again: what each format holds, as the documentation says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import addon_utils
import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

FRAMES = range(1, 13)
KEYED = (1, 5, 9, 12)
CLOSE = 1e-4
"""A share of the length."""
LENGTHS = {"Tail": 5.0, "Limb": 2.0}
Places = dict[str, np.ndarray]
"""By chain, shape (f, 3), world space."""


def add_limb(ob: bpy.types.Object, name: str, root: tuple[float, float, float]) -> None:
    """Add a chain that follows a keyed target, and a bone at its tip that tells where that is."""
    count = round(LENGTHS[name])
    joints = rigs.zigzag(count, seed=count) + root
    bones = rigs.add_bones(ob, joints, prefix=name, modes="XYZ" if name == "Limb" else "QUATERNION")
    rigs.add_bones(
        ob, (joints[-1], joints[-1] + (0, 0, 0.2)), prefix=f"{name}End", parent=bones[-1]
    )
    target = rigs.make_empty(name)
    around = np.array(ob.matrix_world @ Vector(joints[0]))
    ways = make_rng(count).normal(size=(len(KEYED), 3))
    ways *= 0.75 * LENGTHS[name] / np.linalg.norm(ways, axis=1, keepdims=True)
    rigs.key(target, "location", dict(zip(KEYED, ways + around, strict=True)))
    rigs.add_chain(ob, bones[-1], target, name=name, chain_count=count)


def make_live() -> Places:
    """Make a tail and a limb, and return where their targets are on each frame."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    ob = rigs.make_armature("Rig")
    ob.location, ob.rotation_euler = (0.3, -0.2, 0.5), (0.3, -0.2, 0.7)
    bpy.context.view_layer.update()
    add_limb(ob, "Tail", (0.0, 0.0, 0.0))
    add_limb(ob, "Limb", (1.5, 0.2, 0.0))
    # Exports of deforming bones leave it out.
    (control,) = rigs.add_bones(ob, ((0, 2, 0), (0, 2, 1)), prefix="Control")
    ob.data.bones[control].use_deform = False
    select_objects(active=ob)
    found: dict[str, list[np.ndarray]] = {name: [] for name in LENGTHS}
    for frame in FRAMES:
        depsgraph = rigs.go_to(frame)
        for name, places in found.items():
            places.append(rigs.position(bpy.data.objects[name], depsgraph))
    return {name: np.array(places) for name, places in found.items()}


def tips() -> Places:
    """Return where the end bones of the only armature are, frame by frame."""
    (ob,) = (each for each in bpy.data.objects if each.type == "ARMATURE")
    ends = {name: next(b.name for b in ob.data.bones if f"{name}End" in b.name) for name in LENGTHS}
    found: dict[str, list[np.ndarray]] = {name: [] for name in LENGTHS}
    for frame in FRAMES:
        depsgraph = rigs.go_to(frame)
        for name, places in found.items():
            places.append(rigs.head(ob, ends[name], depsgraph))
    return {name: np.array(places) for name, places in found.items()}


def assert_on_targets(found: Places, targets: Places) -> None:
    for name, places in targets.items():
        miss = np.linalg.norm(found[name] - places, axis=1).max()
        assert miss <= CLOSE * LENGTHS[name], f"{name}: {miss / LENGTHS[name]:.2e} of its length"


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
