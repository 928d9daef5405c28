"""Limbs with segments of several bones or with twist bones, and targets that turn the hands."""

from collections.abc import Mapping, Sequence

import bpy
import numpy as np
import pytest
from mathutils import Matrix, Quaternion, Vector

from tests.blender.setups import rigs

Bones = Mapping[str, tuple[str, Sequence[float], Sequence[float]]]
"""Parent, head and tail by name."""

SHOULDER, ELBOW, WRIST, PALM = (0.2, 0, 1.5), (0.5, 0.03, 1.45), (0.8, 0, 1.4), (0.9, 0, 1.38)


def between(one: Sequence[float], other: Sequence[float], share: float) -> Vector:
    return Vector(one).lerp(Vector(other), share)


# The bones that Rigify generates.
SEGMENTED: Bones = {
    "shoulder.L": ("", (0, 0, 1.5), SHOULDER),
    "DEF-upper_arm.L": ("shoulder.L", SHOULDER, between(SHOULDER, ELBOW, 0.5)),
    "DEF-upper_arm.L.001": ("DEF-upper_arm.L", between(SHOULDER, ELBOW, 0.5), ELBOW),
    "DEF-forearm.L": ("DEF-upper_arm.L.001", ELBOW, between(ELBOW, WRIST, 0.5)),
    "DEF-forearm.L.001": ("DEF-forearm.L", between(ELBOW, WRIST, 0.5), WRIST),
    "DEF-hand.L": ("DEF-forearm.L.001", WRIST, PALM),
    "finger.L": ("DEF-hand.L", PALM, (0.95, 0, 1.35)),
}
# The bones of Unreal's mannequins: the forearm has twist bones at a third and two thirds.
UNREAL: Bones = {
    "clavicle_l": ("", (0, 0, 1.5), SHOULDER),
    "upperarm_l": ("clavicle_l", SHOULDER, ELBOW),
    "upperarm_twist_01_l": ("upperarm_l", SHOULDER, between(SHOULDER, ELBOW, 0.4)),
    "upperarm_twist_02_l": (
        "upperarm_l", between(SHOULDER, ELBOW, 0.5), between(SHOULDER, ELBOW, 0.9),
    ),
    "lowerarm_l": ("upperarm_l", ELBOW, WRIST),
    "lowerarm_twist_02_l": (
        "lowerarm_l", between(ELBOW, WRIST, 1 / 3), between(ELBOW, WRIST, 0.6),
    ),
    # Points aside, as imported bones often do.
    "lowerarm_twist_01_l": ("lowerarm_l", between(ELBOW, WRIST, 2 / 3), (0.7, 0.11, 1.42)),
    "hand_l": ("lowerarm_l", WRIST, PALM),
    "finger_l": ("hand_l", PALM, (0.95, 0, 1.35)),
}  # fmt: skip
HANDS = {"DEF-hand.L": "DEF-forearm.L.001", "hand_l": "lowerarm_l"}
"""The bone before each hand."""
RIGS = pytest.mark.parametrize("bones", [SEGMENTED, UNREAL], ids=["segmented", "unreal"])
MOVED = (-0.1, 0.03, -0.1)
"""An offset of the hand from rest that bends the arm, in scene units."""


def make_bones(bones: Bones, name: str = "Rig", mode: str = "QUATERNION") -> bpy.types.Object:
    ob = rigs.make_armature(name)
    with rigs.editing(ob) as edited:
        for bone, (parent, head, tail) in bones.items():
            new = edited.new(bone)
            new.head, new.tail, new.roll = head, tail, 0.3
            if parent:
                new.parent = edited[parent]
    rigs.set_each(ob.pose.bones, rotation_mode=mode)
    return ob


def make_arm(
    bones: Bones, mode: str = "QUATERNION", **settings: object
) -> tuple[bpy.types.Object, bpy.types.PropertyGroup, bpy.types.Object]:
    """Return an arm with its chain from the upper arm to the forearm, and its target.

    The target has the position and rotation of the hand at rest.
    """
    ob = make_bones(bones, mode=mode)
    last = next(last for hand, last in HANDS.items() if hand in bones)
    target = rigs.make_empty("Target")
    target.rotation_mode = "QUATERNION"
    count = len([name for name in bones if "arm" in name and "twist" not in name])
    defaults = {"chain_count": count, "use_rotation": True, "rotation_bone": "AUTO"}
    turn_hand(ob, target, 0.0)
    chain = rigs.add_chain(ob, last, target, **{**defaults, **settings})
    rigs.updated()
    return ob, chain, target


def hand_of(ob: bpy.types.Object) -> str:
    return next(hand for hand in HANDS if hand in ob.data.bones)


def turn_hand(
    ob: bpy.types.Object,
    target: bpy.types.Object,
    angle: float,
    swing: Sequence[float] = (1.0, 0.0, 0.0, 0.0),
    moved: Sequence[float] = (0.0, 0.0, 0.0),
) -> None:
    """Place a target at the hand at rest, turned about the forearm, then swung, and moved."""
    bone = ob.data.bones[hand_of(ob)]
    axis = Vector(WRIST) - Vector(ELBOW)
    turn = Quaternion(swing) @ Quaternion(axis, angle) @ bone.matrix_local.to_quaternion()
    matrix = ob.matrix_world @ Matrix.LocRotScale(bone.head_local + Vector(moved), turn, None)
    target.location, target.rotation_quaternion = matrix.to_translation(), matrix.to_quaternion()


def turn_between(ob: bpy.types.Object, bone: str, other: str, axis: Sequence[float]) -> float:
    """Return the angle of one bone relative to another about a rest axis, in radians."""
    posed = rigs.evaluated(ob).pose.bones
    turns = [
        posed[name].matrix.to_quaternion()
        @ ob.data.bones[name].matrix_local.to_quaternion().inverted()
        for name in (bone, other)
    ]
    turn = turns[0].inverted() @ turns[1]
    along = Vector((turn.x, turn.y, turn.z)).dot(Vector(axis).normalized())
    return float(np.remainder(2.0 * np.arctan2(along, turn.w) + np.pi, 2.0 * np.pi) - np.pi)
