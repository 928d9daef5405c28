"""Limbs with the limits of a real arm, tail or leg reach their targets. A worker.

    python -m benchmarks.blender.limits MANNER RIG POLE COUNT      a Python with the bpy module

Manners: built-in (Blender's IK constraint), NEWTON, FABRIK, CCD (this project's chains). POLE is
"pole" or "free"; COUNT is how many limbs there are. Targets are where tips are in poses whose
joint angles lie within 80 % of their ranges, so every one of them can be reached.
"""

from __future__ import annotations

import math

import bpy
import numpy as np
from mathutils import Matrix, Quaternion, Vector

from benchmarks.blender.scenes import Limb, Scene, answer, find_gap, follow, limit
from benchmarks.core.cases import Array
from blender_ik_addon.core.kinematics.joint_limits import clamp_rotations
from examples.parts.rigs import Bone, add_empty, add_rig

Ranges = dict[str, tuple[float, float]]
"""Least and greatest turns about the axes that are free, in degrees."""
BALL: Ranges = {"x": (-90, 90), "y": (-60, 60), "z": (-90, 90)}
RIGS: dict[str, list[Ranges]] = {
    "arm": [BALL, {"x": (0, 150)}, {"x": (-40, 40), "z": (-60, 60)}],
    "six-bone tail": [{"x": (-30, 30), "y": (-20, 20), "z": (-30, 30)}] * 6,
    "ten hinges": [{"z" if i % 2 == 0 else "x": (-40, 40)} for i in range(10)],
    "spider leg": [{"z": (-60, 60)}, *[{"x": (-80, 80)}] * 3],
    "finger": [{"z": (-20, 20)}, *[{"x": (0, 90)}] * 3],
}
SHARE, ON_ONE_RIG, APART, SEED = 0.8, 4, 20.0, 20261121
POLE = (0.0, -4.0, 2.0)
TARGETS = 1000
# What counts as reached, as a share of the chain's length.
NEAR = 1e-3


class Limits(Scene):
    """A scene of limbs, up to four on an armature object."""

    def __init__(self, manner: str, name: str, pole: str, count: str) -> None:
        super().__init__(manner)
        ranges, number = RIGS[name], np.arange(int(count))
        for first in range(0, len(number), ON_ONE_RIG):
            self.limbs += _build_limbs(ranges, number[first : first + ON_ONE_RIG])
        self.length, self.allowed = float(len(ranges)), NEAR * len(ranges)
        target = add_empty("Pole", POLE, 1.0) if pole == "pole" else None
        for limb in self.limbs:
            followed = follow(limb.rig, limb.tip, limb.target, manner)
            if target is not None:
                followed.pole_target = target
        roots = np.outer(number % ON_ONE_RIG, (APART, 0.0, 0.0))
        self.targets, self.roots = _find_targets(ranges), roots
        self.places = self._places_of(np.arange(TARGETS)[:, None] + 7 * number)
        bpy.context.view_layer.update()

    def _places_of(self, rows: Array) -> Array:
        return self.targets[rows % TARGETS] + self.roots

    def check(self) -> dict[str, float]:
        """Return the share of targets reached, and the farthest that a turn lies out of range."""
        count = len(self.limbs)
        # A little more than all, where they do not come out even.
        rows = np.arange(-(-TARGETS // count) * count).reshape(-1, count)
        usual, self.places = self.places, self._places_of(rows)
        reached, worst = [], 0.0
        for _ in self.places:
            self.move_on()
            self.update()
            reached += [gap <= self.allowed for gap in map(find_gap, self.limbs)]
            worst = max(worst, *(_find_violation(rig) for rig in {limb.rig for limb in self.limbs}))
        self.places = usual
        return {"reached": float(np.mean(reached)), "worst": worst}


def _build_limbs(ranges: list[Ranges], numbers: Array) -> list[Limb]:
    chains = [[f"Limb {number} Bone {i}" for i in range(len(ranges))] for number in numbers]
    bones = {
        bone: Bone((APART * place, 0.0, i), (APART * place, 0.0, i + 1.0), above, None)
        for place, chain in enumerate(chains)
        for i, (bone, above) in enumerate(zip(chain, ["", *chain]))
    }
    rig = add_rig("Limbs", bones)
    for chain in chains:
        for name, own in zip(chain, ranges):
            for axis in "xyz":
                setattr(rig.pose.bones[name], f"lock_ik_{axis}", axis not in own)
            for axis, ends in own.items():
                limit(rig.pose.bones[name], axis, *map(math.radians, ends))
    return [Limb(rig, chain[-1], add_empty("Target", (0.0, 0.0, 0.0), 1.0)) for chain in chains]


def _find_targets(ranges: list[Ranges]) -> Array:
    """Return targets that a limb reaches, shape (TARGETS, 3); it starts in the origin."""
    rng, found = np.random.default_rng(SEED), []
    for _ in range(TARGETS):
        # The bones' rest: along Z, so their own Y is Z and their own Z is -Y.
        axes, head = Matrix.Rotation(0.5 * math.pi, 3, "X"), Vector()
        for own in ranges:
            turn = dict.fromkeys("xyz", 0.0)
            for axis, (low, high) in own.items():
                half = 0.5 * SHARE * (high - low) * rng.uniform(-1.0, 1.0)
                turn[axis] = math.radians(0.5 * (low + high) + half)
            swing = Quaternion((turn["x"], 0.0, turn["z"]))
            axes = axes @ (swing @ Quaternion((0.0, turn["y"], 0.0))).to_matrix()
            head += axes.col[1]
        found.append(head)
    return np.array(found)


def _find_violation(rig: bpy.types.Object) -> float:
    """Return by how many radians the turns that a pose shows lie out of their ranges, at most."""
    from blender_ik_addon.rig.reading.bone_joints import read_joints

    joints, turns = read_joints(rig), []
    for bone in rig.pose.bones:
        rest, pose = bone.bone.matrix_local, bone.matrix
        if bone.parent is not None:
            rest = bone.parent.bone.matrix_local.inverted() @ rest
            pose = bone.parent.matrix.inverted() @ pose
        turns.append((rest.inverted() @ pose).to_quaternion())
    shown = np.array(turns, dtype=np.float64)
    shown /= np.linalg.norm(shown, axis=1, keepdims=True)
    inside = clamp_rotations(joints.kinds, shown, joints.low, joints.high)
    chords = np.minimum(*(np.linalg.norm(shown + sign * inside, axis=1) for sign in (-1.0, 1.0)))
    return float(4.0 * np.arcsin(0.5 * chords.max()))


if __name__ == "__main__":
    answer(Limits)
