"""Refusal of keys that would not play: muted or locked F-curves, drivers, stretched time."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import bpy

from ...core.model.message import Message
from ..reading.animation import by_address, drivers, split_bone_path
from ..reading.refusals import RigError
from .keys import Channel, curves_of

Channels = Mapping[bpy.types.Object, Collection[Channel]]
"""Channels to key, by original object; a channel without a bone is a setting, by its path."""

STRETCHED_TIME = "Time stretching moves keys: set Output > Time Stretching to 100 and 100 first."

# By the flag of a curve, or of its group.
_UNUSABLE_CURVES = {
    "mute": "The F-curve '{label}' of '{name}' is muted, so new keys would not play: unmute or"
    " delete it first.",
    "lock": "The F-curve '{label}' of '{name}' is locked, so it takes no keys: unlock it first.",
}


def check_curves(channels: Channels, *, may_be_locked: bool = False) -> None:
    """Raise a ``RigError`` if F-curves are muted or locked, so that new keys would have no effect.

    Locks do not matter for keys of ``key_switch``, which ignores them.
    """
    flags = ("mute",) if may_be_locked else ("mute", "lock")
    for owner, chosen in channels.items():
        for channel, curve in curves_of(owner, chosen).items():
            holder, _, prop = channel.path.rpartition(".")
            item: Any = owner.path_resolve(holder) if holder else owner
            for flag in flags:
                if getattr(curve, flag) or getattr(curve.group, flag, False):
                    label = Message(item.bl_rna.properties[prop].name)
                    raise RigError(_UNUSABLE_CURVES[flag], label=label, name=item.name)


def check_unstretched(scene: bpy.types.Scene) -> None:
    """Raise a ``RigError`` if keys at frames of a scene would play at other frames."""
    if is_time_stretched(scene):
        raise RigError(STRETCHED_TIME)


def is_time_stretched(scene: bpy.types.Scene) -> bool:
    """Tell whether Blender plays keys at other frames of a scene than they are at."""
    return scene.render.frame_map_old != scene.render.frame_map_new


def check_undriven(channels: Channels) -> None:
    """Raise a ``RigError`` if drivers that are not muted move channels that will be keyed."""
    for owner, chosen in channels.items():
        driven = by_address(curve for curve in drivers(owner) if not curve.mute)
        for channel in chosen:
            if channel.address in driven:
                raise RigError(
                    "A driver moves '{name}', and it always wins: remove it first.",
                    name=split_bone_path(channel.path)[0] or owner.name,
                )
