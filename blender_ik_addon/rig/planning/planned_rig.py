"""The chains of one armature object, planned again where their inputs have changed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Self

import bpy

from ...core import IKError
from ...core.model.message import Message
from ..reading.bone_joints import BoneJoints, read_joints
from ..reading.chain_plan import check, plan_chain
from ..reading.channels import Pose
from ..reading.dependencies import OwnAnchor, OwnAnchorError
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, StoredBone
from ..reading.update import Update
from .checks import check_channels, check_pose, is_pose_sound
from .joints_of_chain import chain_joints, slide_ranges
from .known_skeletons import skeleton_of
from .live_chain import LiveChain, is_same
from .order import PlannedChain
from .slide import check_drivers
from .start_channels import completed
from .stretch import BoneStretch, read_stretch
from .written_locations import check_moved, located_bones

Specs = dict[int, ChainSpec | Message]
"""The settings of chains by index, or the reason why they cannot be used."""
Store = Callable[[bpy.types.Object, int, tuple[StoredBone, ...]], tuple[StoredBone, ...]]
"""Stores the pose of a chain, which its armature object and index identify.

It returns the stored pose: bones new to the chain are stored as in the other chains.
"""
Planned = tuple[PlannedChain, BoneJoints | None]
"""A chain, a compiled one where nothing has changed, and the joints of its bones."""


class RigBones(NamedTuple):
    """The bones of an armature object, and their settings as far as its chains use them.

    Attributes:
        skeleton: The bones.
        joints: Joints of all bones; None where no chain honours them.
        stretch: Stretch of all bones; None where no chain stretches.
    """

    skeleton: Skeleton
    joints: BoneJoints | None
    stretch: BoneStretch | None

    @classmethod
    def read(
        cls, owner: bpy.types.Object, specs: Collection[ChainSpec], known: Skeleton | None
    ) -> Self:
        """Return the bones of an original object; ``known`` is as in ``skeleton_of``."""
        has_limits = any(spec.use_limits or spec.force is not None for spec in specs)
        has_stretch = any(spec.use_stretch for spec in specs)
        return cls(
            skeleton_of(owner, known),
            read_joints(owner) if has_limits else None,
            read_stretch(owner) if has_stretch else None,
        )

    def are_current(self, owner: bpy.types.Object) -> bool:
        """Return whether the object still has these bones with these settings."""
        return (
            skeleton_of(owner, self.skeleton) is self.skeleton
            and (self.joints is None or is_same(self.joints, read_joints(owner)))
            and (self.stretch is None or is_same(self.stretch, read_stretch(owner)))
        )


class PlanInputs(NamedTuple):
    """What the chains of one original armature object are planned from beside their settings."""

    object: bpy.types.Object
    bones: RigBones
    pose: Pose
    update: Update
    store: Store


class PlannedRig(NamedTuple):
    """The chains of one armature object that can be solved.

    Attributes:
        chains: The chains.
        errors: Error messages of all others by index.
        own_anchors: Targets, poles and floors that refused chains move themselves.
    """

    chains: Sequence[Planned]
    errors: Mapping[int, Message]
    own_anchors: Sequence[OwnAnchor]


def plan_rig(specs: Specs, known: Sequence[LiveChain], inputs: PlanInputs) -> PlannedRig:
    """Return the chains of an armature object that can be solved.

    The known compiled chains are reused where nothing has changed.
    """
    errors = {index: spec for index, spec in specs.items() if isinstance(spec, Message)}
    known_chains = {chain.index: chain for chain in known}
    chains, own_anchors = list[Planned](), list[OwnAnchor]()
    is_whole_pose_sound = is_pose_sound(inputs.pose)
    for index, spec in specs.items():
        if isinstance(spec, Message):
            continue
        try:
            chain = _plan(index, spec, known_chains.get(index), inputs)
            if not is_whole_pose_sound:
                check_pose(inputs.object, inputs.pose, chain.plan)
            chains.append((chain, _joints_of(chain, inputs)))
        except IKError as error:
            errors[index] = error.message
            if isinstance(error, OwnAnchorError):
                own_anchors.append(error.own_anchor)
    errors |= (slid_tips := _find_slid_tips(chains))
    chains = [planned for planned in chains if planned[0].index not in slid_tips]
    return PlannedRig(chains, errors, own_anchors)


def _plan(index: int, spec: ChainSpec, known: LiveChain | None, inputs: PlanInputs) -> PlannedChain:
    """Return a planned chain: the known one if none of its inputs has changed."""
    owner, update = inputs.object, inputs.update
    if known is not None and (known.spec != spec or update.has_new_relations):
        known = None
    if known is not None:
        relations = known.moved_by
        if not (relations.has_constraints and not update.listed.isdisjoint(relations.owners)):
            return known
    plan = plan_chain(inputs.bones.skeleton, spec)
    moved_by = check(owner, plan, spec, update.present)
    if known is not None and known.moved_by == moved_by:
        # A new chain would be solved once more, from its last pose.
        return known
    stored = completed(inputs.pose, plan, spec, located_bones(plan, spec))
    if stored != spec.stored_pose:
        spec = replace(spec, stored_pose=inputs.store(owner, index, stored))
    return PlannedChain(owner, index, spec, plan, moved_by)


def _joints_of(chain: PlannedChain, inputs: PlanInputs) -> BoneJoints | None:
    check_moved(chain)
    if chain.spec.is_dragged:
        # It starts from its present pose.
        check_channels(chain.plan, inputs.pose.rotation[chain.plan.written])
    if inputs.bones.joints is None:
        return None
    joints = chain_joints(inputs.bones.joints, chain.plan, chain.spec)
    check_drivers(chain)
    return joints


def _find_slid_tips(chains: Sequence[Planned]) -> dict[int, Message]:
    """Return errors of chains whose effector is the head of a bone that another chain slides."""
    slid = {
        bone: chain.spec.name
        for chain, _ in chains
        if (ranges := slide_ranges(chain.plan, chain.spec)) is not None
        for bone in chain.plan.written[ranges.any(axis=1)].tolist()
    }
    return {
        chain.index: Message(
            "The head of bone '{bone}' slides with chain '{slid}': choose its parent as the"
            " tip bone, and switch Use Tail on.",
            bone=chain.spec.bone,
            slid=slid[chain.plan.tip],
        )
        for chain, _ in chains
        if not chain.plan.ends_at_tail
        and chain.plan.tip in slid
        and chain.plan.tip not in chain.plan.written
    }
