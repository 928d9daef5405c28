"""Write channels back to an armature object, in bulk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..batches.changes import Change, OtherChannels
from ..reading.channels import (
    CHANNEL_SIZES,
    PROPERTY_SIZES,
    Channels,
    Integers,
    Pose,
    read_floats,
    rows_of_property,
)
from ..reading.rows import joined
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
    pose_bones = armature_object.pose.bones
    for name, rows in _rows_by_property(modes):
        size = PROPERTY_SIZES[name]
        written[name] = _put(pose_bones, name, size, bones[rows], channels[rows, :size])
    _tag(armature_object)
    return written


def write_pose(armature_object: bpy.types.Object, pose: Pose, changes: Sequence[Change]) -> Written:
    """Write changes of one armature object, and tag its pose for evaluation.

    Args:
        armature_object: The original object.
        pose: Its pose as read last, in which the changes are noted.
        changes: At least one.

    Returns:
        What the properties that were written hold now.
    """
    others: dict[str, list[OtherChannels]] = {}
    for change in changes:
        for name, each in change.others.items():
            others.setdefault(name, []).append(each)
    written = write_others(armature_object, {name: joined(each) for name, each in others.items()})
    if TELLS_OF_BULK_WRITES and pose.has_only_quaternions:
        values = written["rotation_quaternion"] = pose.channels.ravel()
        armature_object.pose.bones.foreach_set("rotation_quaternion", values)
        _tag(armature_object)
        return written
    bones, modes, channels = (
        np.concatenate([getattr(change, name) for change in changes])
        for name in ("bones", "modes", "channels")
    )
    return written | write_rotation(armature_object, bones, modes, channels)


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
        name: _put(pose_bones, name, CHANNEL_SIZES[name], each.bones, each.values)
        for name, each in others.items()
    }


def _put(
    pose_bones: Any,
    name: str,
    size: int,
    bones: Indices,
    values: Array | Channels,
) -> Channels:
    """Write a property of some bones; return what it holds for all, shape (n * size,)."""
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
