"""Channel changes to write to an armature object."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...core.algebra.arithmetic import Indices
from ..reading.channels import Channels
from .rig_state import RigState

ChannelKind = Literal["channels", "scale", "location"]
"""Rotation channels, or a property of pose bones, as poses name them."""
CHANNEL_KINDS: tuple[ChannelKind, ...] = ("channels", "scale", "location")


class ChannelChange(NamedTuple):
    """New values of channels of one kind.

    Attributes:
        state: The armature object.
        kind: Kind of the channels.
        bones: Indices of the bones, shape (m,).
        values: New values, shape (m, size).
    """

    state: RigState
    kind: ChannelKind
    bones: Indices
    values: Channels


def note(change: ChannelChange) -> None:
    """Enter a change in the known pose of its armature object, before it is written."""
    change.state.pose.note(change.kind, change.bones, change.values)
