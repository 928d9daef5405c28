"""Keys of what chains have written at the frames of a bake, and whether they play."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..reading.animation import curves
from ..reading.refusals import RigError
from .keys import ChannelKeys, write_keys
from .reduction import needed
from .renumbering import paths_of_chain
from .written import Channel


def stepped(frames: Iterable[int], step: int) -> list[list[int]]:
    """Return every so many frames of each run without gaps, always with its last one.

    Args:
        frames: In rising order.
        step: One for all.

    Returns:
        The frames of each run.
    """
    runs: list[list[int]] = []
    for frame in frames:
        if runs and frame == runs[-1][-1] + 1:
            runs[-1].append(frame)
        else:
            runs.append([frame])
    return [[*run[:-1:step], run[-1]] for run in runs]


def not_baked(chain: str, frame: int, why: str) -> RigError:
    """Return what to say of a chain that cannot be solved at a frame."""
    return RigError(f"Chain '{chain}' cannot be baked at frame {frame}: {why}")


def never_moved(chain: str, why: str) -> RigError:
    """Return what to say of a chain that is solved at no frame, and of its status at the last."""
    reason = why.removesuffix(".")
    return RigError(f"Chain '{chain}' moves nothing in this range: {reason}.")


def key(
    armature_object: bpy.types.Object,
    runs: Iterable[Sequence[int]],
    channels: Sequence[Channel],
    values: Array,
    tolerance: float,
    interpolation: str = "LINEAR",
) -> None:
    """Key what has been read of channels, without jumps from frame to frame.

    Args:
        armature_object: The original object.
        runs: Frames in rising order. Keys between those of one run are replaced, keys between runs
            stay.
        channels: To key, c of them.
        values: Shape (f, c), for the f frames of all runs.
        tolerance: What keys that are left out may change, see ``reduction.needed``.
        interpolation: Of the keys, as Blender names it.
    """
    values, columns = _continuous(values, channels), _columns(channels)
    lengths = {bone.name: float(bone.length) for bone in armature_object.data.bones}
    start = 0
    for run in runs:
        frames, part = np.array(run, dtype=np.float64), values[start : start + len(run)]
        start += len(run)
        keys: list[ChannelKeys] = []
        for (bone, prop), own in columns.items():
            rows = needed(frames, part[:, own], prop, lengths[bone], tolerance)
            keys += [ChannelKeys(*channels[i], frames[rows], part[rows, i]) for i in own]
        write_keys(armature_object, keys, interpolation)


def _columns(channels: Iterable[Channel]) -> dict[tuple[str, str], list[int]]:
    """Return the numbers of the channels of each property, by bone and property."""
    columns: dict[tuple[str, str], list[int]] = {}
    for number, channel in enumerate(channels):
        columns.setdefault((channel.bone, channel.prop), []).append(number)
    return columns


def may_move(armature_object: bpy.types.Object, index: int) -> bool:
    """Return whether a chain is not muted, or may be unmuted at another frame."""
    settings = armature_object.chain_ik.chains[index]
    return not settings.mute or is_animated(armature_object, index, "mute")


def may_pose(armature_object: bpy.types.Object, index: int) -> bool:
    """Return whether a chain may move, and has an influence here or may have one elsewhere."""
    settings = armature_object.chain_ik.chains[index]
    has_influence = settings.influence > 0.0 or is_animated(armature_object, index, "influence")
    return has_influence and may_move(armature_object, index)


def mute_for_good(armature_object: bpy.types.Object, index: int) -> None:
    """Mute a chain, and the keys and drivers that would unmute it, so that baked keys play.

    Args:
        armature_object: The original object.
        index: Of the chain.
    """
    for curve in _animating(armature_object, index, "mute"):
        curve.mute = True
    armature_object.chain_ik.chains[index].mute = True


def live_for_good(armature_object: bpy.types.Object, index: int) -> None:
    """Have a chain pose its bones whatever keys and drivers of its muting and influence say."""
    for setting in ("mute", "influence"):
        for curve in _animating(armature_object, index, setting):
            curve.mute = True
    settings = armature_object.chain_ik.chains[index]
    settings.mute, settings.influence = False, 1.0


def is_animated(armature_object: bpy.types.Object, index: int, setting: str) -> bool:
    """Return whether keys or drivers that are not muted change a chain's setting."""
    return any(not curve.mute for curve in _animating(armature_object, index, setting))


def _animating(
    armature_object: bpy.types.Object, index: int, setting: str
) -> list[bpy.types.FCurve]:
    """Return the keys and drivers of a chain's setting."""
    paths = [f"{path}.{setting}" for path in paths_of_chain(armature_object, index)]
    data = armature_object.animation_data
    animated = (*curves(armature_object), *(data.drivers if data is not None else ()))
    return [curve for curve in animated if curve.data_path in paths]


def _continuous(values: Array, channels: Sequence[Channel]) -> Array:
    """Return values (f, c) of the same rotations without jumps, so that curves can be read."""
    values = values.copy()
    for (_, prop), own in _columns(channels).items():
        if prop == "rotation_euler":
            values[:, own] = np.unwrap(values[:, own], axis=0)
        elif prop == "rotation_quaternion" and len(own) == 4:
            values[:, own] = rotation.without_flips(values[:, own])
    return values
