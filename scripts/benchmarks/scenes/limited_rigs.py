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
from mathutils import Matrix, Quaternion, Vector

from benchmarks.scenes.blender_scenes import add_empty, add_rig

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
ON_ONE_RIG = 4
SEED = 20261121
POLE = (0.0, -4.0, 2.0)


@dataclass(frozen=True)
class Limb:
    """One chain and its target.

    Attributes:
        object: The armature object.
        bones: Names of the chain's bones, root first.
        root: Where the chain begins.
        target: What it follows.
    """

    object: bpy.types.Object
    bones: tuple[str, ...]
    root: Array
    target: bpy.types.Object

    @property
    def tip(self) -> bpy.types.PoseBone:
        """The last bone."""
        return self.object.pose.bones[self.bones[-1]]


def build(name: str, count: int) -> list[Limb]:
    """Return so many limbs of bones of length one, up to four on an armature object."""
    limbs: list[Limb] = []
    while len(limbs) < count:
        limbs += _build_rig(name, min(ON_ONE_RIG, count - len(limbs)), len(limbs))
    return limbs


def _build_rig(name: str, count: int, first: int) -> list[Limb]:
    roots = [np.array([20.0 * number, 0.0, 0.0]) for number in range(count)]
    chains = [
        [f"Limb {number} Bone {i}" for i in range(len(RIGS[name]))] for number in range(count)
    ]
    bones = {
        bone: ((root[0], 0.0, i), (root[0], 0.0, i + 1.0), above)
        for root, chain in zip(roots, chains)
        for i, (bone, above) in enumerate(zip(chain, ["", *chain]))
    }
    rig = add_rig(f"{name} {first}", bones)
    targets = [add_empty(f"Target {first + number}") for number in range(count)]
    limbs = [Limb(rig, tuple(chain), *each) for chain, *each in zip(chains, roots, targets)]
    for limb in limbs:
        _limit(limb, RIGS[name])
    return limbs


def _limit(limb: Limb, ranges: list[Ranges]) -> None:
    for bone_name, own in zip(limb.bones, ranges):
        bone = limb.object.pose.bones[bone_name]
        for axis in "xyz":
            setattr(bone, f"lock_ik_{axis}", axis not in own)
            if axis in own:
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", math.radians(own[axis][0]))
                setattr(bone, f"ik_max_{axis}", math.radians(own[axis][1]))


def reachable(name: str, count: int) -> Array:
    """Return targets that a rig reaches, shape (count, 3); the chain starts in the origin."""
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(count):
        # The bones' rest: along Z, so their own Y is Z and their own Z is -Y.
        axes, head = Matrix.Rotation(0.5 * math.pi, 3, "X"), Vector()
        for own in RIGS[name]:
            turn = {axis: _drawn(rng, *ends) for axis, ends in own.items()}
            swing = Quaternion((turn.get("x", 0.0), 0.0, turn.get("z", 0.0)))
            twist = Quaternion((0.0, turn.get("y", 0.0), 0.0))
            axes = axes @ (swing @ twist).to_matrix()
            head += axes.col[1]
        found.append(head)
    return np.array(found)


def _drawn(rng: np.random.Generator, low: float, high: float) -> float:
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    return math.radians(middle + SHARE * half * rng.uniform(-1.0, 1.0))
