"""Keys that keep what channels play beside frames that get other keys."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import by_address, strip_curves, strips
from .curve_points import remove_points
from .keys import Channel, ChannelKeys, check_keyable, curves_of, is_inside_loop, write_keys
from .playing import MAX_FRAME, live_disabled, preserve_frame
from .unplayed_keys import Channels
from .written_channels import reader


class PlayedFrames:
    """The frames beside new keys, of channels whose own keys do not define what they play there.

    These are channels with modifiers, or played by NLA strips: another key makes cycles longer, and
    an action holds its first and its last key over the strips. A loop may stay if all new keys are
    inside of it.
    """

    def __init__(
        self,
        channels: Channels,
        new: Sequence[Sequence[int]],
        scene: bpy.types.Scene,
        *,
        keep_loops: bool = True,
    ) -> None:
        """Take channels and the runs of frames that will get new keys, in rising order."""
        self._scene, self._runs = scene, _runs_beside(new, scene, channels)
        kept = (new[0][0], new[-1][-1]) if keep_loops else None
        self._modified = {
            owner: _modified(owner, chosen, kept) for owner, chosen in channels.items()
        }
        self._by_strips = {
            owner: _played_by_strips(owner, chosen) for owner, chosen in channels.items()
        }
        self._played: dict[bpy.types.Object, list[Array]] = {owner: [] for owner in channels}

    def read(self) -> Iterator[int]:
        """Play the frames where strips need it; yield each, and restore the scene afterwards."""
        if not any(self._by_strips.values()):
            return
        readers = {owner: reader(owner, chosen) for owner, chosen in self._by_strips.items()}
        with live_disabled(self._scene), preserve_frame(self._scene, is_reading=True):
            for frame in self._frames():
                self._scene.frame_set(frame)
                for owner, read in readers.items():
                    self._played[owner].append(read())
                yield frame

    def write(self) -> None:
        """Key these frames as they play, and mute the modifiers of their curves."""
        for owner, chosen in self._modified.items():
            known = curves_of(owner, chosen).values()
            frames = self._frames()
            values = np.array([[curve.evaluate(at) for at in frames] for curve in known]).T
            for modifier in [one for curve in known for one in curve.modifiers]:
                modifier.mute = True
            self._key(owner, chosen, values)
        for owner, chosen in self._by_strips.items():
            for muted in curves_of(owner, chosen).values():
                # New keys unmute the curve, and then its former ones would play.
                remove_points(muted, -math.inf, math.inf)
            self._key(owner, chosen, np.array(self._played[owner]))

    def _frames(self) -> list[int]:
        return [frame for run in self._runs for frame in run]

    def _key(self, owner: bpy.types.Object, channels: list[Channel], values: Array) -> None:
        """Key c channels at f frames; the values have the shape (f, c)."""
        start = 0
        for run in self._runs if channels else ():
            part, start = values[start : start + len(run)], start + len(run)
            times = np.array(run, dtype=np.float64)
            pairs = zip(channels, part.T, strict=True)
            write_keys(owner, [ChannelKeys(channel, times, row) for channel, row in pairs])


def key_played_frames(
    channels: Channels, new: Sequence[Sequence[int]], scene: bpy.types.Scene
) -> None:
    """Key the ``PlayedFrames`` of channels at once.

    Raises:
        RigError: If keys of any object could not be written, or would not show; none is written.
    """
    for owner in channels:
        check_keyable(owner)
    frames = PlayedFrames(channels, new, scene)
    for _ in frames.read():
        pass
    frames.write()


def _runs_beside(
    new: Sequence[Sequence[int]], scene: bpy.types.Scene, owners: Collection[bpy.types.Object]
) -> list[range]:
    """Return the frames of the scene and of all strips that get no new keys, in runs.

    A run has at least the frame beside new keys, which holds what plays farther away.
    """
    played = [strip for owner in owners for strip in strips(owner)]
    first = min([scene.frame_start, new[0][0] - 1, *(int(one.frame_start) for one in played)])
    last = max([scene.frame_end, new[-1][-1] + 1, *(math.ceil(one.frame_end) for one in played)])
    starts = [first, *(run[-1] + 1 for run in new)]
    ends = [*(run[0] for run in new), min(last, MAX_FRAME) + 1]
    return [range(*pair) for pair in zip(starts, ends, strict=True) if pair[0] < pair[1]]


def _modified(
    owner: bpy.types.Object, channels: Collection[Channel], kept: tuple[int, int] | None
) -> list[Channel]:
    """Return the channels of curves with active modifiers, without loops around two frames."""
    return [
        channel
        for channel, curve in curves_of(owner, channels).items()
        if not curve.mute
        and any(not modifier.mute for modifier in curve.modifiers)
        and not (kept and is_inside_loop(curve, *kept))
    ]


def _played_by_strips(owner: bpy.types.Object, channels: Collection[Channel]) -> list[Channel]:
    """Return the channels that NLA strips play and the action does not."""
    by_strips, known = by_address(strip_curves(owner)), curves_of(owner, channels).items()
    keyed = {channel for channel, curve in known if not curve.mute}
    return [one for one in channels if one.address in by_strips and one not in keyed]
