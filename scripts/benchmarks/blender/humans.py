"""Worker with a number of Rigify's humans whose limbs are posed in one manner.

    python -m benchmarks.blender.humans MANNER COUNT      in a Python with the bpy module

Manners with the control bones of Set Up Limbs: controls (unchanged), limits (with limits),
no-spaces (the controls follow nothing), constraints (Blender's IK constraints instead of the
chains).
Manners with five chains and empties: chains (this project's, which start from the bones' keys),
built-in (Blender's IK constraint), live (chains; frames are set where other manners bake). Arms and
legs are children of the spine, which is a chain itself.
"""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from mathutils import Vector

from benchmarks.blender.scenes import LimbTarget, Scene, copy_rig, follow, run_worker
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
SPACING = 2.0
# Radius of the targets' circles as a share of the root-tip distance, radians a step, and places.
RADIUS_SHARE, STEP, SETS = 0.12, 0.3, 64
# Shift of the circles from the rest tip toward the root, as a share of that distance.
TOWARD_ROOT = 0.25
ALLOWED_DISTANCE = 1e-3


class Humans(Scene):
    """A scene of humans in a row."""

    frames = 250
    # The first arm of Set Up Limbs; spine and neck come before it.
    dragged_limb = 2

    def __init__(self, manner: str, count: str) -> None:
        super().__init__(manner)
        bpy.ops.preferences.addon_enable(module="rigify")
        bpy.ops.object.armature_human_metarig_add()
        first = bpy.context.object
        first.location = (0.0, 0.0, 0.0)
        self.rigs = [first, *(copy_rig(first) for _ in range(int(count) - 1))]
        for number, rig in enumerate(self.rigs):
            rig.location.x = SPACING * number
        bpy.context.view_layer.update()
        self.allowed = ALLOWED_DISTANCE
        is_set_up = manner in ("controls", "limits", "no-spaces", "constraints")
        build = self._set_up if is_set_up else self._aim
        self.limbs, places = map(list, zip(*(entry for rig in self.rigs for entry in build(rig))))
        self.places = np.stack([_make_circle(*entry, n) for n, entry in enumerate(places)], axis=1)
        bpy.context.view_layer.update()

    def baked(self) -> float:
        """Return milliseconds of a bake of all frames and chains."""
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

        return time_round(unbake, work, max_repeats=1)

    def _set_up(self, rig: bpy.types.Object) -> Iterator[tuple[LimbTarget, tuple]]:
        """Set up chains and control bones of a rig; yield all limbs but the toes."""
        from blender_ik_addon.properties.records import controls_of_chain

        bpy.context.view_layer.objects.active = rig
        bpy.ops.pose.chain_ik_setup(control="BONE", use_limits=self.manner == "limits")
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
                to_root = _find_root_vector(tip, chain.chain_count)
                axes = np.array(control.bone.matrix_local.to_3x3().inverted())
                limb = LimbTarget(rig, tip.name, control)
                yield limb, (TOWARD_ROOT * to_root, RADIUS_SHARE * to_root.length, axes)
        if self.manner == "constraints":
            rig.chain_ik.chains.clear()

    def _aim(self, rig: bpy.types.Object) -> Iterator[tuple[LimbTarget, tuple]]:
        """Add chains that follow empties near their tips to a rig; yield all limbs."""
        for tip, (count, solver) in LIMBS.items():
            bone = rig.pose.bones[tip]
            to_root = _find_root_vector(bone, count)
            home = rig.matrix_world @ (bone.tail + TOWARD_ROOT * to_root)
            target = add_empty(f"Target {tip}", home, 1.0)
            yield LimbTarget(rig, tip, target), (home, RADIUS_SHARE * to_root.length, np.eye(3))
            follow(rig, tip, target, "built-in" if self.manner == "built-in" else solver, count)


def _find_root_vector(tip: bpy.types.PoseBone, count: int) -> Vector:
    """Return the vector from the end of a limb with ``count`` bones to its root."""
    return [tip, *tip.parent_recursive][count - 1].head - tip.tail


def _make_circle(home: Vector, radius: float, axes: Array, number: int) -> Array:
    """Return places around a home, shape (SETS, 3), in the axes of the control."""
    phase = STEP * np.arange(SETS) + number
    circle = np.stack((np.cos(phase), np.sin(phase), np.sin(0.7 * phase)), axis=1)
    return (np.array(home) + radius * circle) @ axes.T


if __name__ == "__main__":
    run_worker(Humans)
