"""Baked rigs go out as glTF, FBX and USD and come in again: what deforms, and its motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

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


def make_baked() -> Places:
    """Bake the same, and return the same."""
    targets = make_live()
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    return targets


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


FORMATS = {"glb": gltf, "fbx": fbx, "usdc": usd}
ADDONS = ("io_scene_gltf2", "io_scene_fbx", "io_anim_bvh")
AVAILABLE = [
    pytest.param(
        ending,
        marks=pytest.mark.skipif(
            ending == "usdc" and not bpy.app.build_options.usd,
            reason="this Blender is built without USD, as Debian's is",
        ),
    )
    for ending in FORMATS
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
@pytest.mark.parametrize("ending", AVAILABLE)
def test_a_baked_rig_comes_back_with_its_tips_on_their_targets(ending, tmp_path):
    targets = make_baked()
    assert min(np.ptp(places, axis=0).max() for places in targets.values()) > 1.0
    assert_on_targets(tips(), targets)
    bring_in = FORMATS[ending](str(tmp_path / f"rig.{ending}"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bring_in()
    assert not any(each.chain_ik.chains for each in bpy.data.objects)
    assert not [
        bone for each in bpy.data.armatures for bone in each.bones if "Control" in bone.name
    ]
    assert_on_targets(tips(), targets)
