"""Play the animation with live chains and measure what Blender shows of them."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable

import bpy
from mathutils import Vector

from demo.limbs import LIMBS, Limb


@dataclasses.dataclass
class Playback:
    """What one playback gave.

    Attributes:
        milliseconds: Of each frame.
        distances: By limb: from root to target on each frame, in lengths of the limb.
        residuals: By limb: from effector to target on each frame, in lengths of the limb.
        min_reaches: By limb: what it cannot fold below, in its lengths.
        targets: By limb: the target's position on each frame, world space.
        poses: By frame, for those asked for: bone name -> head and tail, world space.
    """

    milliseconds: list[float] = dataclasses.field(default_factory=list)
    distances: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    residuals: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    min_reaches: dict[str, float] = dataclasses.field(default_factory=dict)
    targets: dict[str, list[list[float]]] = dataclasses.field(default_factory=dict)
    poses: dict[int, dict[str, list[list[float]]]] = dataclasses.field(default_factory=dict)


def play(
    armature_object: bpy.types.Object, frames: Iterable[int], keep_poses: Iterable[int] = ()
) -> Playback:
    """Set one frame after another, as playback does, and measure what the handlers left.

    Args:
        armature_object: The rig with its chains.
        frames: Frames to play.
        keep_poses: Frames of which the bones are recorded.
    """
    scene = bpy.context.scene
    # Not `evaluated_depsgraph_get`: it would evaluate, and hide an update that was missed.
    depsgraph = bpy.context.view_layer.depsgraph
    record = Playback()
    kept = set(keep_poses)
    for frame in frames:
        start = time.perf_counter()
        scene.frame_set(frame)
        record.milliseconds.append(1000.0 * (time.perf_counter() - start))
        evaluated = armature_object.evaluated_get(depsgraph)
        for limb, chain in zip(LIMBS, armature_object.chain_ik.chains):
            target = chain.target.evaluated_get(depsgraph).matrix_world.translation
            _measure(record, evaluated, limb, target)
        if frame in kept:
            record.poses[frame] = _bones_in_world(evaluated)
    return record


def _measure(record: Playback, evaluated: bpy.types.Object, limb: Limb, target: Vector) -> None:
    """Add one frame of one limb, read from evaluated bones and not from the add-on."""
    joints = joints_in_world(evaluated, limb)
    lengths = [math.dist(a, b) for a, b in zip(joints, joints[1:])]
    length = math.fsum(lengths)
    record.min_reaches[limb.name] = max(0.0, 2.0 * max(lengths) / length - 1.0)
    record.distances.setdefault(limb.name, []).append(math.dist(joints[0], target) / length)
    record.residuals.setdefault(limb.name, []).append(math.dist(joints[-1], target) / length)
    record.targets.setdefault(limb.name, []).append(list(target))


def joints_in_world(evaluated: bpy.types.Object, limb: Limb) -> list[Vector]:
    """Return the heads of a limb's bones and the tail of the last one."""
    bones = [evaluated.pose.bones[name] for name in limb.bones]
    return [evaluated.matrix_world @ joint for joint in (*(b.head for b in bones), bones[-1].tail)]


def _bones_in_world(evaluated: bpy.types.Object) -> dict[str, list[list[float]]]:
    """Return head and tail of all bones that the 3D view shows."""
    world = evaluated.matrix_world
    return {
        pose_bone.name: [list(world @ pose_bone.head), list(world @ pose_bone.tail)]
        for pose_bone in evaluated.pose.bones
        if any(collection.is_visible for collection in pose_bone.bone.collections)
    }
