"""What has to be written for an armature object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from ...core.algebra.arithmetic import Indices
from ..reading.channels import Channels, Integers
from .rig_state import RigState


@dataclass(frozen=True)
class OtherChannels:
    """Values of a property of pose bones that is no rotation.

    Attributes:
        bones: Indices, shape (m,).
        values: Shape (m, size).
    """

    bones: Indices
    values: Channels


NO_OTHERS: Mapping[str, OtherChannels] = MappingProxyType({})


class Change(NamedTuple):
    """Channels that differ from what stands there.

    Attributes:
        state: The armature object.
        bones: Indices, shape (m,).
        modes: Their rotation modes, shape (m,).
        channels: Rotation channels, shape (m, 4).
        others: Further channels by property name, of as many bones as there are.
    """

    state: RigState
    bones: Indices
    modes: Integers
    channels: Channels
    others: Mapping[str, OtherChannels] = NO_OTHERS


def note(change: Change) -> None:
    """Keep in mind, in the pose that is known of the armature object, what will stand there."""
    pose = change.state.pose
    pose.channels[change.bones] = change.channels
    for name, each in change.others.items():
        pose.note(name, each.bones, each.values)
