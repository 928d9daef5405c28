"""Keys that keep what channels play up to a frame, when later keys would change it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import bpy
import numpy as np

from ..reading.animation import by_address, strip_curves
from .keys import Channel, ChannelKeys, check_keyable, curves_of, write_keys
from .playing import live_disabled, preserve_frame
from .unplayed_keys import Channels


def key_played_frames(channels: Channels, last: int, scene: bpy.types.Scene) -> None:
    """Key channels at each frame up to one as they play, if their own keys do not define that.

    This concerns channels with modifiers, or played by NLA strips: another key makes cycles longer,
    and an action holds its first key over the strips before it. The scene is played from its first
    frame on, and restored afterwards.

    Raises:
        RigError: If keys of any object could not be written, or would not show; none is written.
    """
    for owner in channels:
        check_keyable(owner)
    frames = range(min(scene.frame_start, last), last + 1)
    for owner, chosen in channels.items():
        modified = _modified(owner, chosen)
        values = [[curve.evaluate(frame) for frame in frames] for curve in modified.values()]
        _write(owner, modified, frames, values)
    by_strips = {owner: _played_by_strips(owner, chosen) for owner, chosen in channels.items()}
    played: dict[bpy.types.Object, list[list[float]]] = {owner: [] for owner in by_strips}
    if not any(by_strips.values()):
        return
    with live_disabled(scene), preserve_frame(scene, is_reading=True):
        for frame in frames:
            scene.frame_set(frame)
            for owner, chosen in by_strips.items():
                played[owner].append([channel.value(owner) for channel in chosen])
    for owner, chosen in by_strips.items():
        _write(owner, chosen, frames, np.array(played[owner]).T.tolist())


def _write(
    owner: bpy.types.Object, channels: Iterable[Channel], frames: range, values: list[list[float]]
) -> None:
    """Key channels at frames; the values are one list per channel."""
    times = np.array(frames, dtype=np.float64)
    rows = zip(channels, values, strict=True)
    keys = [ChannelKeys(channel, times, np.array(row)) for channel, row in rows]
    if keys:
        write_keys(owner, keys)


def _modified(
    owner: bpy.types.Object, channels: Collection[Channel]
) -> dict[Channel, bpy.types.FCurve]:
    """Return the curves of channels with active modifiers."""
    return {
        channel: curve
        for channel, curve in curves_of(owner, channels).items()
        if not curve.mute and any(not modifier.mute for modifier in curve.modifiers)
    }


def _played_by_strips(owner: bpy.types.Object, channels: Collection[Channel]) -> list[Channel]:
    """Return the channels that NLA strips play and the action does not."""
    by_strips, keyed = by_address(strip_curves(owner)), curves_of(owner, channels)
    return [one for one in channels if one.address in by_strips and one not in keyed]
