"""Write rotation channels back to an armature object, in bulk."""

from __future__ import annotations

import bpy
import numpy as np
import numpy.typing as npt

from .channels import PROPERTY_SIZES, read_floats, rows_of_property

Array = npt.NDArray[np.float64]
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
    # ``foreach_set`` alone never has the pose evaluated again.
    armature_object.update_tag(refresh={"DATA"})
    return written


def _rows_by_property(
    modes: npt.NDArray[np.int32],
) -> list[tuple[str, npt.NDArray[np.bool_] | slice]]:
    """Return which rows each property holds; without the properties that hold none."""
    if not modes.any():
        return [("rotation_quaternion", slice(None))]
    found = [(name, rows_of_property(modes, name)) for name in PROPERTY_SIZES]
    return [(name, rows) for name, rows in found if rows.any()]
