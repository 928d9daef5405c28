"""Writing of channels to an armature object, in bulk."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..batches.changes import CHANNEL_KINDS, ChannelChange
from ..reading.channels import (
    CHANNEL_SIZES,
    PROPERTY_SIZES,
    Channels,
    Integers,
    Pose,
    read_floats,
    rows_of_property,
)
from ..reading.update import GraphKey

# Before 4.5 Blender does not list bulk writes of scripts as changes, so channels of the other bones
# must be read again before a write.
LISTS_BULK_WRITES = bpy.app.version >= (4, 5, 0)

BulkChannels = dict[str, Channels]
"""Values of all bones, shape (n * size,), by property."""
LastWrite = tuple[GraphKey, BulkChannels]
"""Key of the graph that wrote last to an armature object, and the values of all bones after it."""


def has_write(armature_object: bpy.types.Object, last: LastWrite | None) -> bool:
    """Return whether an original object still has the values of its last write."""
    if last is None:
        return False
    bones = armature_object.pose.bones
    return all(
        np.array_equal(read_floats(bones, name, CHANNEL_SIZES[name]), values)
        for name, values in last[1].items()
    )


def write_rotation(
    armature_object: bpy.types.Object, bones: Indices, modes: Integers, channels: Array | Channels
) -> BulkChannels:
    """Write rotation channels, tag the pose, and return the present values of the properties.

    Args:
        armature_object: The original object.
        bones: Indices in the order of ``Armature.bones``, shape (m,).
        modes: Rotation modes of these bones, shape (m,).
        channels: Rotation channels, shape (m, 4).
    """
    written: BulkChannels = {}
    for name, rows in _rows_by_property(modes):
        values = channels[rows, : PROPERTY_SIZES[name]]
        written[name] = write_property(armature_object, name, bones[rows], values)
    _tag(armature_object)
    return written


def write_pose(
    armature_object: bpy.types.Object, pose: Pose, changes: Sequence[ChannelChange]
) -> BulkChannels:
    """Write changes of one armature object, tag its pose, and return the present property values.

    Args:
        armature_object: The original object.
        pose: Its pose as last read, with the changes already noted.
        changes: One change or more.
    """
    written: BulkChannels = {}
    for kind in CHANNEL_KINDS:
        of_kind = [change for change in changes if change.kind == kind]
        if kind == "channels" and LISTS_BULK_WRITES and not pose.modes.any():
            whole = written["rotation_quaternion"] = pose.channels.ravel()
            armature_object.pose.bones.foreach_set("rotation_quaternion", whole)
            _tag(armature_object)
        elif of_kind:
            bones = np.concatenate([change.bones for change in of_kind])
            values = np.concatenate([change.values for change in of_kind])
            if kind == "channels":
                written |= write_rotation(armature_object, bones, pose.modes[bones], values)
            else:
                written[kind] = write_property(armature_object, kind, bones, values)
    return written


def write_property(
    armature_object: bpy.types.Object, name: str, bones: Indices, values: Array | Channels
) -> Channels:
    """Write a property of some bones, untagged; return its values for all, shape (n * size,).

    Args:
        armature_object: The original object.
        name: Name of the property.
        bones: Indices of the bones, shape (m,).
        values: Values, shape (m, size).
    """
    pose_bones, size = armature_object.pose.bones, values.shape[1]
    whole = read_floats(pose_bones, name, size)
    whole.reshape(-1, size)[bones] = values
    pose_bones.foreach_set(name, whole)
    return whole


def _tag(armature_object: bpy.types.Object) -> None:
    """Tag the pose for evaluation, which ``foreach_set`` alone does not do."""
    # Evaluation copies the object, which resets the pose. {"DATA"} would also evaluate everything
    # that depends on the armature's geometry, at twice the cost.
    armature_object.update_tag(refresh={"OBJECT"})


def _rows_by_property(modes: Integers) -> list[tuple[str, Flags | slice]]:
    """Return properties with the rows of the bones that use them, without unused properties."""
    if not modes.any():
        return [("rotation_quaternion", slice(None))]
    pairs = [(name, rows_of_property(modes, name)) for name in PROPERTY_SIZES]
    return [(name, rows) for name, rows in pairs if rows.any()]
