"""Rigify's human with chains. A worker: so many humans, posed in one manner.

    python -m benchmarks.blender.humans MANNER COUNT      a Python with the bpy module

Manners with the control bones of Set Up Limbs: controls (as it leaves them), no-spaces (nothing
carries the controls), constraints (Blender's IK constraints in place of the chains).
Manners with five chains and empties: chains (this project's, starting from the bones' keys),
built-in (Blender's IK constraint), live (chains whose frames are set where the others bake). The
arms and legs hang on the spine, which is a chain itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from mathutils import Vector

from benchmarks.blender.scenes import Limb, Scene, answer, copy_rig, follow
from benchmarks.core.cases import Array
from benchmarks.workers import time_round
from examples.parts.rigs import add_empty

LIMBS = {
    "spine.003": (4, "NEWTON"),
    "forearm.L": (2, "TWO_BONE"),
    "forearm.R": (2, "TWO_BONE"),
    "shin.L": (2, "TWO_BONE"),
    "shin.R": (2, "TWO_BONE"),
}
"""Tip bone to number of bones and solver."""
APART = 2.0
# How far targets go about, of the way from root to tip, and how much of a circle in one step.
AWAY, STEP, SETS = 0.12, 0.3, 64
# So much nearer to their roots than tips are at rest, of the way.
TOWARD_ROOT = 0.25
NEAR = 1e-3


class Humans(Scene):
    """The scene."""

    frames = 250
    # The first arm of Set Up Limbs, after spine and neck.
    led = 2

    def __init__(self, manner: str, count: str) -> None:
        super().__init__(manner)
        bpy.ops.preferences.addon_enable(module="rigify")
        bpy.ops.object.armature_human_metarig_add()
        first = bpy.context.object
        first.location = (0.0, 0.0, 0.0)
        self.rigs = [first, *(copy_rig(first) for _ in range(int(count) - 1))]
        for number, rig in enumerate(self.rigs):
            rig.location.x = APART * number
        bpy.context.view_layer.update()
        self.allowed = NEAR
        is_set_up = manner in ("controls", "no-spaces", "constraints")
        build = self._set_up if is_set_up else self._aim
        self.limbs, places = map(list, zip(*(each for rig in self.rigs for each in build(rig))))
        self.places = np.stack([_go_about(*each, n) for n, each in enumerate(places)], axis=1)
        bpy.context.view_layer.update()

    def baked(self) -> float:
        """Return the times of a bake of all frames and chains."""
        self.key()
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = 1, self.frames

        def unbake() -> None:
            for rig in self.rigs:
                rig.animation_data_clear()
            bpy.context.view_layer.objects.active = self.rigs[0]
            scene.frame_set(1)

        def work() -> None:
            if self.manner != "live":
                bpy.ops.pose.chain_ik_bake(which="ALL", mute=False)
            for frame in range(1, self.frames + 1) if self.manner == "live" else ():
                scene.frame_set(frame)

        return time_round(unbake, work, most=1)

    def _set_up(self, rig: bpy.types.Object) -> Iterator[tuple[Limb, tuple]]:
        """Give a rig chains and control bones; yield all limbs but the toes."""
        from blender_ik_addon.properties.records import controls_of_chain

        bpy.context.view_layer.objects.active = rig
        bpy.ops.pose.chain_ik_setup(control="BONE")
        for chain in rig.chain_ik.chains:
            bone = rig.pose.bones[chain.bone]
            tip = bone if chain.use_tail else bone.parent
            control = rig.pose.bones[controls_of_chain(chain)[0].bone]
            if self.manner == "no-spaces":
                for constraint in list(control.constraints):
                    control.constraints.remove(constraint)
            if self.manner == "constraints":
                constraint = follow(rig, tip.name, rig, "built-in", chain.chain_count)
                constraint.subtarget = chain.subtarget
            if chain.chain_count > 1:
                way = _find_way(tip, chain.chain_count)
                axes = np.array(control.bone.matrix_local.to_3x3().inverted())
                limb = Limb(rig, tip.name, control)
                yield limb, (TOWARD_ROOT * way, AWAY * way.length, axes)
        if self.manner == "constraints":
            rig.chain_ik.chains.clear()

    def _aim(self, rig: bpy.types.Object) -> Iterator[tuple[Limb, tuple]]:
        """Give a rig chains that follow empties near their tips; yield all."""
        for tip, (count, solver) in LIMBS.items():
            bone = rig.pose.bones[tip]
            way = _find_way(bone, count)
            home = rig.matrix_world @ (bone.tail + TOWARD_ROOT * way)
            target = add_empty(f"Target {tip}", home, 1.0)
            yield Limb(rig, tip, target), (home, AWAY * way.length, np.eye(3))
            follow(rig, tip, target, "built-in" if self.manner == "built-in" else solver, count)


def _find_way(tip: bpy.types.PoseBone, count: int) -> Vector:
    """Return the way from the end of a limb of so many bones to its root."""
    return [tip, *tip.parent_recursive][count - 1].head - tip.tail


def _go_about(home: Vector, away: float, axes: Array, number: int) -> Array:
    """Return places about a home, shape (SETS, 3), in the axes of what moves."""
    phase = STEP * np.arange(SETS) + number
    about = np.stack((np.cos(phase), np.sin(phase), np.sin(0.7 * phase)), axis=1)
    return (np.array(home) + away * about) @ axes.T


if __name__ == "__main__":
    answer(Humans)
