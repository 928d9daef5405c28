"""Baked rigs go out as glTF, FBX and USD and come in again: what deforms, and its motion."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import NamedTuple

import addon_utils
import bpy
import numpy as np
import pytest
from mathutils import Vector

from tests.blender.controls import test_character_clips as clips
from tests.blender.keying.test_export import make_skin
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press, select_objects
from tests.helpers import make_rng

pytestmark = pytest.mark.slow

FRAMES = range(1, 13)
KEYED = (1, 5, 9, 12)
CLOSE = 1e-4
"""A share of the length."""
EXACT = 5e-5
"""Of world matrices and places in metres; files keep a human to 2e-5, and 5e-4 can be seen."""
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
    assert_on_targets(tips(), targets)


metarig = clips.metarig


class Character(NamedTuple):
    """What is seen of the only armature and its skin, in world space.

    Attributes:
        parents: Of its bones, by name.
        rests: Rest matrices of these, shape (n, 4, 4).
        poses: Frame by frame, shape (f, n, 4, 4).
        corners: Of the skin, shape (f, c, 3).
    """

    parents: dict[str, str]
    rests: np.ndarray
    poses: np.ndarray
    corners: np.ndarray


def plain(name: str) -> str:
    """Return a bone's name as USD writes it."""
    return name.replace(".", "_")


def see(without: Collection[str] = ()) -> Character:
    """Return what is seen of the character, but for some bones."""
    (ob,) = (each for each in bpy.data.objects if each.type == "ARMATURE")
    (skin,) = (each for each in bpy.context.scene.objects if each.type == "MESH")
    bones = sorted(set(ob.data.bones.keys()) - set(without), key=plain)
    poses, corners = [], []
    for frame in FRAMES:
        depsgraph = rigs.go_to(frame)
        shown, mesh = (rigs.evaluated(each, depsgraph) for each in (ob, skin))
        poses.append([shown.matrix_world @ shown.pose.bones[name].matrix for name in bones])
        corners.append([mesh.matrix_world @ vertex.co for vertex in mesh.data.vertices])
    rests = [ob.matrix_world @ ob.data.bones[name].matrix_local for name in bones]
    parents = {
        plain(name): plain(parent.name) if (parent := ob.data.bones[name].parent) else ""
        for name in bones
    }
    return Character(parents, np.array(rests), np.array(poses), np.array(corners))


def animate(ob: bpy.types.Object) -> None:
    """Key the controls of a human: it goes on, crouches and turns, and rolls its feet."""
    for number, (frame, roll) in enumerate(zip(KEYED, (0, 30, 70, -25), strict=True)):
        clips.key(ob, "Root", frame, (0.1 * number, -0.2 * number, 0), (0, 0, 0.2 * number))
        torso = (0, 0.02 * number, -0.05 - 0.08 * (number % 2))
        clips.key(ob, ob.chain_ik.body.root, frame, torso, (0, 0.1 * number, 0.1))
        for side, sign in (("L", 1), ("R", -1)):
            hand, foot = (clips.target(ob, f"{limb}.{side}") for limb in ("Arm", "Leg"))
            place = (0.05 * sign * number, -0.1 * number, 0.1 * number)
            clips.key(ob, hand, frame, place, (0.2 * number, 0, 0.1 * sign))
            clips.key(ob, foot, frame, (0, -0.04 * sign * number, 0.02 * number))
            ob.pose.bones[foot]["Foot Roll"] = np.radians(roll)
            ob.pose.bones[foot].keyframe_insert('["Foot Roll"]', frame=frame)


@pytest.mark.usefixtures("addons")
def test_an_export_after_a_bake_holds_the_deforming_bones_alone_and_the_same_motion(
    metarig, tmp_path
):
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    metarig.location, metarig.rotation_euler = (0.3, -0.2, 0.5), (0.0, 0.0, 0.7)
    points = {bone.name: bone.head_local for bone in metarig.data.bones}
    make_skin(metarig, points).parent = metarig
    select_objects(active=metarig)
    press(bpy.ops.pose.chain_ik_setup, control="BONE")
    added = set(metarig.data.bones.keys()) - set(points)
    assert {"Root", "Arm Target.L", "Leg Ankle.L"} < added
    animate(metarig)
    before = see(without=added)
    assert np.ptp(before.corners, axis=0).max() > 0.5
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    bring_in = gltf(str(tmp_path / "human.glb"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    bring_in()
    after = see()
    assert after.parents == before.parents
    np.testing.assert_allclose(after.rests, before.rests, atol=EXACT)
    np.testing.assert_allclose(after.poses, before.poses, atol=EXACT)
    np.testing.assert_allclose(after.corners, before.corners, atol=EXACT)
