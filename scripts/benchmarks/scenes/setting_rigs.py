"""What rows of `setting_rows` do to their rigs, inside Blender."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Callable

import bpy

from benchmarks.scenes.blender_scenes import Stage, bone_name

BALL = {"x": 0.7, "y": 0.35, "z": 0.7}
"""Radians to either side that limited bones have about their axes."""
HINGE = 2.6
INHERITED = ("FIX_SHEAR", "AVERAGE", "NONE", "NONE_LEGACY", "ALIGNED")
MODES = ("XYZ", "AXIS_ANGLE")


def change(stage: Stage, names: tuple[str, ...]) -> None:
    """Do to the rigs what the names say, in their order."""
    for name in names:
        if name in INHERITED:
            for bone in limbs(stage):
                bone.bone.inherit_scale = name
        elif name in MODES:
            for bone in limbs(stage):
                bone.rotation_mode = name
        else:
            CHANGES[name](stage)


def limbs(stage: Stage, index: int | None = None) -> Iterator[bpy.types.PoseBone]:
    """Yield the pose bones of all limbs, or of each the one at a place."""
    places = range(stage.layout.bones) if index is None else (index,)
    for rig in stage.armatures:
        for limb in range(stage.layout.limbs):
            for place in places:
                yield rig.pose.bones[bone_name(limb, place)]


def handle_name(limb: int) -> str:
    """Return the name of the bone that is a limb's target, or its pole."""
    return f"Handle.{limb}"


def _key(stage: Stage) -> None:
    for bone in limbs(stage):
        for frame in (1, 10):
            bone.keyframe_insert("rotation_quaternion", frame=frame)


def _make_stretchy(stage: Stage) -> None:
    for bone in limbs(stage):
        bone.ik_stretch = 0.1


def _lock(stage: Stage) -> None:
    for bone in limbs(stage, 1):
        bone.lock_rotation[1] = True


def _scale(stage: Stage) -> None:
    for bone in limbs(stage, 0):
        bone.scale = (1.2, 1.0, 0.8)


def _scale_root(stage: Stage) -> None:
    if not stage.layout.has_root:
        _scale(stage)
    for rig in stage.armatures if stage.layout.has_root else ():
        rig.pose.bones["Root"].scale = (1.2, 1.0, 0.8)


def _scale_objects(stage: Stage) -> None:
    for rig in stage.armatures:
        rig.scale = (1.1, 1.0, 0.9)


def _mirror(stage: Stage) -> None:
    for rig in stage.armatures:
        rig.scale = (-1.0, 1.0, 1.0)


def _cut_rotation(stage: Stage) -> None:
    for bone in limbs(stage, 1):
        bone.bone.use_inherit_rotation = False


def _cut_one_rotation(stage: Stage) -> None:
    for rig in stage.armatures:
        rig.data.bones[bone_name(0, 1)].use_inherit_rotation = False


def _limit_balls(stage: Stage) -> None:
    for bone in limbs(stage):
        for axis, end in BALL.items():
            _limit(bone, axis, end)


def _limit_hinges(stage: Stage) -> None:
    """Have all bones but the first turn about Z alone, the axis that the limbs bend about."""
    for bone in limbs(stage):
        if bone.parent is not None and bone.parent.name != "Root":
            bone.lock_ik_x = bone.lock_ik_y = True
            _limit(bone, "z", HINGE)


def _limit(bone: bpy.types.PoseBone, axis: str, end: float) -> None:
    setattr(bone, f"use_ik_limit_{axis}", True)
    setattr(bone, f"ik_min_{axis}", -end)
    setattr(bone, f"ik_max_{axis}", end)


def _stiffen(stage: Stage) -> None:
    for bone in limbs(stage):
        bone.ik_stiffness_x = bone.ik_stiffness_z = 0.5


def _add_handles(stage: Stage) -> None:
    """Add a bone for each limb that lies in the origin along Y: its location is its place."""
    for rig in stage.armatures:
        bpy.context.view_layer.objects.active = rig
        bpy.ops.object.mode_set(mode="EDIT")
        for limb in range(stage.layout.limbs):
            bone = rig.data.edit_bones.new(handle_name(limb))
            bone.tail = (0.0, 0.3, 0.0)
        bpy.ops.object.mode_set(mode="OBJECT")


CHANGES: dict[str, Callable[[Stage], None]] = {
    "keyed": _key,
    "stretchy": _make_stretchy,
    "locked": _lock,
    "uneven": _scale,
    "uneven root": _scale_root,
    "uneven object": _scale_objects,
    "mirrored": _mirror,
    "unturned": _cut_rotation,
    "one unturned": _cut_one_rotation,
    "balls": _limit_balls,
    "hinges": _limit_hinges,
    "stiff": _stiffen,
    "handles": _add_handles,
    "pole bones": _add_handles,
}
