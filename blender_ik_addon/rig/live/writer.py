"""Write channels back to an armature object, in bulk."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..batches.changes import CHANNEL_KINDS, ChannelChange
from ..reading.channels import (
    PROPERTY_SIZES,
    Channels,
    Integers,
    Pose,
    read_floats,
    rows_of_property,
)
from ..reading.update import GraphKey

# Before 4.5 a script that writes channels in bulk is not listed as a change, so nothing but reading
# them again tells what the other bones hold.
TELLS_OF_BULK_WRITES = bpy.app.version >= (4, 5, 0)

Written = dict[str, Channels]
"""By property: what it holds for all bones, shape (n * size,)."""


LastWrite = tuple[GraphKey, Written]
"""For which graph something was written last to an armature object, and what bones hold since."""


def write_rotation(
    armature_object: bpy.types.Object,
    bones: Indices,
    modes: Integers,
    channels: Array | Channels,
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
    for name, rows in _rows_by_property(modes):
        own = channels[rows, : PROPERTY_SIZES[name]]
        written[name] = write_property(armature_object, name, bones[rows], own)
    _tag(armature_object)
    return written


def write_pose(
    armature_object: bpy.types.Object, pose: Pose, changes: Sequence[ChannelChange]
) -> Written:
    """Write changes of one armature object, and tag its pose for evaluation.

    Args:
        armature_object: The original object.
        pose: Its pose as read last, in which the changes are noted.
        changes: At least one.

    Returns:
        What the properties that were written hold now.
    """
    written: Written = {}
    for kind in CHANNEL_KINDS:
        own = [each for each in changes if each.kind == kind]
        if kind == "channels" and TELLS_OF_BULK_WRITES and pose.has_only_quaternions:
            whole = written["rotation_quaternion"] = pose.channels.ravel()
            armature_object.pose.bones.foreach_set("rotation_quaternion", whole)
            _tag(armature_object)
        elif own:
            bones = np.concatenate([each.bones for each in own])
            values = np.concatenate([each.values for each in own])
            if kind == "channels":
                written |= write_rotation(armature_object, bones, pose.modes[bones], values)
            else:
                written[kind] = write_property(armature_object, kind, bones, values)
    return written


def write_property(
    armature_object: bpy.types.Object, name: str, bones: Indices, values: Array | Channels
) -> Channels:
    """Write a property of some bones; the pose still has to be tagged.

    Args:
        armature_object: The original object.
        name: Of the property.
        bones: Indices, shape (m,).
        values: Shape (m, size).

    Returns:
        What the property holds now for all bones, shape (n * size,).
    """
    pose_bones, size = armature_object.pose.bones, values.shape[1]
    whole = read_floats(pose_bones, name, size)
    whole.reshape(-1, size)[bones] = values
    pose_bones.foreach_set(name, whole)
    return whole


def _tag(armature_object: bpy.types.Object) -> None:
    """Have the pose evaluated again, which ``foreach_set`` alone never does."""
    # The copy that evaluation takes of an object resets its pose. {"DATA"} would evaluate what
    # hangs on the armature's geometry as well, at twice the cost.
    armature_object.update_tag(refresh={"OBJECT"})


def _rows_by_property(
    modes: Integers,
) -> list[tuple[str, Flags | slice]]:
    """Return which rows each property holds; without the properties that hold none."""
    if not modes.any():
        return [("rotation_quaternion", slice(None))]
    found = [(name, rows_of_property(modes, name)) for name in PROPERTY_SIZES]
    return [(name, rows) for name, rows in found if rows.any()]
