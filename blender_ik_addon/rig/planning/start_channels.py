"""The pose that a solve starts from, as rotation channels."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Literal

import numpy as np

from ...core.algebra.arithmetic import Array
from ..reading.animation import rotation_paths, with_keys
from ..reading.chain_plan import ChainPlan
from ..reading.channels import MODE_NAMES, MODE_NUMBERS, QUATERNION, Integers, Pose, converted
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, StartFrom, StoredBone
from .located import moved_whole
from .order import Job

VectorName = Literal["scale", "location"]


def start_channels(
    job: Job, pose: Pose, frame: float, animated: Array | None
) -> tuple[Array, Array]:
    """Return the rotation channels that a chain starts from, and those that it has stored.

    Args:
        job: The chain.
        pose: The present pose of its armature object.
        frame: With subframe.
        animated: All bones' rotation channels as Blender's evaluation of this frame left them,
            shape (n, 4), or None where the frame has not been evaluated anew.

    Returns:
        Two arrays of the written bones, shape (k, 4), both in the bones' present modes. The
        stored pose has the values of this frame where bones are keyed.
    """
    written = job.plan.written
    modes, present = pose.modes[written], pose.rotation[written]
    stored = _stored_channels(job, pose)
    own = None if animated is None else animated[written]
    stored = with_keys(job.object, rotation_paths(job.written_names(), modes), stored, frame, own)
    if job.start_from is StartFrom.CURRENT:
        return present, stored
    if job.start_from is StartFrom.REST:
        return rest_channels(modes), stored
    return stored, stored


def start_vector(
    job: Job, pose: Pose, frame: float, name: VectorName, animated: Array | None
) -> Array:
    """Return the scale or location that a chain's bones have without the chain, shape (k, 3).

    Args: As ``start_channels``, but ``animated`` are channels of that name, shape (n, 3).
    """
    values: Array = getattr(pose, name)[job.plan.written]
    for i, bone in enumerate(paired(job.spec.stored_pose, job.skeleton, job.plan)):
        stored: tuple[float, ...] = getattr(bone, name, ())
        if stored:
            values[i] = stored
    own = None if animated is None else animated[job.plan.written]
    return with_keys(job.object, [(bone, name) for bone in job.written_names()], values, frame, own)


def rest_channels(modes: Integers) -> Array:
    """Return the rotation channels of bones at rest, shape (m, 4)."""
    channels = np.zeros((len(modes), 4))
    channels[modes == QUATERNION, 0] = 1.0
    # An axis-angle of no turn needs an axis all the same: Blender's own default is Y.
    channels[modes < QUATERNION, 2] = 1.0
    return channels


def _stored_channels(job: Job, pose: Pose) -> Array:
    """Return stored channels by bone; of bones that were not stored, the present ones."""
    modes, channels = pose.modes[job.plan.written], pose.rotation[job.plan.written]
    stored_modes = modes.copy()
    for i, bone in enumerate(paired(job.spec.stored_pose, job.skeleton, job.plan)):
        if bone is not None:
            channels[i] = bone.rotation
            stored_modes[i] = MODE_NUMBERS[bone.rotation_mode]
    return converted(channels, stored_modes, modes)


def paired(
    stored: Sequence[StoredBone], skeleton: Skeleton, plan: ChainPlan
) -> list[StoredBone | None]:
    """Return what is stored for each written bone of a chain."""
    by_name = {bone.name: bone for bone in stored}
    return [by_name.get(skeleton.names[bone]) for bone in plan.written]


def stored_bones(
    skeleton: Skeleton, pose: Pose, plan: ChainPlan, spec: ChainSpec, located: Container[int]
) -> tuple[StoredBone, ...]:
    """Return what the channels of a chain's written bones hold now.

    Args:
        skeleton: The armature's bones.
        pose: Their pose.
        plan: The chain's bones.
        spec: Its settings: where bones grow, scales are stored as well.
        located: Bones of which to store the location as well.
    """
    whole = moved_whole(skeleton, plan, spec)
    return tuple(
        StoredBone(
            name=skeleton.names[bone],
            rotation_mode=MODE_NAMES[int(pose.modes[bone])],
            rotation=_numbers(pose.rotation[bone]),
            scale=_numbers(pose.scale[bone]) if spec.use_stretch else (),
            location=_numbers(pose.location[bone]) if bone in located else (),
            is_dragged=bone == whole,
        )
        for bone in plan.written.tolist()
    )


def completed(
    skeleton: Skeleton, pose: Pose, plan: ChainPlan, spec: ChainSpec, located: Container[int]
) -> tuple[StoredBone, ...]:
    """Return a stored pose with the bones that have joined its chain since, as they stand now.

    A chain that stretches or slides since needs scales or locations; it has written none before.
    The arguments are as for ``stored_bones``.
    """
    stored = spec.stored_pose
    if not stored:
        return stored
    pairs = paired(stored, skeleton, plan)
    if spec.use_stretch or located:
        whole = moved_whole(skeleton, plan, spec)
        lacking = {
            bone.name: index
            for bone, index in zip(pairs, plan.written.tolist(), strict=True)
            if bone is not None
        }

        def filled(bone: StoredBone) -> StoredBone:
            index = lacking.get(bone.name)
            if index is not None and spec.use_stretch and not bone.scale:
                bone = bone._replace(scale=_numbers(pose.scale[index]))
            if index is not None and index in located and not bone.location:
                location = _numbers(pose.location[index])
                bone = bone._replace(location=location, is_dragged=index == whole)
            return bone

        stored = tuple([filled(bone) for bone in stored])
    if all(bone is not None for bone in pairs):
        return stored
    known = {bone.name for bone in stored}
    present = stored_bones(skeleton, pose, plan, spec, located)
    return (*stored, *(bone for bone in present if bone.name not in known))


def _numbers(values: Array) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
