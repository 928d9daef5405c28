"""A human that walks by a formula, like motion capture: keys on bones, feet that skate."""

import bpy
import numpy as np
from mathutils import Euler, Matrix, Vector

from blender_ik_addon.rig.reading.animation import bags_of_action, curves
from tests.blender.body.human_bodies import make_character
from tests.blender.setups.selecting import press
from tests.core.chains import unit
from tests.core.clips import walks

SIDES, SEED, RATE, SECONDS = "LR", 100, 30, 1.2
HEEL = (0.0459, 0.0)
"""Y and Z of the metarig's heels."""


def make() -> bpy.types.Object:
    """Return a metarig with Set Up Limbs whose bones walk; chains and controls have no keys."""
    human, scene = make_character(), bpy.context.scene
    bpy.context.view_layer.update()
    walk = walks.walk(SEED, RATE, SECONDS)
    paths = walks.spoiled(walk, "skate", SEED)
    root = walk.root[:, :2] + (paths - walk.paths).mean(axis=(0, 1))[:, :2]
    heading = np.unwrap(np.arctan2(*np.gradient(walk.root, axis=0)[:, 1::-1].T))
    scene.render.fps, scene.frame_end = RATE, len(root)
    scene.chain_ik.use_live = False
    for row in range(len(root)):
        frame = row + 1
        scene.frame_set(frame)
        hips = human.pose.bones["spine"]
        height = 0.92 + 0.02 * np.cos(4.0 * np.pi * row / RATE / 1.1)
        turn = Euler((0.0, 0.0, heading[row] + np.pi / 2.0)).to_matrix().to_4x4()
        rest = hips.bone.matrix_local.to_3x3().to_4x4()
        hips.matrix = Matrix.Translation(Vector((*root[row], height))) @ turn @ rest
        _key(hips, frame)
        for side, (heel, toe) in zip(SIDES, paths[:, :, row], strict=True):
            _stand(human, side, heel, toe)
            _key(human.pose.bones[f"Leg Target.{side}"], frame)
    scene.chain_ik.use_live = True
    press(bpy.ops.pose.chain_ik_bake, which="ALL")
    remove_control_keys(human)
    human.animation_data.action.name = "Walk"
    for side in SIDES:
        human.pose.bones[f"Leg Target.{side}"].matrix_basis.identity()
    return human


def remove_control_keys(owner: bpy.types.Object, word: str = "Target") -> None:
    """Remove F-curves of an object with a word in their paths; "Target" is in those of controls."""
    data = owner.animation_data
    for bag in bags_of_action(data.action, getattr(data, "action_slot", None)):
        for curve in list(bag.fcurves):
            if word in curve.data_path:
                bag.fcurves.remove(curve)


def _key(bone: bpy.types.PoseBone, frame: int) -> None:
    for name in ("location", "rotation_quaternion"):
        bone.keyframe_insert(name, frame=frame)


def _stand(human: bpy.types.Object, side: str, heel: np.ndarray, toe: np.ndarray) -> None:
    foot, ankle, control = (
        human.pose.bones[f"{name}.{side}"] for name in ("foot", "Leg Ankle", "Leg Target")
    )
    y = unit(toe - heel)
    x = unit(np.cross(y, (0.0, 0.0, 1.0)))
    # At rest the foot points along -Y.
    turn = np.stack((x, y, np.cross(x, y)), axis=-1) @ np.diag((-1.0, -1.0, 1.0))
    rest = np.array(foot.bone.matrix_local)
    place = np.eye(4)
    place[:3, :3] = turn @ rest[:3, :3]
    place[:3, 3] = heel + turn @ (rest[:3, 3] - (rest[0, 3], *HEEL))
    between = ankle.bone.matrix_local.inverted() @ control.bone.matrix_local
    control.matrix = Matrix(place.tolist()) @ between


Paths = dict[str, np.ndarray]


def paths_of(human: bpy.types.Object) -> Paths:
    """Return the paths of heels, toes, knees, hips and head, world space, by name."""
    return paths_of_all([human])[0]


def paths_of_all(people: list[bpy.types.Object]) -> list[Paths]:
    scene, all_paths = bpy.context.scene, [dict[str, list[Vector]]() for _ in people]
    for frame in range(scene.frame_start, scene.frame_end + 1):
        scene.frame_set(frame)
        for human, paths in zip(people, all_paths, strict=True):
            bones = human.pose.bones
            spots = {"hips": bones["spine"].head, "head": bones["spine.006"].tail}
            for side in SIDES:
                heel = bones[f"heel.02.{side}"]
                spots[f"heel.{side}"] = 0.5 * (heel.head + heel.tail)
                spots[f"toe.{side}"] = bones[f"foot.{side}"].tail
                spots[f"knee.{side}"] = bones[f"shin.{side}"].head
            for name, spot in spots.items():
                paths.setdefault(name, []).append(human.matrix_world @ spot)
    return [{name: np.array(path) for name, path in paths.items()} for paths in all_paths]


def planted(human: bpy.types.Object, chain: str) -> np.ndarray | None:
    """Return the keyed ``planted`` of a chain at all frames, or None without keys."""
    scene, path = bpy.context.scene, human.chain_ik.chains[chain].path_from_id("planted")
    curve = next((fcurve for fcurve in curves(human) if fcurve.data_path == path), None)
    if curve is None:
        return None
    assert {point.interpolation for point in curve.keyframe_points} == {"CONSTANT"}
    frames = range(scene.frame_start, scene.frame_end + 1)
    return np.array([round(curve.evaluate(frame)) for frame in frames])


def slides(human: bpy.types.Object, paths: dict[str, np.ndarray]) -> float:
    """Return the largest move in a frame of heels and toes that stand, in scene units."""
    longest = []
    for side in SIDES:
        kinds = planted(human, f"Leg.{side}")
        assert kinds is not None
        for bit, name in ((1, "heel"), (2, "toe")):
            longest.append(walks.slide(paths[f"{name}.{side}"], (kinds & bit) > 0))
    return max(longest)


def move_keys(human: bpy.types.Object, factor: float) -> None:
    """Scale the frames of all keys about frame 1."""
    for curve in curves(human):
        for point in curve.keyframe_points:
            point.co.x = 1.0 + factor * (point.co.x - 1.0)
        curve.update()
