"""What channels play up to a frame, as keys, where keys that come later would change it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import bpy
import numpy as np

from ..reading.animation import curves, strip_curves
from .keys import ChannelKeys, path_of, write_keys
from .playing import frame_kept, live_off
from .written import Channel

Channels = Mapping[bpy.types.Object, Collection[Channel]]
"""What will be keyed, by original object; a channel without a bone is a setting, by its path."""


def hold_play(channels: Channels, last: int, scene: bpy.types.Scene) -> None:
    """Key channels at each frame up to one as they play, where their own keys do not tell that.

    These have modifiers, or strips of the NLA play them: with a key more cycles become longer, and
    before its first key an action holds over the strips.

    Args:
        channels: What will be keyed after that frame.
        last: The frame.
        scene: To play, from its first frame on; it is left as it stood.
    """
    frames = range(min(scene.frame_start, last), last + 1)
    for owner, own in channels.items():
        found = _modified(owner, own)
        values = [[curve.evaluate(frame) for frame in frames] for curve in found.values()]
        _write(owner, found, frames, values)
    by_strips = {owner: _played_by_strips(owner, own) for owner, own in channels.items()}
    played: dict[bpy.types.Object, list[list[float]]] = {owner: [] for owner in by_strips}
    if not any(by_strips.values()):
        return
    with live_off(scene), frame_kept(scene, is_reading=True):
        for frame in frames:
            scene.frame_set(frame)
            for owner, own in by_strips.items():
                played[owner].append([value_of(owner, each) for each in own])
    for owner, own in by_strips.items():
        _write(owner, own, frames, np.array(played[owner]).T.tolist())


def _write(
    owner: bpy.types.Object, channels: Iterable[Channel], frames: range, values: list[list[float]]
) -> None:
    """Key channels at frames, a list of values each."""
    at = np.array(frames, dtype=np.float64)
    rows = zip(channels, values, strict=True)
    keys = [ChannelKeys(*channel, at, np.array(row)) for channel, row in rows]
    if keys:
        write_keys(owner, keys)


def _modified(
    owner: bpy.types.Object, channels: Iterable[Channel]
) -> dict[Channel, bpy.types.FCurve]:
    """Return the curves of channels that modifiers act on."""
    own = {(curve.data_path, curve.array_index): curve for curve in curves(owner)}
    found = {channel: own.get(_path_of(channel)) for channel in channels}
    return {
        channel: curve
        for channel, curve in found.items()
        if curve is not None and any(not each.mute for each in curve.modifiers)
    }


def _played_by_strips(owner: bpy.types.Object, channels: Iterable[Channel]) -> list[Channel]:
    """Return the channels that strips play and the action does not."""
    own = {(curve.data_path, curve.array_index) for curve in curves(owner)}
    by_strips = {(curve.data_path, curve.array_index) for curve in strip_curves(owner)} - own
    return [channel for channel in channels if _path_of(channel) in by_strips]


def _path_of(channel: Channel) -> tuple[str, int]:
    return path_of(channel.bone, channel.prop), channel.component


def value_of(owner: bpy.types.Object, channel: Channel) -> float:
    """Return what a channel of an object holds now."""
    value: Any = owner.path_resolve(path_of(channel.bone, channel.prop))
    return float(value[channel.component] if hasattr(value, "__len__") else value)
