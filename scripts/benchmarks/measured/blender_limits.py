"""Reach targets inside the limits of joints, in Blender. A worker: one kind of limb in one manner.

    python -m benchmarks.measured.blender_limits MANNER RIG POLE COUNT  a Python with the bpy module

Manners: built-in (Blender's IK constraint), NEWTON, FABRIK, CCD (this project's chains). POLE is
"pole" or "free"; COUNT is how many limbs stand in the scene.
"""

from __future__ import annotations

import bpy
import numpy as np

import blender_ik_addon
from benchmarks.measured.in_blender import InBlender, answer
from benchmarks.scenes import limited_rigs
from benchmarks.scenes.blender_scenes import add_empty, follow
from benchmarks.scenes.limited_rigs import Array
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations as clamped

TARGETS = 1000
# What counts as reached, as a share of the chain's length.
NEAR = 1e-3


class Limits(InBlender):
    """A scene of limbs."""

    def __init__(self, manner: str, name: str, pole: str, count: str) -> None:
        """Build the scene."""
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        self.limbs = limited_rigs.build(name, int(count))
        self.length = float(len(limited_rigs.RIGS[name]))
        self.targets = limited_rigs.reachable(name, TARGETS)
        if manner != "built-in":
            blender_ik_addon.register()
        target = add_empty("Pole", limited_rigs.POLE) if pole == "pole" else None
        for limb in self.limbs:
            followed = follow(limb.object, limb.bones[-1], limb.target, manner)
            if target is not None:
                followed.pole_target = target
        self.step = 0
        bpy.context.view_layer.update()

    def success(self) -> dict[str, float]:
        """Return the share of targets reached, and the farthest that a turn lies out of range."""
        reached, worst = 0, 0.0
        for first in range(0, TARGETS, len(self.limbs)):
            pairs = list(zip(self.limbs, self.targets[first:]))
            for limb, target in pairs:
                limb.target.location = limb.root + target
            bpy.context.view_layer.update()
            for limb, target in pairs:
                gap = np.linalg.norm(np.array(limb.tip.tail) - limb.root - target)
                reached += bool(gap < NEAR * self.length)
            rigs = {limb.object for limb, _ in pairs}
            worst = max(worst, *(_violation(rig) for rig in rigs))
        return {"reached": reached / TARGETS, "violation": worst}

    def move_on(self) -> None:
        """Move all targets to their next places."""
        self.step += 1
        for number, limb in enumerate(self.limbs):
            limb.target.location = limb.root + self.targets[(self.step + 7 * number) % TARGETS]


def _violation(rig: bpy.types.Object) -> float:
    """Return by how many radians the turns that a pose shows lie out of their ranges, at most."""
    from blender_ik_addon.rig.reading.bone_joints import read_joints

    joints = read_joints(rig)
    turns = _shown_turns(rig)
    inside = clamped(joints.kinds, turns, joints.low, joints.high)
    chords = np.minimum(
        np.linalg.norm(turns - inside, axis=1), np.linalg.norm(turns + inside, axis=1)
    )
    return float(4.0 * np.arcsin(0.5 * chords.max()))


def _shown_turns(rig: bpy.types.Object) -> Array:
    """Return the local rotations that the bones' evaluated matrices show, wxyz."""
    turns = []
    for bone in rig.pose.bones:
        rest, pose = bone.bone.matrix_local, bone.matrix
        if bone.parent is not None:
            rest = bone.parent.bone.matrix_local.inverted() @ rest
            pose = bone.parent.matrix.inverted() @ pose
        turns.append((rest.inverted() @ pose).to_quaternion())
    found = np.array(turns, dtype=np.float64)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


if __name__ == "__main__":
    answer(Limits)
