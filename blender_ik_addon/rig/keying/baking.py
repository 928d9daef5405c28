"""Keys of baked channels, and which chains and keys play."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Flags
from ...core.model.message import Message
from ..reading.animation import continue_beyond, curves, drivers, split_bone_path
from ..reading.dependencies import Dependencies
from ..reading.refusals import RigError, listed
from ..reading.spec import Anchor, ChainSpec
from .keys import Channel, ChannelKeys, write_keys
from .reduction import needed_keys
from .renumbering import paths_of_chain
from .written_channels import written_channels


def select_frames(frames: Iterable[int], step: int) -> list[list[int]]:
    """Return every step-th frame of each run without gaps, and always its last one; by runs.

    The frames are in rising order.
    """
    runs: list[list[int]] = []
    for frame in frames:
        if runs and frame == runs[-1][-1] + 1:
            runs[-1].append(frame)
        else:
            runs.append([frame])
    return [[*run[:-1:step], run[-1]] for run in runs]


def not_baked(chain: str, frame: int, why: str) -> RigError:
    """Return the error for a chain that cannot be solved at a frame."""
    return RigError(
        "Chain '{chain}' cannot be baked at frame {frame}: {why}", chain=chain, frame=frame, why=why
    )


def never_moved(chain: str, why: str) -> RigError:
    """Return the error for a chain that is solved at no frame, with its last status as reason."""
    text = "Chain '{chain}' moves nothing in this range: {reason}."
    if why.endswith("."):
        text = "Chain '{chain}' moves nothing in this range: {reason}"
    return RigError(text, chain=chain, reason=why)


def find_still_chains(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
) -> str:
    """Return a warning of keyed chains that hold still, once muted, while their targets move.

    They do so at frames of the scene outside of the baked ones, where their bones have no keys.
    Chains with animated influence are left out: they may move nothing there. Empty if there are
    none.
    """
    still = list[str]()
    is_played = np.array([scene.frame_start < frames[0], scene.frame_end > frames[-1]])
    for index, spec in chains.items() if is_played.any() else ():
        if spec.target is None or is_animated(armature_object, index, "influence"):
            continue
        bones = {channel.bone for channel in written_channels(armature_object, [spec])}
        is_keyed = _are_animated_outside(armature_object, bones, frames)
        is_moved = _are_targets_moved_outside(scene, armature_object, spec.target, bones, frames)
        if (is_played & is_moved & ~is_keyed).any():
            still.append(f"'{spec.name}'")
    if not still:
        return ""
    return Message(
        "Outside of the range the bones of {names} now hold still, but the targets move: bake all"
        " frames instead.",
        names=listed(still),
    )


def _are_targets_moved_outside(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    target: Anchor,
    bones: Iterable[str],
    frames: range,
) -> Flags:
    """Return whether keys move a target, and not its chain alike, before and after frames."""
    moving = Dependencies.of(target)
    carrying = Dependencies.of(*(Anchor(armature_object, bone) for bone in bones))
    points, objects = moving.points - carrying.points, moving.owners - carrying.owners
    is_moved = np.zeros(2, dtype=np.bool_)
    for owner in scene.objects:
        names = {bone for uid, bone in points if uid == owner.session_uid}
        names |= {""} if owner.session_uid in objects else set()
        if names:
            is_moved |= _are_animated_outside(owner, names, frames)
    return is_moved


def _are_animated_outside(owner: bpy.types.Object, bones: Container[str], frames: range) -> Flags:
    """Return whether bones, or the object if "" is one, are animated before and after frames."""
    return np.array(
        continue_beyond(
            [owner], lambda path: split_bone_path(path)[0] in bones, frames[0], frames[-1]
        )
    )


def key(
    armature_object: bpy.types.Object,
    runs: Iterable[Sequence[int]],
    channels: Sequence[Channel],
    values: Array,
    tolerance: float,
    interpolation: str = "LINEAR",
) -> None:
    """Key values (f, c) of channels at the frames of runs, without jumps from frame to frame.

    The frames are in rising order. Keys within a run are replaced, keys between runs stay. The
    tolerance for leaving out keys is that of ``reduction.needed_keys``.
    """
    values, columns = _continuous(values, channels), _columns(channels)
    lengths = {bone.name: float(bone.length) for bone in armature_object.data.bones}
    start = 0
    for run in runs:
        frames, part = np.array(run, dtype=np.float64), values[start : start + len(run)]
        start += len(run)
        keys: list[ChannelKeys] = []
        for (bone, prop), indices in columns.items():
            rows = needed_keys(frames, part[:, indices], prop, lengths[bone], tolerance)
            keys += [ChannelKeys(channels[i], frames[rows], part[rows, i]) for i in indices]
        write_keys(armature_object, keys, interpolation)


def _columns(channels: Iterable[Channel]) -> dict[tuple[str, str], list[int]]:
    """Return the indices of the channels of each property, by bone and property."""
    columns: dict[tuple[str, str], list[int]] = {}
    for index, channel in enumerate(channels):
        columns.setdefault((channel.bone, channel.prop), []).append(index)
    return columns


def may_move(armature_object: bpy.types.Object, index: int) -> bool:
    """Return whether a chain is not muted, or may be unmuted at another frame."""
    settings = armature_object.chain_ik.chains[index]
    return not settings.mute or is_animated(armature_object, index, "mute")


def may_pose(armature_object: bpy.types.Object, index: int) -> bool:
    """Return whether a chain may move, with an influence above zero now or maybe elsewhere."""
    settings = armature_object.chain_ik.chains[index]
    has_influence = settings.influence > 0.0 or is_animated(armature_object, index, "influence")
    return has_influence and may_move(armature_object, index)


def mute_permanently(armature_object: bpy.types.Object, index: int) -> None:
    """Mute a chain, and the keys and drivers that would unmute it, so that baked keys play."""
    for curve in _animating(armature_object, index, "mute"):
        curve.mute = True
    armature_object.chain_ik.chains[index].mute = True


def unmute_permanently(armature_object: bpy.types.Object, index: int) -> None:
    """Unmute a chain at full influence, and mute the keys and drivers of both settings."""
    for setting in ("mute", "influence"):
        for curve in _animating(armature_object, index, setting):
            curve.mute = True
    settings = armature_object.chain_ik.chains[index]
    settings.mute, settings.influence = False, 1.0


def is_animated(armature_object: bpy.types.Object, index: int, setting: str) -> bool:
    """Return whether keys or drivers that are not muted change a chain's setting."""
    return any(not curve.mute for curve in _animating(armature_object, index, setting))


def is_driven(armature_object: bpy.types.Object, index: int, setting: str) -> bool:
    """Return whether a driver that is not muted decides a chain's setting."""
    animating = _animating(armature_object, index, setting)
    return any(curve.driver is not None and not curve.mute for curve in animating)


def _animating(
    armature_object: bpy.types.Object, index: int, setting: str
) -> list[bpy.types.FCurve]:
    """Return the keys and drivers of a chain's setting."""
    paths = [f"{path}.{setting}" for path in paths_of_chain(armature_object, index)]
    animating = (*curves(armature_object), *drivers(armature_object))
    return [curve for curve in animating if curve.data_path in paths]


def _continuous(values: Array, channels: Sequence[Channel]) -> Array:
    """Return values (f, c) of the same rotations without jumps, so that the curves are readable."""
    values = values.copy()
    for (_, prop), indices in _columns(channels).items():
        if prop == "rotation_euler":
            values[:, indices] = np.unwrap(values[:, indices], axis=0)
        elif prop == "rotation_quaternion" and len(indices) == 4:
            values[:, indices] = rotation.without_flips(values[:, indices])
        elif prop == "rotation_axis_angle" and len(indices) == 4:
            values[:, indices] = rotation.without_axis_flips(values[:, indices])
    return values
