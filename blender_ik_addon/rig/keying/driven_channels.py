"""Refusal of channels that drivers move: new keys would not play."""

from __future__ import annotations

from ..reading.animation import split_bone_path
from ..reading.refusals import RigError
from .keys import path_of
from .played_keys import Channels


def check_undriven(channels: Channels) -> None:
    """Raise if drivers that are not muted move channels that will be keyed.

    Raises:
        RigError: The message names the object or the bone, and says what to do next.
    """
    for owner, chosen in channels.items():
        data = owner.animation_data
        drivers = () if data is None else data.drivers
        driven = {(curve.data_path, curve.array_index) for curve in drivers if not curve.mute}
        for channel in chosen:
            path = path_of(channel.bone, channel.prop)
            if (path, channel.component) in driven:
                raise RigError(
                    "A driver moves '{name}', and it always wins: remove it first.",
                    name=split_bone_path(path)[0] or owner.name,
                )
