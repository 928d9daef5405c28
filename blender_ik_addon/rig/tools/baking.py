"""Bake chains: play a range of frames in order, and key what the chains have written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import bpy
import numpy as np
import numpy.typing as npt

from ..live import live
from ..planning.located import located_components
from ..reading.chain_plan import ChainPlan, planned
from ..reading.channels import (
    CHANNEL_SIZES,
    EULER_MODES,
    QUATERNION,
    Pose,
    property_of_mode,
    read_flags,
    read_pose,
)
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton, compiled
from ..reading.spec import ChainSpec
from .keys import ChannelKeys, check_keyable, write_keys

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class Channel(NamedTuple):
    """One channel of a bone: its index, a property, and which of its components."""

    bone: int
    prop: str
    component: int


def bake(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    first: int,
    last: int,
) -> int:
    """Key what live chains write to their bones at every frame of a range, played in order.

    Chains that go on from their last pose start from their keyed or stored one at the first frame,
    so that the same comes out each time. Nothing is keyed unless all frames could be solved; the
    scene then stands at the frame where it stood before.

    Args:
        scene: To play; its chains are live.
        armature_object: The original object.
        chains: Settings by index.
        first: First frame.
        last: Last frame.

    Returns:
        How many bones have been keyed.

    Raises:
        RigError: With one sentence that says what to do next.
    """
    if first > last:
        raise RigError(f"The start frame {first} lies after the end frame {last}: swap the two.")
    if not scene.chain_ik.use_live:
        raise RigError("Live is off, so no chain moves: turn it on to bake.")
    check_keyable(armature_object)
    channels = _channels(armature_object, chains)
    frame, subframe = scene.frame_current, scene.frame_subframe
    live.memory.restart(armature_object.session_uid)
    try:
        played = [
            _values(armature_object, channels)
            for _ in _frames(scene, armature_object, chains, range(first, last + 1))
        ]
    finally:
        scene.frame_set(frame, subframe=subframe)
    modes = read_pose(armature_object).modes
    values = _continuous(np.array(played), channels, modes)
    names = compiled(armature_object).names
    keys = [
        ChannelKeys(names[channel.bone], channel.prop, channel.component, values[:, i])
        for i, channel in enumerate(channels)
    ]
    write_keys(armature_object, range(first, last + 1), keys)
    return len({channel.bone for channel in channels})


def _frames(
    scene: bpy.types.Scene,
    armature_object: bpy.types.Object,
    chains: Mapping[int, ChainSpec],
    frames: range,
) -> Iterator[int]:
    """Set frame after frame and yield it once the chains are solved.

    Raises:
        RigError: If one of them cannot be solved, or is solved at none of the frames.
    """
    idle = set(chains)
    for frame in frames:
        scene.frame_set(frame)
        for index, spec in chains.items():
            outcome = live.memory.outcome((armature_object.session_uid, index))
            if isinstance(outcome, str):
                raise RigError(f"Chain '{spec.name}' cannot be baked at frame {frame}: {outcome}")
            if outcome is not None:
                # None at some frames: its muting is animated.
                idle.discard(index)
        yield frame
    if idle:
        raise RigError(
            f"Chain '{chains[min(idle)].name}' moves nothing in this range: show the armature in"
            " its pose, outside of edit mode, and unmute the chain."
        )


def _values(armature_object: bpy.types.Object, channels: list[Channel]) -> list[float]:
    """Return what channels hold now."""
    pose = read_pose(armature_object)
    return [
        float(_property(pose, channel.prop)[channel.bone, channel.component])
        for channel in channels
    ]


def _property(pose: Pose, prop: str) -> npt.NDArray[np.floating]:
    if prop in ("location", "scale"):
        values: Array = getattr(pose, prop)
        return values
    return pose.channels


def _channels(armature_object: bpy.types.Object, chains: Mapping[int, ChainSpec]) -> list[Channel]:
    """Return the channels that chains write, without the locked ones."""
    skeleton, pose = compiled(armature_object), read_pose(armature_object)
    bones = armature_object.pose.bones
    is_locked = {name: read_flags(bones, f"lock_{name}", 3) for name in ("location", "scale")}
    found: list[Channel] = []
    for spec in chains.values():
        plan = planned(skeleton, spec)
        for bone in plan.written.tolist():
            prop = property_of_mode(int(pose.modes[bone]))
            free = ~_locked_rotation(pose, bone)
            found += [Channel(bone, prop, each) for each in np.flatnonzero(free).tolist()]
        for bone, name, component in _others(skeleton, plan, spec):
            if not is_locked[name][bone, component]:
                found.append(Channel(bone, name, component))
    return found


def _others(skeleton: Skeleton, plan: ChainPlan, spec: ChainSpec) -> Iterator[tuple[int, str, int]]:
    """Yield the channels besides rotations that a chain writes: bone, property, component."""
    for bone, components in located_components(skeleton, plan, spec).items():
        yield from ((bone, "location", each) for each in components)
    if spec.use_stretch:
        components = (0, 1, 2) if spec.use_keep_volume else (1,)
        yield from ((bone, "scale", each) for bone in plan.written.tolist() for each in components)


def _locked_rotation(pose: Pose, bone: int) -> Flags:
    """Return which components of a bone's rotation property are locked, shape (size,)."""
    mode, locks = int(pose.modes[bone]), pose.locks[bone]
    if mode in EULER_MODES:
        locked: Flags = locks[:3]
    elif pose.uses_4d_locks[bone]:
        locked = np.roll(locks, 1)
    else:
        # The locks hold Euler angles then, which all four numbers have a share of.
        locked = np.full(CHANNEL_SIZES[property_of_mode(mode)], locks[:3].all())
    return locked


def _continuous(values: Array, channels: list[Channel], modes: npt.NDArray[np.int32]) -> Array:
    """Return values (f, c) of the same rotations without jumps, so that curves can be read."""
    values = values.copy()
    columns: dict[int, list[int]] = {}
    for i, channel in enumerate(channels):
        if channel.prop.startswith("rotation"):
            columns.setdefault(channel.bone, []).append(i)
    for bone, own in columns.items():
        if int(modes[bone]) in EULER_MODES:
            values[:, own] = np.unwrap(values[:, own], axis=0)
        elif int(modes[bone]) == QUATERNION and len(own) == 4:
            turns = values[:, own]
            is_opposite = (turns[1:] * turns[:-1]).sum(axis=1) < 0.0
            signs = np.cumprod(np.where(is_opposite, -1.0, 1.0))
            values[1:, own] = turns[1:] * signs[:, None]
    return values
