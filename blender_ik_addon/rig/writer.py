"""Write rotation channels back to an armature object, in bulk."""

from __future__ import annotations

import bpy
import numpy as np
import numpy.typing as npt

from .channels import PROPERTY_SIZES, read_floats, rows_of_property

Array = npt.NDArray[np.float64]


def write_rotation(
    armature_object: bpy.types.Object,
    bones: npt.NDArray[np.int64],
    modes: npt.NDArray[np.int32],
    channels: Array,
) -> None:
    """Write rotation channels of some bones and tag the pose for evaluation.

    Args:
        armature_object: The original object.
        bones: Indices in the order of ``Armature.bones``, shape (m,).
        modes: Rotation modes of these bones, shape (m,).
        channels: Shape (m, 4).
    """
    pose_bones = armature_object.pose.bones
    for name, size in PROPERTY_SIZES.items():
        rows = rows_of_property(modes, name)
        if rows.any():
            values = read_floats(pose_bones, name, size)
            values.reshape(-1, size)[bones[rows]] = channels[rows, :size]
            pose_bones.foreach_set(name, values)
    # ``foreach_set`` alone never has the pose evaluated again.
    armature_object.update_tag(refresh={"DATA"})
