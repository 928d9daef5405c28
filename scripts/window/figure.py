"""A figure for pictures of the interface: an arm with a pole and limits, a leg and a tail."""

from __future__ import annotations

import math

import bpy

from window.tour import clear_scene

# By name: heads from the root down, and the last tail.
LIMBS = {
    "Arm": ((0.0, 0.0, 1.5), (0.45, 0.06, 1.42), (0.85, 0.0, 1.42), (1.05, 0.0, 1.42)),
    "Leg": ((0.0, 0.0, 0.95), (0.02, -0.05, 0.5), (0.0, 0.02, 0.08), (0.0, -0.2, 0.0)),
    "Tail": ((-0.1, 0.1, 1.0), (-0.3, 0.15, 1.05), (-0.5, 0.1, 1.15), (-0.6, 0.1, 1.3)),
}
TARGETS = {"Arm": (0.62, -0.3, 1.6), "Leg": (0.18, -0.25, 0.35), "Tail": (-0.75, 0.0, 1.5)}
POLE = (0.5, 0.7, 1.35)
ANGLES = (1.35, 0.0, 0.55)


def build() -> bpy.types.Object:
    """Return an armature object with two limbs and their chains."""
    clear_scene()
    rig = bpy.data.objects.new("Figure", bpy.data.armatures.new("Figure"))
    bpy.context.collection.objects.link(rig)
    bpy.context.view_layer.objects.active = rig
    rig.select_set(True)
    bpy.ops.object.mode_set(mode="EDIT")
    for limb, joints in LIMBS.items():
        above = None
        for number, (head, tail) in enumerate(zip(joints[:-1], joints[1:], strict=True)):
            bone = rig.data.edit_bones.new(f"{limb}.{number}")
            bone.head, bone.tail = head, tail
            bone.parent, bone.use_connect = above, above is not None
            above = bone
    bpy.ops.object.mode_set(mode="POSE")
    for limb in LIMBS:
        chain = rig.chain_ik.chains.add()
        chain.name = limb
        chain.target = make_empty(f"{limb} Target", TARGETS[limb])
        chain.chain_count = 2
        chain.bone = f"{limb}.1"
    arm, leg, _ = rig.chain_ik.chains
    arm.pole_target = make_empty("Arm Pole", POLE)
    add_limits(arm, leg)
    rig.chain_ik.active_index = 0
    return rig


def make_empty(name: str, place: tuple[float, float, float]) -> bpy.types.Object:
    """Return a linked empty."""
    ob = bpy.data.objects.new(name, None)
    ob.empty_display_size = 0.05
    ob.location = place
    bpy.context.collection.objects.link(ob)
    return ob


def add_limits(arm: bpy.types.PropertyGroup, leg: bpy.types.PropertyGroup) -> None:
    """Limit shoulder and elbow of the arm, hip and knee of the leg."""
    for chain, bone, kind, ranges in (
        (arm, "Arm.0", "BALL", {"x": (-50, 75), "y": (-40, 60), "z": (-70, 45)}),
        (arm, "Arm.1", "ELBOW_X", {"x": (-5, 145), "y": (-80, 80)}),
        (leg, "Leg.0", "CONE", {"y": (-30, 30)}),
        (leg, "Leg.1", "HINGE_X", {"x": (-120, 5)}),
    ):
        joint = chain.joints.add()
        joint.bone, joint.kind = bone, kind
        joint.cone_angle = math.radians(50.0)
        for axis, ends in ranges.items():
            setattr(joint, f"use_limit_{axis}", True)
            for word, end in zip(("min", "max"), ends, strict=True):
                setattr(joint, f"{word}_{axis}", math.radians(end))
