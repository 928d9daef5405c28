"""Play an example, and read from Blender's evaluated data how well its chains follow."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Iterable

import bpy
from mathutils import Vector

Key = tuple[int, str, str]
"""Frame, object and chain."""


@dataclasses.dataclass
class Played:
    """What was seen while frames were played: milliseconds of each, and places in the world.

    Of chains: metres from effector to target, what they say, effectors, targets, and the heads of
    their first bones.
    """

    milliseconds: list[float] = dataclasses.field(default_factory=list)
    gaps: dict[Key, float] = dataclasses.field(default_factory=dict)
    statuses: dict[Key, str] = dataclasses.field(default_factory=dict)
    tips: dict[Key, Vector] = dataclasses.field(default_factory=dict)
    targets: dict[Key, Vector] = dataclasses.field(default_factory=dict)
    roots: dict[Key, Vector] = dataclasses.field(default_factory=dict)

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
                key, evaluated = (frame, rig.name, chain.name), rig.evaluated_get(graph)
                world, tip = evaluated.matrix_world, evaluated.pose.bones[chain.bone]
                played.tips[key] = world @ (tip.tail if chain.use_tail else tip.head)
                # A bone that only turns is not counted.
                above = chain.chain_count - int(chain.use_tail) if chain.chain_count else -1
                played.roots[key] = world @ [tip, *tip.parent_recursive][above].head
                item = chain.target.evaluated_get(graph)
                # A copy: Blender's own moves on with the next frame.
                place = item.matrix_world.translation.copy()
                if chain.subtarget:
                    place = item.matrix_world @ item.pose.bones[chain.subtarget].head
                played.targets[key] = place
                played.gaps[key] = math.dist(played.tips[key], place)
                played.statuses[key] = str(chain.status)
    return played
