"""Rigs with limited joints, as the limits of a real arm, tail or leg: inside Blender.

Targets are where the effector stands in poses whose joint angles lie within 80 % of their ranges,
so every one of them can be reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
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
SHARE = 0.8
SEED = 20261121
POLE = (0.0, -4.0, 2.0)


@dataclass(frozen=True)
class Rig:
    """One armature object with one chain and its target.

    Attributes:
        object: The armature object.
        target: What the chain follows.
    """

    object: bpy.types.Object
    target: bpy.types.Object

    @property
    def tip(self) -> bpy.types.PoseBone:
        """The last bone."""
        bones: list[bpy.types.PoseBone] = list(self.object.pose.bones)
        return bones[-1]


def build(name: str, number: int) -> Rig:
    """Return a rig of bones of length one, with the limits set on the bones."""
    ranges = RIGS[name]
    armature = bpy.data.armatures.new(f"{name} {number}")
    rig = bpy.data.objects.new(armature.name, armature)
    bpy.context.scene.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    above = None
    for i in range(len(ranges)):
        bone = armature.edit_bones.new(f"Bone {i}")
        bone.head, bone.tail = (0.0, 0.0, i), (0.0, 0.0, i + 1.0)
        bone.parent, bone.use_connect = above, above is not None
        above = bone
    bpy.ops.object.mode_set(mode="OBJECT")
    for bone, own in zip(rig.pose.bones, ranges):
        for axis in "xyz":
            setattr(bone, f"lock_ik_{axis}", axis not in own)
            if axis in own:
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", math.radians(own[axis][0]))
                setattr(bone, f"ik_max_{axis}", math.radians(own[axis][1]))
    target = bpy.data.objects.new(f"Target {number}", None)
    bpy.context.scene.collection.objects.link(target)
    return Rig(rig, target)


def follow(rig: Rig, manner: str, pole: bpy.types.Object | None) -> None:
    """Have a rig follow its target: by Blender's own constraint, or by a solver of ours."""
    if manner == "built-in":
        constraint = rig.tip.constraints.new("IK")
        constraint.target, constraint.pole_target = rig.target, pole
        return
    chain = rig.object.chain_ik.chains.add()
    chain.bone, chain.solver, chain.target = rig.tip.name, manner, rig.target
    if pole is not None:
        chain.pole_target = pole


def add_pole() -> bpy.types.Object:
    """Return a pole beside the rigs."""
    pole = bpy.data.objects.new("Pole", None)
    pole.location = POLE
    bpy.context.scene.collection.objects.link(pole)
    return pole


def reachable(name: str, count: int) -> Array:
    """Return targets that a rig reaches, shape (count, 3); the chain starts in the origin."""
    rng = np.random.default_rng(SEED)
    found = np.zeros((count, 3))
    for i in range(count):
        axes, head = np.eye(3), np.zeros(3)
        # The bones' rest: along Z, so their own Y is Z and their own Z is -Y.
        axes = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
        for own in RIGS[name]:
            turn = {axis: _drawn(rng, *ends) for axis, ends in own.items()}
            swing = _turned((turn.get("x", 0.0), 0.0, turn.get("z", 0.0)))
            axes = axes @ swing @ _turned((0.0, turn.get("y", 0.0), 0.0))
            head = head + axes[:, 1]
        found[i] = head
    return found


def _drawn(rng: np.random.Generator, low: float, high: float) -> float:
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return math.radians(middle + SHARE * half * rng.uniform(-1.0, 1.0))


def _turned(vector: tuple[float, float, float]) -> Array:
    """Return the rotation matrix about a vector by its length."""
    x, y, z = vector
    angle = math.sqrt(x * x + y * y + z * z)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    first = math.sin(angle) / angle if angle else 1.0
    second = (1.0 - math.cos(angle)) / (angle * angle) if angle else 0.5
    matrix: Array = np.eye(3) + first * cross + second * (cross @ cross)
    return matrix
