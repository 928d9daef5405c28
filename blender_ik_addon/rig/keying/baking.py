"""Bake chains: play a range of frames in order, and key what the chains have written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..live import live
from ..reading.animation import curves
from ..reading.refusals import RigError
from ..reading.spec import ChainSpec
from .keys import ChannelKeys, check_keyable, write_keys
from .written import Channel, reader, written_channels

Array = npt.NDArray[np.float64]


class Baked(NamedTuple):
    """How many bones have been keyed, and of which chains, by index."""

    bones: int
    chains: tuple[int, ...]


def bake(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    first: int,
    last: int,
) -> Baked:
    """Key what live chains write to their bones at every frame of a range, played in order.

    Chains that go on from their last pose start from their keyed or stored one at the first frame,
    so that the same comes out each time. Nothing is keyed unless all frames could be solved; the
    scene then stands at the frame where it stood before. Chains that are idle all the time are left
    alone, unless there are no others.

    Args:
        scene: To play; its chains are live.
        armature_object: The original object.
        chains: Settings by index.
        first: First frame.
        last: Last frame.

    Returns:
        What has been keyed.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    if first > last:
        raise RigError(f"The start frame {first} lies after the end frame {last}: swap the two.")
    check_live(scene)
    check_keyable(armature_object)
    channels = written_channels(armature_object, chains.values())
    read, frames = reader(armature_object, channels), range(first, last + 1)
    values, idle = [], set(chains)
    with frame_kept(scene):
        for frame in played(scene, [armature_object], frames):
            for index, spec in chains.items():
                outcome = live.memory.outcome((armature_object.session_uid, index))
                if isinstance(outcome, str):
                    raise not_baked(spec.name, frame, outcome)
                if outcome is not None:
                    # None at some frames: its muting or influence is animated.
                    idle.discard(index)
            values.append(read())
    if idle == set(chains):
        raise never_moved(chains[min(idle)].name)
    baked = {index: spec for index, spec in chains.items() if index not in idle}
    kept = written_channels(armature_object, baked.values())
    place = {channel: i for i, channel in enumerate(channels)}
    columns = [place[channel] for channel in kept]
    key(armature_object, frames, kept, np.array(values)[:, columns])
    return Baked(len({channel.bone for channel in kept}), tuple(baked))


def check_live(scene: bpy.types.Scene) -> None:
    """Raise if the chains of a scene are not live.

    Raises:
        RigError: With what to do next.
    """
    if not scene.chain_ik.use_live:
        raise RigError("Live is off, so no chain moves: turn it on first.")


def not_baked(chain: str, frame: int, why: str) -> RigError:
    """Return what to say of a chain that cannot be solved at a frame."""
    return RigError(f"Chain '{chain}' cannot be baked at frame {frame}: {why}")


def never_moved(chain: str) -> RigError:
    """Return what to say of a chain that is solved at no frame."""
    return RigError(
        f"Chain '{chain}' moves nothing in this range: show the armature in"
        " its pose, outside of edit mode, and unmute the chain."
    )


@contextmanager
def frame_kept(scene: bpy.types.Scene) -> Iterator[None]:
    """Leave a scene at the frame where it stood."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=subframe)


def played(
    scene: bpy.types.Scene, armature_objects: Iterable[bpy.types.Object], frames: Iterable[int]
) -> Iterator[int]:
    """Set frame after frame and yield it once the chains are solved.

    Args:
        scene: To play.
        armature_objects: Those whose chains, if they go on from their last pose, start again.
        frames: In rising order.
    """
    for armature_object in armature_objects:
        live.memory.restart(armature_object.session_uid)
    for frame in frames:
        scene.frame_set(frame)
        yield frame


def key(
    armature_object: bpy.types.Object,
    frames: Sequence[int],
    channels: Sequence[Channel],
    values: Array,
) -> None:
    """Key what has been read of channels, without jumps from frame to frame.

    Args:
        armature_object: The original object.
        frames: In rising order, f of them. Where some are left out, keys in between stay.
        channels: To key, c of them.
        values: Shape (f, c).
    """
    values = _continuous(values, channels)
    starts = np.flatnonzero(np.diff(frames) != 1) + 1
    for numbers in np.split(np.arange(len(frames)), starts):
        part = slice(int(numbers[0]), int(numbers[-1]) + 1)
        keys = [ChannelKeys(*each, values[part, i]) for i, each in enumerate(channels)]
        write_keys(armature_object, frames[part], keys)


def may_move(armature_object: bpy.types.Object, index: int) -> bool:
    """Tell whether a chain is not muted, or may be unmuted at another frame."""
    settings = armature_object.chain_ik.chains[index]
    return not settings.mute or any(not each.mute for each in _muting(armature_object, index))


def mute_for_good(armature_object: bpy.types.Object, index: int) -> None:
    """Mute a chain, and the keys and drivers that would unmute it, so that baked keys play.

    Args:
        armature_object: The original object.
        index: Of the chain.
    """
    for curve in _muting(armature_object, index):
        curve.mute = True
    armature_object.chain_ik.chains[index].mute = True


def _muting(armature_object: bpy.types.Object, index: int) -> list[bpy.types.FCurve]:
    """Return the keys and drivers of a chain's muting."""
    name = bpy.utils.escape_identifier(armature_object.chain_ik.chains[index].name)
    paths = {f"chain_ik.chains[{place}].mute" for place in (index, f'"{name}"')}
    data = armature_object.animation_data
    animated = (*curves(armature_object), *(data.drivers if data is not None else ()))
    return [curve for curve in animated if curve.data_path in paths]


def _continuous(values: Array, channels: Sequence[Channel]) -> Array:
    """Return values (f, c) of the same rotations without jumps, so that curves can be read."""
    values = values.copy()
    columns: dict[tuple[str, str], list[int]] = {}
    for i, channel in enumerate(channels):
        columns.setdefault((channel.bone, channel.prop), []).append(i)
    for (_, prop), own in columns.items():
        if prop == "rotation_euler":
            values[:, own] = np.unwrap(values[:, own], axis=0)
        elif prop == "rotation_quaternion" and len(own) == 4:
            turns = values[:, own]
            is_opposite = (turns[1:] * turns[:-1]).sum(axis=1) < 0.0
            signs = np.cumprod(np.where(is_opposite, -1.0, 1.0))
            values[1:, own] = turns[1:] * signs[:, None]
    return values
