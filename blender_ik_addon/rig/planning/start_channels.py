"""Start poses of solves, as rotation channels."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from itertools import compress
from typing import Literal

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import BoneKeys, with_keys
from ..reading.chain_plan import ChainPlan
from ..reading.channels import (
    MODE_NAMES,
    MODE_NUMBERS,
    QUATERNION,
    Integers,
    Pose,
    converted,
    property_of_mode,
    read_pose,
)
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, StartFrom, StoredBone
from .order import PlannedChain
from .written_locations import find_moved_root, scaled_bones

VectorName = Literal["scale", "location"]
ChannelsName = Literal["scale", "location", "rotation"]


def start_channels(
    chain: PlannedChain,
    pose: Pose,
    frame: float,
    animated: Array | None,
    keys: BoneKeys | None = None,
) -> tuple[Array, Array]:
    """Return the rotation channels of a chain's start pose, and those of its stored pose.

    Args:
        chain: The chain.
        pose: The present pose of its armature object.
        frame: Frame with subframe.
        animated: Rotation channels of all bones after Blender's evaluation of this frame, shape (n,
            4); None if this frame has not been evaluated, NaN for bones that are new since.
        keys: Keys of the bones; None to find them.

    Returns:
        Two arrays for the written bones, shape (k, 4), both in the bones' present modes. The stored
        pose has the values of this frame where bones are keyed. The present pose, from which some
        chains start, is read at every solve.
    """
    known = match_stored(chain.spec.stored_pose, chain.plan)
    keys = keys or BoneKeys(chain.object)
    stored = stored_or_keyed(keys, chain.skeleton, pose, known, frame, "rotation", animated)
    if chain.start_from is StartFrom.REST:
        return rest_channels(pose.modes[chain.plan.written]), stored
    return stored, stored


def stored_or_keyed(
    keys: BoneKeys,
    skeleton: Skeleton,
    pose: Pose,
    stored: Mapping[int, StoredBone | None],
    frame: float,
    name: ChannelsName,
    animated: Array | None,
) -> Array:
    """Return the keyed channels of bones at a frame; without keys the stored, or the present ones.

    Args:
        keys: Keys of the bones.
        skeleton: Skeleton of the armature.
        pose: The present pose.
        stored: Stored channels of m bones, by index; None for a bone without any.
        frame: Frame with subframe.
        name: Name of the channels.
        animated: As ``start_channels``, but channels of that name.

    Returns:
        Channels in the bones' present modes, shape (m, size).
    """
    bones, names = np.array(list(stored)), [skeleton.names[bone] for bone in stored]
    modes, values = pose.modes[bones], getattr(pose, name)[bones]
    stored_modes = modes.copy()
    for row, bone in enumerate(stored.values()):
        if bone is not None and (stored_values := getattr(bone, name)):
            values[row], stored_modes[row] = stored_values, MODE_NUMBERS[bone.rotation_mode]
    paths = [(bone_name, str(name)) for bone_name in names]
    if name == "rotation":
        values = converted(values, stored_modes, modes)
        paths = list(zip(names, map(property_of_mode, modes.tolist()), strict=True))
    animated_values = None if animated is None else animated[bones]
    return with_keys(keys, paths, values, frame, animated_values)


def rest_channels(modes: Integers) -> Array:
    """Return the rotation channels of bones at rest, shape (m, 4)."""
    channels = np.zeros((len(modes), 4))
    channels[modes == QUATERNION, 0] = 1.0
    # A zero axis-angle needs an axis: Blender's own default is Y.
    channels[modes < QUATERNION, 2] = 1.0
    return channels


def with_rest_channels(bone: StoredBone) -> StoredBone:
    """Return a stored bone whose stored channels are those of its rest pose."""
    rotation = rest_channels(np.array([MODE_NUMBERS[bone.rotation_mode]]))[0]
    return bone._replace(
        rotation=_numbers(rotation),
        scale=bone.scale and (1.0, 1.0, 1.0),
        location=bone.location and (0.0, 0.0, 0.0),
    )


def find_bones_at_rest(armature_object: bpy.types.Object) -> frozenset[str]:
    """Return the names of the bones whose channels are exactly those of the rest pose."""
    pose = read_pose(armature_object)
    is_at_rest = (pose.rotation == rest_channels(pose.modes)).all(axis=1)
    is_at_rest &= (pose.location == 0.0).all(axis=1) & (pose.scale == 1.0).all(axis=1)
    return frozenset(compress(armature_object.pose.bones.keys(), is_at_rest.tolist()))


def match_stored(stored: Sequence[StoredBone], plan: ChainPlan) -> dict[int, StoredBone | None]:
    """Return the stored channels of each written bone of a chain, by index."""
    by_name = {bone.name: bone for bone in stored}
    return {bone: by_name.get(plan.skeleton.names[bone]) for bone in plan.written.tolist()}


def stored_bones(
    pose: Pose, plan: ChainPlan, spec: ChainSpec, located: Container[int]
) -> tuple[StoredBone, ...]:
    """Return the present channels of a chain's written bones, to store them.

    Args:
        pose: Present pose of the bones.
        plan: Bones of the chain.
        spec: Settings of the chain; if bones grow, scales are stored as well.
        located: Bones whose location is stored as well.
    """
    whole, grows = find_moved_root(plan, spec), scaled_bones(plan, spec)
    return tuple(
        StoredBone(
            name=plan.skeleton.names[bone],
            rotation_mode=MODE_NAMES[int(pose.modes[bone])],
            rotation=_numbers(pose.rotation[bone]),
            scale=_numbers(pose.scale[bone]) if bone in grows else (),
            location=_numbers(pose.location[bone]) if bone in located else (),
            is_dragged=bone == whole,
        )
        for bone in plan.written.tolist()
    )


def completed(
    pose: Pose, plan: ChainPlan, spec: ChainSpec, located: Container[int]
) -> tuple[StoredBone, ...]:
    """Return a stored pose with the present channels of bones that have joined its chain since.

    If the chain stretches or slides since, it gets scales or locations too; it has written none
    before. The arguments are as for ``stored_bones``.
    """
    stored = spec.stored_pose
    has_all = None not in match_stored(stored, plan).values()
    if not stored or (has_all and not (located or scaled_bones(plan, spec))):
        return stored
    present = {bone.name: bone for bone in stored_bones(pose, plan, spec, located)}

    def filled(bone: StoredBone) -> StoredBone:
        now = present.pop(bone.name, bone)
        if now.scale and not bone.scale:
            bone = bone._replace(scale=now.scale)
        if now.location and not bone.location:
            bone = bone._replace(location=now.location, is_dragged=now.is_dragged)
        return bone

    return (*[filled(bone) for bone in stored], *present.values())


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
