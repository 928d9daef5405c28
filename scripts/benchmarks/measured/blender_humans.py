"""Rigify's human with five chains. A worker: so many humans, posed in one manner.

    python -m benchmarks.measured.blender_humans MANNER COUNT      a Python with the bpy module

Manners: chains (this project's, starting from the bones' keys), built-in (Blender's IK constraint).
The arms and legs hang on the spine, which is a chain itself.
"""

from __future__ import annotations

import sys

import bpy
import numpy as np

from benchmarks import answering
from benchmarks.clocks import round_clocks
from blender_ik_addon.rig.reading.animation import curves
from common import blender_process

LIMBS = {
    "spine.003": (4, "NEWTON"),
    "forearm.L": (2, "TWO_BONE"),
    "forearm.R": (2, "TWO_BONE"),
    "shin.L": (2, "TWO_BONE"),
    "shin.R": (2, "TWO_BONE"),
}
"""Tip bone to number of bones and solver."""
APART = 2.0
# How far targets go about, in metres, and how much of a circle they go in one step.
AWAY, STEP = 0.06, 0.3
FRAMES = 250
NEAR = 1e-3
TASKS = ("versions", "check", "moved", "key", "played", "stepped", "baked")


class MissedError(Exception):
    """Chains do not reach their targets, so their time says nothing."""


class Humans:
    """The scene and the tasks of the worker."""

    def __init__(self, manner: str, count: str) -> None:
        """Build it."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        _enable_rigify()
        self.manner, self.step = manner, 0
        bpy.ops.object.armature_human_metarig_add()
        first = bpy.context.object
        first.location = (0.0, 0.0, 0.0)
        self.rigs = [first, *(_copy(first) for _ in range(int(count) - 1))]
        for number, rig in enumerate(self.rigs):
            rig.location.x = APART * number
        bpy.context.view_layer.update()
        self.limbs = [self._aim(rig, tip) for rig in self.rigs for tip in LIMBS]
        if manner == "chains":
            import blender_ik_addon

            blender_ik_addon.register()
        for rig, tip, target, _ in self.limbs:
            self._follow(rig, tip, target)
        bpy.context.view_layer.update()

    def versions(self) -> dict[str, str]:
        """Return what runs here."""
        return {**answering.python_versions(), "blender": bpy.app.version_string}

    def check(self) -> dict[str, float]:
        """Tell how near the tips come to their targets.

        Raises:
            MissedError: If chains do not.
        """
        self.move_on()
        bpy.context.view_layer.update()
        depsgraph, misses = bpy.context.view_layer.depsgraph, []
        for rig, tip, target, _ in self.limbs:
            posed = rig.evaluated_get(depsgraph)
            tail = posed.matrix_world @ posed.pose.bones[tip].tail
            misses.append((tail - target.matrix_world.translation).length)
        reached = float(np.mean(np.array(misses) < NEAR))
        if self.manner == "chains" and reached < 1.0:
            raise MissedError(f"{reached:.0%} of the tips came to their targets")
        return {"reached": reached, "worst": max(misses)}

    def moved(self) -> dict[str, float]:
        """Return a round's times of an update after all targets have moved, in milliseconds."""
        return round_clocks(self.move_on, bpy.context.view_layer.update)

    def key(self) -> None:
        """Key the targets, for `played`."""
        for frame in range(1, FRAMES + 1):
            self.move_on()
            for _, _, target, _ in self.limbs:
                target.keyframe_insert("location", frame=frame)
        for _, _, target, _ in self.limbs:
            for curve in curves(target):
                curve.update()

    def played(self) -> dict[str, float]:
        """Return a round's times of a frame of playback, in milliseconds."""
        return round_clocks(self._step_on, self._show_frame)

    def stepped(self) -> dict[str, float]:
        """Return the times of all frames set one after the other, in milliseconds."""
        return round_clocks(self._unbake, self._step_through, most=1)

    def baked(self) -> dict[str, float]:
        """Return the times of a bake of all frames and chains, in milliseconds."""
        return round_clocks(self._unbake, self._bake, most=1)

    def _unbake(self) -> None:
        for rig in self.rigs:
            rig.animation_data_clear()
        bpy.context.view_layer.objects.active = self.rigs[0]
        scene = bpy.context.scene
        scene.frame_start, scene.frame_end = 1, FRAMES
        scene.frame_set(1)

    def _step_through(self) -> None:
        for frame in range(1, FRAMES + 1):
            bpy.context.scene.frame_set(frame)

    def _bake(self) -> None:
        bpy.ops.pose.chain_ik_bake(which="ALL", mute=False)

    def _step_on(self) -> None:
        self.step += 1

    def _show_frame(self) -> None:
        bpy.context.scene.frame_set(1 + self.step % FRAMES)

    def move_on(self) -> None:
        """Move all targets a step."""
        self.step += 1
        for number, (_, _, target, home) in enumerate(self.limbs):
            phase = STEP * self.step + number
            target.location = home + AWAY * np.array(
                [np.cos(phase), np.sin(phase), np.sin(0.7 * phase)]
            )

    def _aim(
        self, rig: bpy.types.Object, tip: str
    ) -> tuple[bpy.types.Object, str, bpy.types.Object, np.ndarray]:
        """Add a target a little toward the root from where a tip is, so that it is in reach."""
        bones, bone = LIMBS[tip][0], rig.pose.bones[tip]
        root = [bone, *bone.parent_recursive][bones - 1].head
        home = rig.matrix_world @ (root + 0.85 * (bone.tail - root))
        target = bpy.data.objects.new(f"Target {tip}", None)
        bpy.context.scene.collection.objects.link(target)
        target.location = home
        return rig, tip, target, np.array(home)

    def _follow(self, rig: bpy.types.Object, tip: str, target: bpy.types.Object) -> None:
        count, solver = LIMBS[tip]
        if self.manner == "built-in":
            constraint = rig.pose.bones[tip].constraints.new("IK")
            constraint.target, constraint.chain_count = target, count
            return
        chain = rig.chain_ik.chains.add()
        chain.chain_count, chain.solver, chain.start_from = count, solver, "KEYED"
        chain.bone, chain.target = tip, target


def _enable_rigify() -> None:
    # It can be imported only where bpy has been.
    import addon_utils

    addon_utils.enable("rigify", default_set=True)


def _copy(rig: bpy.types.Object) -> bpy.types.Object:
    copy = rig.copy()
    copy.data = rig.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    return copy


def main(manner: str, count: str) -> None:
    """Build and answer."""
    humans = Humans(manner, count)
    answering.serve({name: getattr(humans, name) for name in TASKS})


if __name__ == "__main__":
    blender_process.run(main, *sys.argv[1:])
