"""Write rotation channels back to an armature object, in bulk."""

from __future__ import annotations

import bpy
import numpy as np
import numpy.typing as npt

from .channels import PROPERTY_SIZES, Pose, read_floats, rows_of_property

Array = npt.NDArray[np.float64]
# Before 4.5 a script that writes channels in bulk is not listed as a change, so nothing but reading
# them again tells what the other bones hold.
TELLS_OF_BULK_WRITES = bpy.app.version >= (4, 5, 0)

Written = dict[str, npt.NDArray[np.float32]]
"""By rotation property: what it holds for all bones, shape (n * size,)."""


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
        values = read_floats(pose_bones, name, size)
        values.reshape(-1, size)[bones[rows]] = channels[rows, :size]
        pose_bones.foreach_set(name, values)
        written[name] = values
    _tag(armature_object)
    return written


def write_pose(
    armature_object: bpy.types.Object,
    pose: Pose,
    bones: npt.NDArray[np.int64],
    modes: npt.NDArray[np.int32],
    channels: Array | npt.NDArray[np.float32],
) -> Written:
    """Write as ``write_rotation`` does, and note it in a pose that is known to be up to date.

    Args:
        armature_object: The original object.
        pose: Its pose as read last, with all that has been written since.
        bones: Indices in the order of ``Armature.bones``, shape (m,).
        modes: Rotation modes of these bones, shape (m,).
        channels: Shape (m, 4).
    """
    pose.note_written(bones, channels)
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
