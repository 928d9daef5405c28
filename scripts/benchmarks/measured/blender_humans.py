"""Rigify's human with chains. A worker: so many humans, posed in one manner.

    python -m benchmarks.measured.blender_humans MANNER COUNT      a Python with the bpy module

Manners with five chains and empties: chains (this project's, starting from the bones' keys),
built-in (Blender's IK constraint), live (chains whose frames are set where the others bake). The
arms and legs hang on the spine, which is a chain itself.
Manners with the control bones of Set Up Limbs: controls (as it leaves them), no-spaces (nothing
carries the controls), constraints (Blender's IK constraints in place of the chains).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

import blender_ik_addon
from benchmarks.clocks import SECONDS, round_clocks
from benchmarks.measured.in_blender import InBlender, answer
from benchmarks.scenes.blender_scenes import add_empty, copy_rig, follow
from blender_ik_addon.rig.reading.animation import curves

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
AWAY, STEP = 0.12, 0.3
# So much nearer to their roots than tips are at rest, of the way.
TOWARD_ROOT = 0.25
FRAMES = 250
NEAR = 1e-3
# The first arm of Set Up Limbs, after spine and neck.
HAND = 2
Limb = tuple[bpy.types.Object, str, Any, np.ndarray, float]
"""Rig, tip bone, what is moved, about what place, and how far."""
CONTROLLED = ("controls", "no-spaces", "constraints")


class MissedError(Exception):
    """Chains do not reach their targets, so their time says nothing."""


class Humans(InBlender):
    """The scene."""

    seconds = SECONDS / 2

    def __init__(self, manner: str, count: str) -> None:
        """Build it."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        _enable_rigify()
        self.manner, self.step = manner, 0
        bpy.ops.object.armature_human_metarig_add()
        first = bpy.context.object
        first.location = (0.0, 0.0, 0.0)
        self.rigs = [first, *(copy_rig(first) for _ in range(int(count) - 1))]
        for number, rig in enumerate(self.rigs):
            rig.location.x = APART * number
        bpy.context.view_layer.update()
        if manner != "built-in":
            blender_ik_addon.register()
        if manner in CONTROLLED:
            self.limbs = [limb for rig in self.rigs for limb in self._set_up(rig)]
        else:
            self.limbs = [self._aim(rig, tip) for rig in self.rigs for tip in LIMBS]
            for rig, tip, target, *_ in self.limbs:
                count, solver = LIMBS[tip]
                follow(rig, tip, target, manner if manner == "built-in" else solver, count)
        bpy.context.view_layer.update()

    def check(self) -> dict[str, float]:
        """Tell how near the tips come to their targets.

        Raises:
            MissedError: If chains do not.
        """
        self.move_on()
        bpy.context.view_layer.update()
        depsgraph, misses = bpy.context.view_layer.depsgraph, []
        for rig, tip, target, *_ in self.limbs:
            posed = rig.evaluated_get(depsgraph)
            tail = posed.matrix_world @ posed.pose.bones[tip].tail
            misses.append((tail - _place(_evaluated(target, depsgraph))).length)
        reached = float(np.mean(np.array(misses) < NEAR))
        if self.manner in ("chains", "controls") and reached < 1.0:
            raise MissedError(f"{reached:.0%} of the tips came to their targets")
        return {"reached": reached, "worst": max(misses)}

    def dragged(self) -> dict[str, float]:
        """Return a round's times of an update after one target has moved, in milliseconds."""
        return round_clocks(self.move_one, self.update, seconds=self.seconds)

    def key(self) -> None:
        """Key the targets, for `played`."""
        for frame in range(1, FRAMES + 1):
            self.move_on()
            for _, _, target, *_ in self.limbs:
                target.keyframe_insert("location", frame=frame)
        for owner in {target.id_data for _, _, target, *_ in self.limbs}:
            for curve in curves(owner):
                curve.update()

    def played(self) -> dict[str, float]:
        """Return a round's times of a frame of playback, in milliseconds."""
        return round_clocks(self._step_on, self._show_frame, seconds=self.seconds)

    def baked(self) -> dict[str, float]:
        """Return the times of a bake of all frames and chains, in milliseconds."""
        work = self._step_through if self.manner == "live" else self._bake
        return round_clocks(self._unbake, work, most=1)

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
        for number in range(len(self.limbs)):
            self._move(number)

    def move_one(self) -> None:
        """Move the target of a hand a step."""
        self.step += 1
        self._move(HAND)

    def _move(self, number: int) -> None:
        _, _, target, home, away = self.limbs[number]
        phase = STEP * self.step + number
        place = home + away * np.array([np.cos(phase), np.sin(phase), np.sin(0.7 * phase)])
        if isinstance(target, bpy.types.Object):
            target.location = place
        else:
            target.location = target.bone.matrix_local.to_3x3().inverted() @ Vector(place)

    def _set_up(self, rig: bpy.types.Object) -> Iterator[Limb]:
        """Give a rig chains and control bones, and yield all limbs but the toes."""
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
                root = [tip, *tip.parent_recursive][chain.chain_count - 1].head
                way = root - tip.tail
                yield rig, tip.name, control, np.array(TOWARD_ROOT * way), AWAY * way.length
        if self.manner == "constraints":
            rig.chain_ik.chains.clear()

    def _aim(self, rig: bpy.types.Object, tip: str) -> Limb:
        """Add a target a little toward the root from where a tip is, so that it is in reach."""
        bones, bone = LIMBS[tip][0], rig.pose.bones[tip]
        root = [bone, *bone.parent_recursive][bones - 1].head
        home = rig.matrix_world @ bone.tail.lerp(root, TOWARD_ROOT)
        target = add_empty(f"Target {tip}", home)
        return rig, tip, target, np.array(home), AWAY * (bone.tail - root).length


def _evaluated(target: Any, depsgraph: bpy.types.Depsgraph) -> Any:
    owner = target.id_data.evaluated_get(depsgraph)
    return owner if target.id_data == target else owner.pose.bones[target.name]


def _place(target: Any) -> Any:
    """Return where an evaluated target is, world space."""
    if isinstance(target, bpy.types.Object):
        return target.matrix_world.translation
    return target.id_data.matrix_world @ target.head


def _enable_rigify() -> None:
    # It can be imported only where bpy has been.
    import addon_utils

    addon_utils.enable("rigify", default_set=True)


if __name__ == "__main__":
    answer(Humans)
