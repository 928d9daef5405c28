"""A figure for pictures of the interface: an arm with a pole and limits, a leg and a tail."""

from __future__ import annotations

import math

import bpy
from mathutils import Vector

from examples.parts.rigs import Bone, add_empty, add_rig, hang_chain
from window.tour import clear_scene

NAME = "Figure"
# By name: heads from the root down, and the last tail; where their targets are.
LIMBS = {
    "Arm": ((0.0, 0.0, 1.5), (0.45, 0.06, 1.42), (0.85, 0.0, 1.42), (1.05, 0.0, 1.42)),
    "Leg": ((0.0, 0.0, 0.95), (0.02, -0.05, 0.5), (0.0, 0.02, 0.08), (0.0, -0.2, 0.0)),
    "Tail": ((-0.1, 0.1, 1.0), (-0.3, 0.15, 1.05), (-0.5, 0.1, 1.15), (-0.6, 0.1, 1.3)),
}
TARGETS = {"Arm": (0.62, -0.3, 1.6), "Leg": (0.18, -0.25, 0.35), "Tail": (-0.75, 0.0, 1.5)}
POLE = (0.5, 0.7, 1.35)
# By bone: the kind of its joint, and ranges in degrees.
LIMITS = {
    "Arm.0": ("BALL", {"x": (-50, 75), "y": (-40, 60), "z": (-70, 45)}),
    "Arm.1": ("ELBOW_X", {"x": (-5, 145), "y": (-80, 80)}),
    "Leg.0": ("CONE", {"y": (-30, 30)}),
    "Leg.1": ("HINGE_X", {"x": (-120, 5)}),
}
ANGLES = (1.35, 0.0, 0.55)
NEAR_ARM = Vector((0.45, -0.05, 1.5)), 1.15, ANGLES


def rig() -> bpy.types.Object:
    """Return the figure. By name: undo replaces all references."""
    return bpy.data.objects[NAME]


def build() -> None:
    """Replace the scene by an armature object with three limbs and their chains, in pose mode."""
    clear_scene()
    bones = {
        f"{limb}.{number}": Bone(*ends, f"{limb}.{number - 1}" if number else "", None)
        for limb, joints in LIMBS.items()
        for number, ends in enumerate(zip(joints, joints[1:], strict=False))
    }
    figure = add_rig(NAME, bones)
    figure.data.display_type = "OCTAHEDRAL"
    figure.select_set(True)
    bpy.ops.object.mode_set(mode="POSE")
    for limb, place in TARGETS.items():
        target = add_empty(f"{limb} Target", place, 0.05)
        hang_chain(figure, limb, f"{limb}.1", target, chain_count=2)
    figure.chain_ik.chains["Arm"].pole_target = add_empty("Arm Pole", POLE, 0.05)
    for bone, (kind, ranges) in LIMITS.items():
        joint = figure.chain_ik.chains[bone.split(".")[0]].joints.add()
        joint.bone, joint.kind, joint.cone_angle = bone, kind, math.radians(50.0)
        for axis, ends in ranges.items():
            setattr(joint, f"use_limit_{axis}", True)
            for word, end in zip(("min", "max"), ends, strict=True):
                setattr(joint, f"{word}_{axis}", math.radians(end))
    figure.chain_ik.active_index = 0
