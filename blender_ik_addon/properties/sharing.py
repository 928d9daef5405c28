"""Bones that several chains drive: checks, and stored poses, which are the same in all chains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

import bpy

from ..core import IKError
from ..core.model.message import Message
from ..rig.planning.joints_of_chain import chain_joints, slide_ranges
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.stored_text import bones_of_text, text_of_bones
from ..rig.reading.bone_joints import read_joints
from ..rig.reading.chain_plan import ChainPlan, plan_chain
from ..rig.reading.refusals import RigError
from ..rig.reading.skeleton import Skeleton
from ..rig.reading.spec import BodyGoal, ChainSpec, StoredBone
from ..rig.trees.shared_bones import cure_of, limb_count
from .chains import ChainGroup, body_of, chains_of, is_idle, live_chains, owner_of
from .records import bones_of_chain, chain_spec, drivers_of

StoredBones = tuple[StoredBone, ...]


def merge_stored(settings: ChainGroup, pose: StoredBones) -> StoredBones:
    """Return the present pose of a chain's bones, with what other chains have stored of them.

    Those chains stored it before they moved the bones; the present pose is their result.
    """
    known: dict[str, StoredBone] = {}
    for _, stored in _others_with_pose(settings):
        for bone in stored:
            known.setdefault(bone.name, bone)
    return tuple([_with_channels_of(bone, known.get(bone.name)) for bone in pose])


def update_others(settings: ChainGroup, pose: StoredBones) -> None:
    """Copy the stored bones of a chain to other chains that have stored the same bones."""
    known = {bone.name: bone for bone in pose}
    for other, stored in _others_with_pose(settings):
        if not known.keys().isdisjoint([bone.name for bone in stored]):
            updated = [_with_channels_of(bone, known.get(bone.name)) for bone in stored]
            other.stored_pose = text_of_bones(updated)


def shares_bones(settings: ChainGroup) -> bool:
    """Tell whether another live chain of the object drives bones of this chain."""
    drivers = drivers_of(owner_of(settings), bones_of_chain(settings))
    return any(other != settings and not is_idle(other) for other, _ in drivers)


def limb_of(owner: bpy.types.Object, spec: ChainSpec, live: Iterable[ChainGroup]) -> ChainSpec:
    """Return a chain reduced to the bones that its pole turns.

    ``live`` are the chains of the object that are or will be live, with or without this one.

    Raises:
        IKError: If the chain has no bones.
    """
    skeleton, others = skeleton_of(owner), list[ChainPlan]()
    for other in live:
        with suppress(IKError):
            others.append(plan_chain(skeleton, chain_spec(other, with_stored=False)))
    return replace(spec, chain_count=limb_count(plan_chain(skeleton, spec), others))


def check_new(owner: bpy.types.Object, spec: ChainSpec) -> None:
    """Raise a ``RigError`` if a new chain cannot be solved together with live ones of its bones.

    The record of the new chain has its solver.
    """
    if (body := body_of(owner)) is not None:
        spec = replace(spec, body=BodyGoal(body.root))
    skeleton = skeleton_of(owner)
    plan = plan_chain(skeleton, spec)
    new_cure = cure_of(plan, spec, slides=False)
    for name, other, live_cure in _live_bones(owner, skeleton):
        shared = plan.in_common(other)
        if shared and (cure := new_cure or live_cure) is not None:
            whose = Message("this chain") if new_cure else f"'{name}'"
            raise RigError(
                "Bone '{bone}' already belongs to chain '{name}', and the two chains cannot be"
                " solved together: {cure} for {whose}, select other bones, or remove chain '{name}'"
                " first.",
                bone=skeleton.names[shared[0]],
                name=name,
                cure=cure,
                whose=whose,
            )


def _live_bones(
    owner: bpy.types.Object, skeleton: Skeleton
) -> Iterator[tuple[str, ChainPlan, str | None]]:
    """Yield name, bones and ``cure_of`` of each live chain; None if it can share its bones."""
    of_bones = read_joints(owner)
    for settings in live_chains(owner):
        # A live chain that cannot be solved does not prevent a new one.
        with suppress(IKError):
            spec = chain_spec(settings, with_stored=False)
            plan = plan_chain(skeleton, spec)
            chain_joints(of_bones, plan, spec)
            slides = slide_ranges(plan, spec) is not None
            yield settings.name, plan, cure_of(plan, spec, slides=slides)


def _others_with_pose(settings: ChainGroup) -> Iterator[tuple[ChainGroup, StoredBones]]:
    """Yield the other chains of the object with a stored pose, which are live, and that pose."""
    for other in chains_of(owner_of(settings)):
        if other.stored_pose and other.as_pointer() != settings.as_pointer():
            # A pose that cannot be read does not affect other chains.
            with suppress(RigError):
                yield other, bones_of_text(other.stored_pose)


def _with_channels_of(bone: StoredBone, other: StoredBone | None) -> StoredBone:
    if other is None:
        return bone
    turned = bone._replace(rotation_mode=other.rotation_mode, rotation=other.rotation)
    # A chain that moves no location would otherwise reset the one that another chain writes.
    has_both = bone.location and other.location
    return turned._replace(location=other.location) if has_both else turned
