"""Write channels back to an armature object, in bulk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bpy
import numpy as np
import numpy.typing as npt

from .changes import NO_OTHERS, OtherChannels
from .channels import CHANNEL_SIZES, PROPERTY_SIZES, Pose, read_floats, rows_of_property

Array = npt.NDArray[np.float64]
# Before 4.5 a script that writes channels in bulk is not listed as a change, so nothing but reading
# them again tells what the other bones hold.
TELLS_OF_BULK_WRITES = bpy.app.version >= (4, 5, 0)

Written = dict[str, npt.NDArray[np.float32]]
"""By property: what it holds for all bones, shape (n * size,)."""


def write_rotation(
    armature_object: bpy.types.Object,
    bones: npt.NDArray[np.int64],
    modes: npt.NDArray[np.int32],
    channels: Array | npt.NDArray[np.float32],
) -> Written:
    """Write rotation channels of some bones and tag the pose for evaluation.

    Args:
        armature_object: The original object.
        bones: Indices in the order of ``Armature.bones``, shape (m,).
        modes: Rotation modes of these bones, shape (m,).
        channels: Shape (m, 4).

    Returns:
        What the properties that were written hold now.
    """
    written: Written = {}
    pose_bones = armature_object.pose.bones
    for name, rows in _rows_by_property(modes):
        size = PROPERTY_SIZES[name]
        written[name] = _put(pose_bones, name, size, bones[rows], channels[rows, :size])
    _tag(armature_object)
    return written


def write_pose(
    armature_object: bpy.types.Object,
    pose: Pose,
    bones: npt.NDArray[np.int64],
    modes: npt.NDArray[np.int32],
    channels: Array | npt.NDArray[np.float32],
    others: Mapping[str, OtherChannels] = NO_OTHERS,
) -> Written:
    """Write as ``write_rotation`` does, and note it in a pose that is known to be up to date.

    Args:
        armature_object: The original object.
        pose: Its pose as read last, with all that has been written since.
        bones: Indices in the order of ``Armature.bones``, shape (m,).
        modes: Rotation modes of these bones, shape (m,).
        channels: Shape (m, 4).
        others: Further channels by property name.
    """
    pose.note_written(bones, channels)
    written: Written = {}
    if others:
        for name, each in others.items():
            pose.note_others(name, each.bones, each.values)
        written = write_others(armature_object, others)
    return written | _write_rotations(armature_object, pose, bones, modes, channels)


def write_others(armature_object: bpy.types.Object, others: Mapping[str, OtherChannels]) -> Written:
    """Write channels that are no rotations; the pose still has to be tagged.

    Args:
        armature_object: The original object.
        others: By property name.

    Returns:
        What the properties that were written hold now.
    """
    pose_bones = armature_object.pose.bones
    return {
        name: _put(pose_bones, name, CHANNEL_SIZES[name], *each) for name, each in others.items()
    }


def _put(
    pose_bones: Any,
    name: str,
    size: int,
    bones: npt.NDArray[np.int64],
    values: Array | npt.NDArray[np.float32],
) -> npt.NDArray[np.float32]:
    """Write a property of some bones; return what it holds for all, shape (n * size,)."""
    whole = read_floats(pose_bones, name, size)
    whole.reshape(-1, size)[bones] = values
    pose_bones.foreach_set(name, whole)
    return whole


def _write_rotations(
    armature_object: bpy.types.Object,
    pose: Pose,
    bones: npt.NDArray[np.int64],
    modes: npt.NDArray[np.int32],
    channels: Array | npt.NDArray[np.float32],
) -> Written:
    if not (TELLS_OF_BULK_WRITES and pose.has_only_quaternions):
        return write_rotation(armature_object, bones, modes, channels)
    values = pose.channels.ravel()
    armature_object.pose.bones.foreach_set("rotation_quaternion", values)
    _tag(armature_object)
    return {"rotation_quaternion": values}


def _tag(armature_object: bpy.types.Object) -> None:
    """Have the pose evaluated again, which ``foreach_set`` alone never does."""
    # The copy that evaluation takes of an object resets its pose. {"DATA"} would evaluate what
    # hangs on the armature's geometry as well, at twice the cost.
    armature_object.update_tag(refresh={"OBJECT"})


def _rows_by_property(
    modes: npt.NDArray[np.int32],
) -> list[tuple[str, npt.NDArray[np.bool_] | slice]]:
    """Return which rows each property holds; without the properties that hold none."""
    if not modes.any():
        return [("rotation_quaternion", slice(None))]
    found = [(name, rows_of_property(modes, name)) for name in PROPERTY_SIZES]
    return [(name, rows) for name, rows in found if rows.any()]
