"""The channels that chains write, and a function that reads their present values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array, Flags
from ..planning.known_skeletons import skeleton_of
from ..planning.written_locations import located_components, scaled_bones
from ..reading.chain_plan import ChainPlan, plan_chain
from ..reading.channels import (
    CHANNEL_SIZES,
    EULER_MODES,
    Pose,
    property_of_mode,
    read_flags,
    read_floats,
    read_pose,
)
from ..reading.spec import ChainSpec
from .keys import Channel


def written_channels(
    armature_object: bpy.types.Object, chains: Iterable[ChainSpec]
) -> list[Channel]:
    """Return the channels that chains of an object write, without locked ones.

    Raises:
        RigError: If a chain has no bones; the message says what to do next.
    """
    skeleton, pose = skeleton_of(armature_object), read_pose(armature_object)
    bones = armature_object.pose.bones
    is_locked = {name: read_flags(bones, f"lock_{name}", 3) for name in ("location", "scale")}
    channels: list[Channel] = []
    for spec in chains:
        plan = plan_chain(skeleton, spec)
        for bone in plan.written.tolist():
            prop, free = property_of_mode(int(pose.modes[bone])), ~_locked_rotation(pose, bone)
            name = skeleton.names[bone]
            channels += [Channel(name, prop, i) for i in np.flatnonzero(free).tolist()]
        for bone, prop, component in _location_and_scale(plan, spec):
            if not is_locked[prop][bone, component]:
                channels.append(Channel(skeleton.names[bone], prop, component))
    # Chains of one tree share bones.
    return list(dict.fromkeys(channels))


def reader(owner: bpy.types.Object, channels: Sequence[Channel]) -> Callable[[], Array]:
    """Return a function that reads the present values of c channels of an object, shape (c,)."""
    bone_index = skeleton_of(owner).index if any(channel.bone for channel in channels) else {}
    columns: dict[str, tuple[list[int], list[int]]] = {}
    for index, (bone, prop, component) in enumerate(channels):
        if bone:
            rows, offsets = columns.setdefault(prop, ([], []))
            rows.append(index)
            offsets.append(bone_index[bone] * CHANNEL_SIZES[prop] + component)
    others = [(index, channel) for index, channel in enumerate(channels) if not channel.bone]

    def read() -> Array:
        values = np.empty(len(channels))
        for prop, (rows, offsets) in columns.items():
            values[rows] = read_floats(owner.pose.bones, prop, CHANNEL_SIZES[prop])[offsets]
        for index, channel in others:
            values[index] = channel.value(owner)
        return values

    return read


def _location_and_scale(plan: ChainPlan, spec: ChainSpec) -> Iterator[tuple[int, str, int]]:
    """Yield the location and scale channels that a chain writes: bone, property, component."""
    for bone, components in located_components(plan, spec).items():
        yield from ((bone, "location", component) for component in components)
    components = (0, 1, 2) if spec.use_keep_volume else (1,)
    for bone in sorted(scaled_bones(plan, spec)):
        yield from ((bone, "scale", component) for component in components)


def _locked_rotation(pose: Pose, bone: int) -> Flags:
    """Return which components of a bone's rotation property are locked, shape (size,)."""
    mode, locks = int(pose.modes[bone]), pose.locks[bone]
    if mode in EULER_MODES:
        locked: Flags = locks[:3]
    elif pose.uses_4d_locks[bone]:
        locked = np.roll(locks, 1)
    else:
        # The locks are those of Euler angles, to which all four components contribute.
        locked = np.full(CHANNEL_SIZES[property_of_mode(mode)], locks[:3].all())
    return locked
