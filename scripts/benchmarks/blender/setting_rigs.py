"""What rows of `setting_rows` do to rigs and chains, inside Blender."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import product, repeat
from typing import Callable

import bpy
import numpy as np
from mathutils import Matrix

from benchmarks.core.cases import Array

Ranges = dict[str, tuple[float, float]]
"""Degrees by the axes that are free."""
BALL: Ranges = {"x": (-40.1, 40.1), "y": (-20.05, 20.05), "z": (-40.1, 40.1)}
ALL, SECOND = slice(None), slice(1, 2)
# Of the range of limited joints, where targets are those of joints.
SHARE = 0.8
SEED = 20261123
Rigs = Sequence[bpy.types.Object]
Names = Sequence[Sequence[str]]
"""Of the bones of each limb."""


def bone_name(limb: int, index: int) -> str:
    """Return the name of a limb's bone, counted from its root."""
    return f"Limb {limb} Bone {index}"


def handle_name(limb: int) -> str:
    """Return the name of the bone that is a limb's target, or its pole."""
    return f"Handle {limb}"


def change(rigs: Rigs, names: Names, changes: tuple[str, ...]) -> None:
    """Do to the rigs what the words say, in their order."""
    for word in changes:
        for rig in rigs:
            if word in OF_RIGS:
                OF_RIGS[word](rig, names)
            for limb in names if word in OF_LIMBS else ():
                OF_LIMBS[word]([rig.pose.bones[name] for name in limb])


def posed_places(rigs: Rigs, names: Names, sets: int) -> Array:
    """Return where tips are in random poses within the ranges of all bones, in world space."""
    rng, found = np.random.default_rng(SEED), []
    bones = [rig.pose.bones[name] for rig in rigs for limb in names for name in limb]
    for _ in range(sets):
        for bone in bones:
            # About one axis each: within the range whatever the others do.
            axis = rng.choice([each for each in "xyz" if getattr(bone, f"use_ik_limit_{each}")])
            low, high = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
            angle = 0.5 * (low + high) + 0.5 * SHARE * (high - low) * rng.uniform(-1.0, 1.0)
            bone.rotation_quaternion = Matrix.Rotation(angle, 3, axis.upper()).to_quaternion()
        bpy.context.view_layer.update()
        tips = [(rig, rig.pose.bones[limb[-1]]) for rig in rigs for limb in names]
        found.append([rig.matrix_world @ tip.tail for rig, tip in tips])
    for bone in bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    return np.array(found)


Limb = Sequence[bpy.types.PoseBone]


def _set_all(value: object, *paths: str, of: slice = ALL) -> Callable[[Limb], None]:
    """Return what gives bones of a limb a value; "bone.name" is one of the bone itself."""

    def set_all(limb: Limb) -> None:
        for each, path in product(limb[of], paths):
            setattr(each.bone if path.startswith("bone.") else each, path.split(".")[-1], value)

    return set_all


def _key(limb: Limb) -> None:
    for bone in limb:
        for frame in (1, 10):
            bone.keyframe_insert("rotation_quaternion", frame=frame)


def _limit_as(ranges: Iterable[Ranges], of: slice = ALL) -> Callable[[Limb], None]:
    """Return what gives a limb's bones ranges in degrees about the axes that are free."""

    def limit_all(limb: Limb) -> None:
        for bone, own in zip(limb[of], ranges):
            for axis in "xyz":
                setattr(bone, f"lock_ik_{axis}", axis not in own)
            for axis, ends in own.items():
                low, high = map(math.radians, ends)
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", low)
                setattr(bone, f"ik_max_{axis}", high)

    return limit_all


def _add_handles(rig: bpy.types.Object, names: Names) -> None:
    """Add a bone for each limb that lies in the origin along Y: its location is its place."""
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    for limb in range(len(names)):
        bone = rig.data.edit_bones.new(handle_name(limb))
        bone.tail = (0.0, 0.3, 0.0)
    bpy.ops.object.mode_set(mode="OBJECT")


SHOULDER: Ranges = {"x": (-90, 90), "y": (-60, 60), "z": (-90, 90)}
LIMITED: dict[str, list[Ranges]] = {
    "arm": [SHOULDER, {"x": (0, 150)}, {"x": (-40, 40), "z": (-60, 60)}],
    "six-bone tail": [{"x": (-30, 30), "y": (-20, 20), "z": (-30, 30)}] * 6,
    "ten hinges": [{"z": (-40, 40)}, {"x": (-40, 40)}] * 5,
    "spider leg": [{"z": (-60, 60)}, *[{"x": (-80, 80)}] * 3],
    "finger": [{"z": (-20, 20)}, *[{"x": (0, 90)}] * 3],
}
OF_LIMBS: dict[str, Callable[[Limb], None]] = {
    "keyed": _key,
    "stretchy": _set_all(0.1, "ik_stretch"),
    "locked": _set_all((False, True, False), "lock_rotation", of=SECOND),
    "uneven": _set_all((1.2, 1.0, 0.8), "scale", of=slice(1)),
    "unturned": _set_all(False, "bone.use_inherit_rotation", of=SECOND),
    "balls": _limit_as(repeat(BALL)),
    # The limbs bend about Z.
    "hinges": _limit_as(repeat({"z": (-149.0, 149.0)}), of=slice(1, None)),
    **{name: _limit_as(ranges) for name, ranges in LIMITED.items()},
    "stiff": _set_all(0.5, "ik_stiffness_x", "ik_stiffness_z"),
    **{mode: _set_all(mode, "bone.inherit_scale") for mode in ("FIX_SHEAR", "AVERAGE", "ALIGNED")},
    **{mode: _set_all(mode, "rotation_mode") for mode in ("XYZ", "AXIS_ANGLE")},
}
OF_RIGS: dict[str, Callable[[bpy.types.Object, Names], None]] = {
    "uneven root": lambda rig, names: setattr(
        rig.pose.bones["Root" if len(names) > 1 else names[0][0]], "scale", (1.2, 1.0, 0.8)
    ),
    "uneven object": lambda rig, _: setattr(rig, "scale", (1.1, 1.0, 0.9)),
    "mirrored": lambda rig, _: setattr(rig, "scale", (-1.0, 1.0, 1.0)),
    "one unturned": lambda rig, names: setattr(
        rig.data.bones[names[0][1]], "use_inherit_rotation", False
    ),
    "handles": _add_handles,
    "pole bones": _add_handles,
}
