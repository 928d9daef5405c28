"""Live and baked exports, imported again: formats keep what the documentation says."""

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
TIP_TOLERANCE = 1e-4
"""Tolerance as a share of the tail's length."""


def make_tail() -> tuple[bpy.types.Object, str, str]:
    """Return a tail without a chain, and the names of its tip and of a separate control bone."""
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    ob = rigs.make_armature("Rig")
    rigs.change(ob, location=(0.3, -0.2, 0.5), rotation_euler=(0.3, -0.2, 0.7))
    joints = rigs.zigzag(LENGTH, seed=LENGTH)
    modes = ["XYZ", *["QUATERNION"] * (LENGTH - 1)]
    tip = rigs.add_bones(ob, joints, prefix="Tail", modes=modes)[-1]
    # Its head marks the tail of the tip: formats keep only heads.
    rigs.add_bones(ob, (joints[-1], joints[-1] + (0, 0, 0.2)), prefix="End", parent=tip)
    # Exports of deforming bones omit the control.
    (control,) = rigs.add_bones(ob, ((0, 2, 0), (0, 2, 1)), prefix="Control")
    ob.data.bones[control].use_deform = False
    return ob, tip, control


def tips() -> np.ndarray:
    """Return the head of the end bone of the only armature, by frame, shape (f, 3)."""
    (ob,) = (item for item in bpy.data.objects if item.type == "ARMATURE")
    end = next(bone.name for bone in ob.data.bones if "End" in bone.name)
    return np.array([rigs.head(ob, end, rigs.go_to(frame)) for frame in FRAMES])


def assert_on_targets(points: np.ndarray, targets: np.ndarray) -> None:
    assert np.linalg.norm(points - targets, axis=1).max() <= TIP_TOLERANCE * LENGTH


def play(ob: bpy.types.Object, action: bpy.types.Action) -> np.ndarray:
    """Play only this action on the only armature, and return its tip by frame, shape (f, 3)."""
    data = ob.animation_data or ob.animation_data_create()
    for track in list(data.nla_tracks):
        data.nla_tracks.remove(track)
    data.action = action
    if getattr(data, "action_slot", True) is None and data.action_suitable_slots:
        data.action_slot = data.action_suitable_slots[0]
    return tips()


# Exporter and its settings, importer and its settings, and file extension. By default glTF has one
# animation for each action, and Blender imports the first of them.
FBX = {
    **{"use_armature_deform_only": True, "add_leaf_bones": False, "bake_anim_simplify_factor": 0.0},
    **{"bake_anim_use_all_actions": False, "bake_anim_use_nla_strips": False},
}
GLTF = {"export_animation_mode": "ACTIVE_ACTIONS", "export_def_bones": True}
SCENE = {"export_animation_mode": "SCENE", "export_anim_scene_split_object": False}
USD = {"export_animation": True, "only_deform_bones": True}
BVH = {"frame_start": FRAMES[0], "frame_end": FRAMES[-1], "root_transform_only": False}
AXES = {"axis_forward": "Y", "axis_up": "Z"}
AS_BLENDER = {"bone_heuristic": "BLENDER", "disable_bone_shape": True}
EXPORTS = {
    "glTF, baked": ("export_scene.gltf", GLTF, "import_scene.gltf", AS_BLENDER, "glb"),
    "FBX, baked": ("export_scene.fbx", FBX, "import_scene.fbx", {"anim_offset": 0.0}, "fbx"),
    "USD, baked": ("wm.usd_export", USD, "wm.usd_import", {}, "usdc"),
    "glTF, Scene": ("export_scene.gltf", SCENE, "import_scene.gltf", {}, "glb"),
    "FBX, present": ("export_scene.fbx", FBX, "import_scene.fbx", {"anim_offset": 0.0}, "fbx"),
    "BVH": ("export_anim.bvh", BVH, "import_anim.bvh", AXES, "bvh"),
}
ADDONS = ("io_scene_gltf2", "io_scene_fbx", "io_anim_bvh")


def operator(name: str) -> Callable[..., set[str]]:
    module, _, function = name.partition(".")
    return getattr(getattr(bpy.ops, module), function)


def available(names: Iterable[str]) -> list[object]:
    """Return exports as parameters that skip missing formats: Debian's Blender lacks some."""
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
    # Add-ons that are enabled already stay enabled for the following tests.
    added = [name for name in ADDONS if not addon_utils.check(name)[1]]
    for name in added:
        addon_utils.enable(name)
    yield
    for name in added:
        addon_utils.disable(name)


@pytest.mark.usefixtures("addons")
@pytest.mark.parametrize("what", available(EXPORTS))
def test_exports_hold_what_chains_do(what, tmp_path):
    exporter, export_settings, importer, import_settings, extension = EXPORTS[what]
    ob, tip, _ = make_tail()
    target, is_baked = rigs.make_empty(), "baked" in what
    points = make_rng(LENGTH).normal(size=(len(KEYED), 3))
    points *= 0.75 * LENGTH / np.linalg.norm(points, axis=1, keepdims=True)
    rigs.key(target, "location", dict(zip(KEYED, points + np.array(ob.location), strict=True)))
    rigs.add_chain(ob, tip, target, chain_count=LENGTH)
    select_objects(active=ob)
    targets = np.array([rigs.position(target, rigs.go_to(frame)) for frame in FRAMES])
    if what == "BVH":
        # The format has no objects: its bones are in armature space.
        bpy.data.objects["Rig"].location = bpy.data.objects["Rig"].rotation_euler = (0, 0, 0)
        targets = tips()
    if is_baked:
        press(bpy.ops.pose.chain_ik_bake, which="ALL")
    assert_on_targets(tips(), targets)
    path = str(tmp_path / f"rig.{extension}")
    operator(exporter)(filepath=path, **export_settings)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    operator(importer)(filepath=path, **import_settings)
    if is_baked:
        assert not any(item.chain_ik.chains for item in bpy.data.objects)
        assert not [b for data in bpy.data.armatures for b in data.bones if "Control" in b.name]
    assert_on_targets(tips(), targets)


# Actions of an FBX file start at frame 0.
ALL_ACTIONS = {
    "glTF, baked": ({"export_animation_mode": "ACTIONS"}, {}),
    "FBX, baked": ({"bake_anim_use_all_actions": True}, {"anim_offset": 1.0}),
}


@pytest.mark.usefixtures("addons")
@pytest.mark.parametrize("what", available(ALL_ACTIONS))
def test_several_actions_hold_what_chains_do_that_are_muted_after_the_last_bake(what, tmp_path):
    exporter, export_settings, importer, import_settings, extension = EXPORTS[what]
    all_actions, offset = ALL_ACTIONS[what]
    ob, tip, control = make_tail()
    chain = rigs.add_chain(ob, tip, ob, chain_count=LENGTH, subtarget=control)
    select_objects(active=ob)
    moves = {}
    for seed, name in enumerate(("Idle", "Walk", "Run")):
        action, points = bpy.data.actions.new(name), make_rng(seed).normal(size=(len(KEYED), 3))
        play(ob, action)
        rigs.key(ob, f'pose.bones["{control}"].location', dict(zip(KEYED, points, strict=True)))
        moves[name] = play(ob, action)
        press(bpy.ops.pose.chain_ik_bake, which="ALL", mute=False)
    rigs.change(chain, mute=True)
    path = str(tmp_path / f"rig.{extension}")
    operator(exporter)(filepath=path, **export_settings | all_actions)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    operator(importer)(filepath=path, **import_settings | offset)
    (ob,) = (item for item in bpy.data.objects if item.type == "ARMATURE")
    for name, move in moves.items():
        (action,) = (item for item in bpy.data.actions if name in item.name)
        assert_on_targets(play(ob, action), move)
