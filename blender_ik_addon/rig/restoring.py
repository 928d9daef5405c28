"""The stored pose: taken before a chain first writes, and given back."""

from __future__ import annotations

import bpy
import numpy as np

from .animation import keyed_rotation
from .channels import MODE_NUMBERS, converted, read_pose
from .errors import RigError
from .plan import planned
from .skeleton import Skeleton, compiled
from .spec import ChainSpec, StoredBone
from .start import paired, renamed, stored_bones
from .writer import write_rotation


def take(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object, spec: ChainSpec
) -> tuple[StoredBone, ...]:
    """Return what the rotation channels of a chain's bones hold now; nothing without bones.

    Args:
        armature_object: The original object.
        evaluated: Where to read the channels: its evaluated copy in a render, else itself.
        spec: The chain's settings.
    """
    skeleton = compiled(armature_object)
    try:
        plan = planned(skeleton, spec)
    except RigError:
        return ()
    return stored_bones(skeleton, read_pose(evaluated), plan)


def give_back(armature_object: bpy.types.Object, spec: ChainSpec, frame: float) -> None:
    """Write the stored pose of a chain back; keyed channels take their F-curves' values.

    Args:
        armature_object: The original object.
        spec: The chain's settings, with the stored pose.
        frame: The present frame, with subframe.
    """
    skeleton = compiled(armature_object)
    targets = _bones(skeleton, spec)
    if not targets:
        return
    pose = read_pose(armature_object)
    bones = np.array(list(targets))
    modes = pose.modes[bones]
    stored = np.array([bone.rotation for bone in targets.values()])
    stored_modes = np.array([MODE_NUMBERS[bone.rotation_mode] for bone in targets.values()])
    channels = converted(stored, stored_modes, modes)
    names = [skeleton.names[bone] for bone in bones]
    keyed = keyed_rotation(armature_object, names, modes, frame, None)
    channels = np.where(keyed.is_keyed, keyed.values, channels)
    write_rotation(armature_object, bones, modes, channels)


def _bones(skeleton: Skeleton, spec: ChainSpec) -> dict[int, StoredBone]:
    """Return what is stored, by index of the bone that it belongs to."""
    by_name = {
        skeleton.index[bone.name]: bone for bone in spec.stored_pose if bone.name in skeleton.index
    }
    try:
        plan = planned(skeleton, spec)
    except RigError:
        return by_name
    in_chain = zip(plan.written, paired(spec.stored_pose, skeleton, plan), strict=True)
    return by_name | {int(bone): stored for bone, stored in in_chain if stored is not None}


def renamed_bones(armature_object: bpy.types.Object, spec: ChainSpec) -> dict[str, str]:
    """Return the present names of a chain's bones by those that they were stored with."""
    skeleton = compiled(armature_object)
    try:
        plan = planned(skeleton, spec)
    except RigError:
        return {}
    found = renamed(spec.stored_pose, skeleton, plan)
    return {former: skeleton.names[bone] for former, bone in found.items()}


def is_off_its_keys(armature_object: bpy.types.Object, spec: ChainSpec, frame: float) -> bool:
    """Return whether the keyed channels of a chain's bones hold other values than their curves."""
    skeleton = compiled(armature_object)
    plan = planned(skeleton, spec)
    pose = read_pose(armature_object)
    names = [skeleton.names[bone] for bone in plan.written]
    keyed = keyed_rotation(armature_object, names, pose.modes[plan.written], frame, None)
    apart = np.abs(pose.rotation[plan.written] - keyed.values) > 1e-5
    return bool((apart & keyed.is_keyed).any())


def driven_bones(armature_object: bpy.types.Object, spec: ChainSpec) -> list[str]:
    """Return the names of the bones that a chain writes, root first; none if it has no bones."""
    skeleton = compiled(armature_object)
    try:
        plan = planned(skeleton, spec)
    except RigError:
        return []
    return [skeleton.names[bone] for bone in plan.written]
