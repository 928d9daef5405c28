"""Changes that rows of `setting_rows` make to rigs inside Blender."""

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
"""Ranges in degrees of the free axes."""
BALL: Ranges = {"x": (-40.1, 40.1), "y": (-20.05, 20.05), "z": (-40.1, 40.1)}
ALL, SECOND = slice(None), slice(1, 2)
# Share of the ranges of limited joints that random poses use.
SHARE = 0.8
SEED = 20261123
Rigs = Sequence[bpy.types.Object]
Names = Sequence[Sequence[str]]
"""Names of the bones of each limb."""


def bone_name(limb: int, index: int) -> str:
    """Return the name of a limb's bone by its index from the root."""
    return f"Limb {limb} Bone {index}"


def handle_name(limb: int) -> str:
    """Return the name of the bone that is a limb's target or pole."""
    return f"Handle {limb}"


def apply_changes(rigs: Rigs, names: Names, changes: tuple[str, ...]) -> None:
    """Apply changes to the rigs by their names, in order."""
    for name in changes:
        for rig in rigs:
            if name in RIG_CHANGES:
                RIG_CHANGES[name](rig, names)
            for limb in names if name in LIMB_CHANGES else ():
                LIMB_CHANGES[name]([rig.pose.bones[name] for name in limb])


def draw_reachable_places(rigs: Rigs, names: Names, sets: int) -> Array:
    """Return tips of random poses within the ranges, world space, shape (sets, limbs, 3)."""
    rng, places = np.random.default_rng(SEED), []
    bones = [rig.pose.bones[name] for rig in rigs for limb in names for name in limb]
    for _ in range(sets):
        for bone in bones:
            # Turn about one axis, so that the other ranges hold as well.
            axis = rng.choice([axis for axis in "xyz" if getattr(bone, f"use_ik_limit_{axis}")])
            low, high = getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
            angle = 0.5 * (low + high) + 0.5 * SHARE * (high - low) * rng.uniform(-1.0, 1.0)
            bone.rotation_quaternion = Matrix.Rotation(angle, 3, axis.upper()).to_quaternion()
        bpy.context.view_layer.update()
        tips = [(rig, rig.pose.bones[limb[-1]]) for rig in rigs for limb in names]
        places.append([rig.matrix_world @ tip.tail for rig, tip in tips])
    for bone in bones:
        bone.rotation_quaternion = (1.0, 0.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    return np.array(places)


LimbBones = Sequence[bpy.types.PoseBone]


def _setter(value: object, *paths: str, of: slice = ALL) -> Callable[[LimbBones], None]:
    """Return a function that sets properties of a limb's pose bones; "bone." means their bones."""

    def set_all(limb: LimbBones) -> None:
        for bone, path in product(limb[of], paths):
            setattr(bone.bone if path.startswith("bone.") else bone, path.split(".")[-1], value)

    return set_all


def _key(limb: LimbBones) -> None:
    for bone in limb:
        for frame in (1, 10):
            bone.keyframe_insert("rotation_quaternion", frame=frame)


def _limiter(ranges: Iterable[Ranges], of: slice = ALL) -> Callable[[LimbBones], None]:
    """Return a function that sets ranges of a limb's bones, and locks all other axes."""

    def limit_all(limb: LimbBones) -> None:
        for bone, axis_ranges in zip(limb[of], ranges):
            for axis in "xyz":
                setattr(bone, f"lock_ik_{axis}", axis not in axis_ranges)
            for axis, ends in axis_ranges.items():
                low, high = map(math.radians, ends)
                setattr(bone, f"use_ik_limit_{axis}", True)
                setattr(bone, f"ik_min_{axis}", low)
                setattr(bone, f"ik_max_{axis}", high)

    return limit_all


def _add_handles(rig: bpy.types.Object, names: Names) -> None:
    """Add a bone for each limb at the origin along Y: its location is its place."""
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
LIMB_CHANGES: dict[str, Callable[[LimbBones], None]] = {
    "keyed": _key,
    "stretchy": _setter(0.1, "ik_stretch"),
    "locked": _setter((False, True, False), "lock_rotation", of=SECOND),
    "uneven": _setter((1.2, 1.0, 0.8), "scale", of=slice(1)),
    "unturned": _setter(False, "bone.use_inherit_rotation", of=SECOND),
    "balls": _limiter(repeat(BALL)),
    # The limbs bend about Z.
    "hinges": _limiter(repeat({"z": (-149.0, 149.0)}), of=slice(1, None)),
    **{name: _limiter(ranges) for name, ranges in LIMITED.items()},
    "stiff": _setter(0.5, "ik_stiffness_x", "ik_stiffness_z"),
    **{mode: _setter(mode, "bone.inherit_scale") for mode in ("FIX_SHEAR", "AVERAGE", "ALIGNED")},
    **{mode: _setter(mode, "rotation_mode") for mode in ("XYZ", "AXIS_ANGLE")},
}
RIG_CHANGES: dict[str, Callable[[bpy.types.Object, Names], None]] = {
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
