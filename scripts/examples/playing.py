"""Playback of an example, and the distances of its chains in Blender's evaluated data."""

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
class Playback:
    """Measurements of played frames: milliseconds per frame, and values per chain and frame.

    ``gaps`` are metres from effector to target; ``tips`` (effectors), ``targets`` and ``roots``
    (heads of first bones) are positions in world space.
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


def play(frames: Iterable[int]) -> Playback:
    """Set frames in order, and measure all chains of the scene on each frame."""
    scene, playback = bpy.context.scene, Playback()
    # ``evaluated_depsgraph_get`` would evaluate, and hide a missing update.
    graph = bpy.context.view_layer.depsgraph
    for frame in frames:
        start = time.perf_counter()
        scene.frame_set(frame)
        playback.milliseconds.append(1e3 * (time.perf_counter() - start))
        for rig in (item for item in scene.objects if item.type == "ARMATURE"):
            for chain in rig.chain_ik.chains:
                key, evaluated = (frame, rig.name, chain.name), rig.evaluated_get(graph)
                world, tip = evaluated.matrix_world, evaluated.pose.bones[chain.bone]
                playback.tips[key] = world @ (tip.tail if chain.use_tail else tip.head)
                # ``chain_count`` does not include a last bone that only rotates.
                root_index = chain.chain_count - int(chain.use_tail) if chain.chain_count else -1
                playback.roots[key] = world @ [tip, *tip.parent_recursive][root_index].head
                target = chain.target.evaluated_get(graph)
                # Copy the vector, since Blender changes it with the next frame.
                place = target.matrix_world.translation.copy()
                if chain.subtarget:
                    place = target.matrix_world @ target.pose.bones[chain.subtarget].head
                playback.targets[key] = place
                playback.gaps[key] = math.dist(playback.tips[key], place)
                playback.statuses[key] = str(chain.status)
    return playback
