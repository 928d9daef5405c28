"""The stored pose: taken before a chain first writes, and given back."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np

from ...core.algebra.arithmetic import Flags
from ..live import live
from ..live.writer import write_property, write_rotation
from ..planning.checks import check_channels
from ..planning.known_skeletons import skeleton_of
from ..planning.located import located_bones, moved_whole
from ..planning.slide import slide_axes
from ..planning.start_channels import (
    ChannelsName,
    VectorName,
    stored_bones,
    stored_or_keyed,
)
from ..reading.animation import BoneKeys
from ..reading.chain_plan import plan_or_none, planned
from ..reading.channels import read_flags, read_pose
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton, compiled
from ..reading.spec import ChainSpec, StoredBone


def take(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object, spec: ChainSpec
) -> tuple[StoredBone, ...]:
    """Return what the channels of a chain's bones hold now; nothing without bones.

    Args:
        armature_object: The original object.
        evaluated: Where to read the channels: its evaluated copy in a render, else itself.
        spec: The chain's settings.

    Raises:
        RigError: If they hold anything that is not finite.
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
        # It is not solved before its joints are corrected; the locations are stored then.
        located = frozenset()
    return stored_bones(pose, plan, spec, located)


def give_back(
    armature_object: bpy.types.Object,
    spec: ChainSpec,
    frame: float,
    wanted: frozenset[str] | None = None,
    evaluated: bpy.types.Object | None = None,
    only: VectorName | None = None,
) -> None:
    """Write the stored pose of a chain back; keyed channels take their F-curves' values.

    Those that NLA strips play take what the frame's evaluation left in them.

    Args:
        armature_object: The original object.
        spec: The chain's settings, with the stored pose.
        frame: The present frame, with subframe.
        wanted: Names of the bones, as they are stored; all by default.
        evaluated: The evaluated object; None where the frame has not been evaluated anew.
        only: What of it: locations or scales; all by default.
    """
    skeleton = skeleton_of(armature_object)
    stored = _bones(skeleton, spec, wanted)
    if not stored:
        return
    pose, shown = read_pose(armature_object), None if evaluated is None else read_pose(evaluated)
    names: tuple[ChannelsName, ...] = (only,) if only else ("scale", "location", "rotation")
    for name in names:
        held = {index: bone for index, bone in stored.items() if getattr(bone, name)}
        if not held:
            continue
        animated = None if shown is None else getattr(shown, name)
        bones = np.array(list(held))
        values = stored_or_keyed(
            BoneKeys(armature_object), skeleton, pose, held, frame, name, animated
        )
        if name == "rotation":
            write_rotation(armature_object, bones, pose.modes[bones], values)
            live.memory.given_back.add(armature_object.session_uid)
        else:
            is_own = _own_components(armature_object, skeleton, held, name)
            vectors = np.where(is_own, values, getattr(pose, name)[bones]).astype(np.float32)
            write_property(armature_object, name, bones, vectors)


def unwritten(
    armature_object: bpy.types.Object, spec: ChainSpec, known: Skeleton | None
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of bones that are stored and that their chain no longer writes.

    Then of those whose location is stored and that it no longer slides.

    Args:
        armature_object: The original object.
        spec: The chain's settings, with the stored pose.
        known: The object's bones so far, which saves time if they are the same.
    """
    skeleton = compiled(armature_object, known)
    plan = plan_or_none(skeleton, spec)
    if plan is None:
        return frozenset(), frozenset()
    stored, written = _bones(skeleton, spec), set(plan.written.tolist())
    gone = frozenset([bone.name for index, bone in stored.items() if index not in written])
    try:
        sliding, whole = located_bones(plan, spec), moved_whole(plan, spec)
    except RigError:
        return gone, frozenset()
    kept = {
        bone.name
        for index, bone in stored.items()
        if index in sliding and bone.is_dragged == (index == whole)
    }
    return gone, frozenset([bone.name for bone in spec.stored_pose if bone.location]) - kept


def _own_components(
    armature_object: bpy.types.Object,
    skeleton: Skeleton,
    held: dict[int, StoredBone],
    name: VectorName,
) -> Flags:
    """Return which components of stored scales or locations a chain may have changed, (m, 3)."""
    bones = np.array(list(held))
    is_own: Flags = ~read_flags(armature_object.pose.bones, f"lock_{name}", 3)[bones]
    if name == "location":
        # Channels that slides do not move are not the chain's.
        is_dragged = np.array([bone.is_dragged for bone in held.values()])
        is_own &= is_dragged[:, None] | (slide_axes(skeleton, bones) != 0.0)
    return is_own


def _bones(
    skeleton: Skeleton, spec: ChainSpec, wanted: frozenset[str] | None = None
) -> dict[int, StoredBone]:
    """Return what is stored, of all bones or of those wanted, by index of the bone it is for."""
    return {
        skeleton.index[bone.name]: bone
        for bone in spec.stored_pose
        if bone.name in skeleton.index and (wanted is None or bone.name in wanted)
    }


def is_off_its_keys(armature_object: bpy.types.Object, spec: ChainSpec, frame: float) -> bool:
    """Return whether the keyed channels of a chain's bones hold other values than their curves."""
    skeleton, pose = skeleton_of(armature_object), read_pose(armature_object)
    bones = planned(skeleton, spec).written
    known = dict.fromkeys(bones.tolist())
    keyed = stored_or_keyed(
        BoneKeys(armature_object), skeleton, pose, known, frame, "rotation", None
    )
    return bool((np.abs(pose.rotation[bones] - keyed) > 1e-5).any())


def driven_by_all(armature_object: bpy.types.Object, specs: Sequence[ChainSpec]) -> list[list[str]]:
    """Return the names of the bones that each chain writes, root first; none if it has no bones."""
    if armature_object.type != "ARMATURE":
        return [[] for _ in specs]
    skeleton = skeleton_of(armature_object)
    plans = [plan_or_none(skeleton, spec) for spec in specs]
    return [list(plan.names) if plan else [] for plan in plans]
