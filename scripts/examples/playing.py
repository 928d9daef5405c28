"""Play an example, and read from Blender's evaluated data how well its chains follow."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable

import bpy
from mathutils import Vector


@dataclasses.dataclass
class Played:
    """What was seen while frames were played.

    Attributes:
        milliseconds: Of each frame.
        gaps: Metres from effector to target by frame, object and chain.
        statuses: Of chains, by the same.
        joints: Heads of all bones of a rig's chains, world space, by frame and object.
    """

    milliseconds: list[float] = dataclasses.field(default_factory=list)
    gaps: dict[tuple[int, str, str], float] = dataclasses.field(default_factory=dict)
    statuses: dict[tuple[int, str, str], str] = dataclasses.field(default_factory=dict)
    tips: dict[tuple[int, str, str], Vector] = dataclasses.field(default_factory=dict)

    @property
    def worst(self) -> float:
        """The greatest gap, metres."""
        return max(self.gaps.values())


def play(frames: Iterable[int]) -> Played:
    """Set one frame after the other, and measure all chains of the scene on each."""
    scene, played = bpy.context.scene, Played()
    # Not ``evaluated_depsgraph_get``: it would evaluate, and hide an update that was missed.
    graph = bpy.context.view_layer.depsgraph
    for frame in frames:
        start = time.perf_counter()
        scene.frame_set(frame)
        played.milliseconds.append(1e3 * (time.perf_counter() - start))
        for rig in (each for each in scene.objects if each.type == "ARMATURE"):
            for chain in rig.chain_ik.chains:
                key = frame, rig.name, chain.name
                tip = effector(chain, rig.evaluated_get(graph))
                played.gaps[key] = math.dist(tip, target(chain, graph))
                played.statuses[key] = str(chain.status)
                played.tips[key] = tip
    return played


def effector(chain: bpy.types.PropertyGroup, evaluated: bpy.types.Object) -> Vector:
    """Return the end of a chain that goes to its target, world space."""
    bone = evaluated.pose.bones[chain.bone]
    if chain.solver == "FOLLOW" and chain.follow_lead == "ROOT":
        for _ in range(chain.chain_count - 1):
            bone = bone.parent
        return evaluated.matrix_world @ bone.head
    return evaluated.matrix_world @ (bone.tail if chain.use_tail else bone.head)


def target(chain: bpy.types.PropertyGroup, graph: bpy.types.Depsgraph) -> Vector:
    """Return where the target of a chain is, world space."""
    item = chain.target.evaluated_get(graph)
    if chain.subtarget:
        return item.matrix_world @ item.pose.bones[chain.subtarget].head
    return item.matrix_world.translation
