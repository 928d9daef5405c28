"""Bones that several chains drive: whether they can, and the stored poses, which all tell alike."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

import bpy

from ..core import IKError
from ..rig.planning.known_skeletons import skeleton_of
from ..rig.planning.own_joints import chain_joints
from ..rig.planning.stored_text import bones_of_text, text_of_bones
from ..rig.reading.bone_joints import read_joints
from ..rig.reading.chain_plan import ChainPlan, planned
from ..rig.reading.refusals import RigError
from ..rig.reading.skeleton import Skeleton
from ..rig.reading.spec import BodyGoal, ChainSpec, StoredBone
from ..rig.trees.shared_bones import cure_of, limb_count
from .chains import ChainGroup, body_of, chains_of, is_idle, owner_of
from .records import bones_of_chain, chain_spec, drivers_of

Stored = tuple[StoredBone, ...]


def as_others_have(settings: ChainGroup, taken: Stored) -> Stored:
    """Return a pose taken for a chain with what other chains have stored of its bones.

    Those were there before: what stands on shared bones now is what they have solved.
    """
    known: dict[str, StoredBone] = {}
    for _, stored in _others(settings):
        for bone in stored:
            known.setdefault(bone.name, bone)
    return tuple([_turned_as(bone, known.get(bone.name)) for bone in taken])


def tell_others(settings: ChainGroup, taken: Stored) -> None:
    """Have other chains that have stored bones of a chain store them as it does."""
    known = {bone.name: bone for bone in taken}
    for other, stored in _others(settings):
        if not known.keys().isdisjoint([bone.name for bone in stored]):
            told = [_turned_as(bone, known.get(bone.name)) for bone in stored]
            other.stored_pose = text_of_bones(told)


def shares_bones(settings: ChainGroup) -> bool:
    """Return whether a live chain of the object drives bones that this one does."""
    drivers = drivers_of(owner_of(settings), bones_of_chain(settings))
    return any(other != settings and not is_idle(other) for other, _ in drivers)


def limb_of(owner: bpy.types.Object, spec: ChainSpec, live: Iterable[ChainGroup]) -> ChainSpec:
    """Return a chain with those of its bones alone that its pole turns.

    Args:
        owner: The original armature object.
        spec: The chain.
        live: The chains of the object that are or will be live; it may be one of them.

    Raises:
        IKError: If the chain has no bones.
    """
    skeleton, others = skeleton_of(owner), list[ChainPlan]()
    for other in live:
        with suppress(IKError):
            others.append(planned(skeleton, chain_spec(other, with_stored=False)))
    return replace(spec, chain_count=limb_count(planned(skeleton, spec), others))


def live_chains(owner: bpy.types.Object) -> list[ChainGroup]:
    """Return the chains of an object that pose their bones."""
    return [each for each in chains_of(owner) if not is_idle(each)]


def check_new(owner: bpy.types.Object, wanted: ChainSpec) -> None:
    """Raise if a new chain cannot be solved together with the live ones that drive bones of it.

    Args:
        owner: The original armature object.
        wanted: The chain, with its solver.

    Raises:
        RigError: With the name of the first such chain.
    """
    if (body := body_of(owner)) is not None:
        wanted = replace(wanted, body=BodyGoal(body.root))
    skeleton = skeleton_of(owner)
    plan = planned(skeleton, wanted)
    own_cure = cure_of(plan, wanted, slides=False)
    for name, other, others_cure in _present(owner, skeleton):
        shared = plan.in_common(other)
        if shared and (cure := own_cure or others_cure) is not None:
            bone, whose = skeleton.names[shared[0]], "this chain" if own_cure else f"'{name}'"
            raise RigError(
                f"Bone '{bone}' already belongs to chain '{name}', and a second one cannot be"
                f" solved together with it: {cure} for {whose}, select other bones, or remove"
                f" chain '{name}' first."
            )


def _present(
    owner: bpy.types.Object, skeleton: Skeleton
) -> Iterator[tuple[str, ChainPlan, str | None]]:
    """Yield names and bones of live chains, and what they need to share these; None for nothing."""
    of_bones = read_joints(owner)
    for settings in chains_of(owner):
        # One that cannot be solved is no trouble of a new one.
        with suppress(IKError):
            if not is_idle(settings):
                spec = chain_spec(settings, with_stored=False)
                plan = planned(skeleton, spec)
                joints = chain_joints(of_bones, plan, spec)
                slides = joints is not None and joints.slides is not None
                yield settings.name, plan, cure_of(plan, spec, slides=slides)


def _others(settings: ChainGroup) -> Iterator[tuple[ChainGroup, Stored]]:
    """Yield the other chains of the object that have a stored pose, live ones, and that pose."""
    for other in chains_of(owner_of(settings)):
        if other.stored_pose and other.as_pointer() != settings.as_pointer():
            # One that cannot be read is no other chain's trouble.
            with suppress(RigError):
                yield other, bones_of_text(other.stored_pose)


def _turned_as(bone: StoredBone, other: StoredBone | None) -> StoredBone:
    if other is None:
        return bone
    turned = bone._replace(rotation_mode=other.rotation_mode, rotation=other.rotation)
    # A chain that moves no location would give back what another one does, under its hands.
    has_both = bone.location and other.location
    return turned._replace(location=other.location) if has_both else turned
