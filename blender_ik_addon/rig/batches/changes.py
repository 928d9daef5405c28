"""What has to be written for an armature object."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ...core.algebra.arithmetic import Indices
from ..reading.channels import Channels
from .rig_state import RigState

Kind = Literal["channels", "scale", "location"]
"""Rotation channels, or a property of pose bones, as poses name them."""
KINDS: tuple[Kind, ...] = ("channels", "scale", "location")


class Change(NamedTuple):
    """Channels of one kind that are not what stands there.

    Attributes:
        state: The armature object.
        kind: What they are.
        bones: Indices, shape (m,).
        values: Shape (m, size).
    """

    state: RigState
    kind: Kind
    bones: Indices
    values: Channels


def note(change: Change) -> None:
    """Keep in mind, in the pose that is known of the armature object, what will stand there."""
    change.state.pose.note(change.kind, change.bones, change.values)
