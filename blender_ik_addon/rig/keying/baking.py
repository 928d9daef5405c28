"""Bake chains: play a range of frames in order, and key what the chains have written."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import bpy
import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..live import live
from ..reading.animation import curves
from ..reading.refusals import RigError
from ..reading.spec import ChainSpec
from .keys import ChannelKeys, check_keyable, give_new_action, write_keys
from .playing import check_live, frame_kept, played_unchanged
from .reduction import needed
from .renumbering import paths_of_chain
from .written import Channel, reader, written_channels

CHANGED = "The armature has changed during the bake, so nothing is keyed: bake it again."


@dataclass(frozen=True)
class Keying:
    """How a bake keys.

    Attributes:
        step: Every how many frames; the last one is always keyed.
        tolerance: What keys that are left out may change, see ``reduction.needed``.
        in_new_action: Whether into a copy of the action, and not into the action itself.
        interpolation: Of the keys, as Blender names it.
    """

    step: int = 1
    tolerance: float = 0.0
    in_new_action: bool = False
    interpolation: str = "LINEAR"


class WholeClip(Protocol):
    """What betters the frames of a bake together."""

    def note(self) -> None:
        """Note what stands there now."""

    def bettered(self) -> Iterable[object]:
        """Better what has been noted, in a few steps."""

    def values(self, channels: Sequence[Channel], rows: Sequence[int], values: Array) -> Array:
        """Return what is to be keyed of channels in some rows of what was noted.

        Args:
            channels: To key, c of them.
            rows: Of the frames that are keyed, f of them.
            values: As they were solved frame by frame, shape (f, c).
        """


def bake(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
    keying: Keying,
    clip: WholeClip | None = None,
) -> Generator[int, None, tuple[int, ...]]:
    """Key what live chains write to their bones in a range of frames, each played in its order.

    Chains that go on from their last pose start from their keyed or stored one at the first frame,
    so that the same comes out each time. Nothing is keyed before all frames are solved. Between
    two of them anything may happen, also that the bake is given up: ``close`` it then. However it
    ends, the scene stands at the frame where it stood before. Chains that are idle all the time
    are left alone, unless there are no others.

    Args:
        scene: To play; its chains are live.
        armature_object: The original object.
        chains: Settings by index.
        frames: All from the first to the last.
        keying: How to key them.
        clip: What betters all frames together; None to key each as it was solved.

    Yields:
        Each frame once it is solved, and the last again while the clip is bettered.

    Returns:
        Indices of the chains that have been keyed.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    _check(scene, armature_object, frames, keying)
    channels = written_channels(armature_object, chains.values())
    (run,) = stepped(frames, keying.step)
    read = reader(armature_object, channels)
    with frame_kept(scene):
        values, baked = yield from _played(scene, armature_object, chains, frames, run, read, clip)
    place = {channel: column for column, channel in enumerate(channels)}
    kept = written_channels(armature_object, [chains[index] for index in baked])
    values = values[:, [place[channel] for channel in kept]]
    if clip is not None:
        values = clip.values(kept, [frame - frames.start for frame in run], values)
    if keying.in_new_action:
        give_new_action(armature_object)
    key(armature_object, [run], kept, values, keying.tolerance, keying.interpolation)
    return tuple(baked)


def _played(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
    run: Sequence[int],
    read: Callable[[], Array],
    clip: WholeClip | None,
) -> Generator[int, None, tuple[Array, list[int]]]:
    """Play frames; return what was read at those of a run, and which chains were solved at any."""
    values, idle = list[Array](), set(chains)
    keyed = set(run)
    for frame in played_unchanged(scene, [armature_object], frames, CHANGED):
        for index, spec in chains.items():
            outcome = live.memory.outcome_in(scene, (armature_object.session_uid, index))
            if isinstance(outcome, str):
                raise not_baked(spec.name, frame, outcome)
            if outcome is not None:
                # None at some frames: its muting or influence is animated.
                idle.discard(index)
        if frame in keyed:
            values.append(read())
        if clip is not None:
            clip.note()
        yield frame
    if idle == set(chains):
        # Not read at each frame: a status may read all keys, of which there is one a frame.
        first = min(idle)
        raise never_moved(chains[first].name, armature_object.chain_ik.chains[first].status)
    for _ in () if clip is None else clip.bettered():
        yield frames[-1]
    return np.array(values), [index for index in chains if index not in idle]


def _check(
    scene: bpy.types.Scene, armature_object: bpy.types.Object, frames: range, keying: Keying
) -> None:
    if not frames:
        first, last = frames.start, frames.stop - 1
        raise RigError(f"The start frame {first} lies after the end frame {last}: swap the two.")
    check_live(scene)
    check_keyable(armature_object, in_new_action=keying.in_new_action)


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
    """Tell whether a chain is not muted, or may be unmuted at another frame."""
    settings = armature_object.chain_ik.chains[index]
    return not settings.mute or is_animated(armature_object, index, "mute")


def may_pose(armature_object: bpy.types.Object, index: int) -> bool:
    """Tell whether a chain may move, and has an influence here or may have one elsewhere."""
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
    """Tell whether keys or drivers that are not muted change a chain's setting."""
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
