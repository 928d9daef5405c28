"""The stored pose of a chain: taken before the chain first writes, and restored later."""

from __future__ import annotations

from collections.abc import Iterable

import bpy
import numpy as np

from ..live import live
from ..live.writer import write_property, write_rotation
from ..planning.animated_pose import ChannelsName, VectorName
from ..planning.checks import check_channels
from ..planning.known_skeletons import skeleton_of
from ..planning.slide import slide_axes
from ..planning.start_channels import UnsolvedChannels, stored_bones
from ..planning.written_locations import find_moved_root, located_bones
from ..reading.chain_plan import plan_chain, plan_or_none
from ..reading.channels import read_flags, read_pose
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, StoredBone


def capture(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object, spec: ChainSpec
) -> tuple[StoredBone, ...]:
    """Return the channels of a chain's bones as they are now; nothing if it has no bones.

    ``evaluated`` is the object to read: the evaluated copy in a render, otherwise the original.

    Raises:
        RigError: If a channel is not finite.
    """
    if armature_object.pose is None:
        return ()
    skeleton = skeleton_of(armature_object)
    plan = plan_or_none(skeleton, spec)
    if plan is None:
        return ()
    pose = read_pose(evaluated)
    written = plan.written
    channels = (pose.rotation[written], pose.location[written], pose.scale[written])
    check_channels(plan, np.hstack(channels))
    try:
        located = located_bones(plan, spec)
    except RigError:
        # The chain is not solved before its joints are corrected; the locations are stored then.
        located = frozenset()
    return stored_bones(pose, plan, spec, located)


def restore_pose(
    unsolved: UnsolvedChannels, stored: Iterable[StoredBone], only: VectorName | None = None
) -> None:
    """Restore stored bones, all channels or only some; keyed ones take the values of F-curves."""
    armature_object = unsolved.object
    skeleton = skeleton_of(armature_object)
    by_index = _by_index(skeleton, stored)
    if not by_index:
        return
    pose = read_pose(armature_object)
    names: tuple[ChannelsName, ...] = (only,) if only else ("scale", "location", "rotation")
    for name in names:
        chosen = {index: bone for index, bone in by_index.items() if getattr(bone, name)}
        if not chosen:
            continue
        bones, values = np.array(list(chosen)), unsolved.of_bones(skeleton, pose, chosen, name)
        if name == "rotation":
            write_rotation(armature_object, bones, pose.modes[bones], values)
            live.memory.restored_uids.add(armature_object.session_uid)
        else:
            may_change = ~read_flags(armature_object.pose.bones, f"lock_{name}", 3)[bones]
            if name == "location":
                # A chain only moves the channels along its slides, except of dragged bones.
                is_dragged = np.array([bone.is_dragged for bone in chosen.values()])
                may_change &= is_dragged[:, None] | (slide_axes(skeleton, bones) != 0.0)
            vectors = np.where(may_change, values, getattr(pose, name)[bones]).astype(np.float32)
            write_property(armature_object, name, bones, vectors)


def find_unwritten_bones(
    armature_object: bpy.types.Object, spec: ChainSpec
) -> tuple[frozenset[str], frozenset[str]]:
    """Return names of stored bones that a chain does not write or move any more, as two sets.

    First the bones that it no longer writes, then those with a stored location that it no longer
    slides.
    """
    skeleton = skeleton_of(armature_object)
    plan = plan_or_none(skeleton, spec)
    if plan is None:
        return frozenset(), frozenset()
    stored, written = _by_index(skeleton, spec.stored_pose), set(plan.written.tolist())
    gone = frozenset([bone.name for index, bone in stored.items() if index not in written])
    try:
        sliding, whole = located_bones(plan, spec), find_moved_root(plan, spec)
    except RigError:
        return gone, frozenset()
    moved = {
        bone.name
        for index, bone in stored.items()
        if index in sliding and bone.is_dragged == (index == whole)
    }
    return gone, frozenset([bone.name for bone in spec.stored_pose if bone.location]) - moved


def _by_index(skeleton: Skeleton, stored: Iterable[StoredBone]) -> dict[int, StoredBone]:
    """Return stored bones by index, without those that do not exist any more."""
    return {skeleton.index[bone.name]: bone for bone in stored if bone.name in skeleton.index}


def differs_from_keys(armature_object: bpy.types.Object, spec: ChainSpec, frame: float) -> bool:
    """Return whether keyed rotations of a chain's bones differ from the values of their curves."""
    skeleton, pose = skeleton_of(armature_object), read_pose(armature_object)
    bones = plan_chain(skeleton, spec).written
    bone_indices = dict.fromkeys(bones.tolist())
    unsolved = UnsolvedChannels(armature_object, frame)
    keyed = unsolved.of_bones(skeleton, pose, bone_indices, "rotation")
    return bool((np.abs(pose.rotation[bones] - keyed) > 1e-5).any())
