"""Unite chains that share bones: the bones that they drive together, and the start pose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..planning.bone_hierarchy import (
    BoneHierarchy,
    OrderedBones,
    find_heads_and_effectors,
    hanging_of,
)
from ..planning.live_chain import LiveChain, is_same
from ..reading.batch_record import joined
from ..reading.bone_joints import NOT_TURNED, BoneJoints, free_joints
from ..reading.channels import Pose
from ..reading.spec import StartFrom
from .body_floor import AboveFloor
from .body_limbs import body_limbs, least_of_carriers
from .body_plan import BodyPlan
from .driven import Driven
from .floating import Floating


def unite_chains(
    live_chains: Sequence[LiveChain], pose: Pose, of_bones: BoneJoints | None
) -> Driven:
    """Return the bones that chains drive: chains that share bones, or a single chain.

    ``of_bones`` are joints by the settings of all bones; None if no chain of the object uses them.
    """
    first, plans = live_chains[0], [chain.plan for chain in live_chains]
    order = bones, hanging = hanging_of(plans)
    start, stored = np.empty((2, len(bones), 4))
    is_current, influence = np.empty(len(bones), dtype=np.bool_), np.zeros(len(bones))
    for chain, rows in zip(reversed(live_chains), map(list, reversed(hanging.rows)), strict=True):
        start[rows], stored[rows] = chain.start, chain.stored
        is_current[rows] = chain.start_from is StartFrom.CURRENT
        influence[rows] = np.maximum(influence[rows], chain.spec.influence)
    joints = first.joints
    if len(live_chains) > 1 or hanging.floats:
        joints = _joints(live_chains, bones, hanging, of_bones)
    scale, location = _without_change(live_chains, order, pose)
    ways, ends = find_heads_and_effectors(plans, order, lambda indices: location[indices])
    driven = Driven(
        live_chains=tuple(live_chains),
        bones=bones,
        hanging=hanging,
        start=start,
        stored=stored,
        modes=pose.modes[bones],
        is_current=is_current,
        influence=influence,
        joints=joints,
        ends=ends,
        ways=ways,
        scale=scale,
        locks=pose.locks[bones],
        uses_4d_locks=pose.uses_4d_locks[bones],
    )
    return _as_body(driven, pose, of_bones) if hanging.floats else driven


def _without_change(
    live_chains: Sequence[LiveChain], order: OrderedBones, pose: Pose
) -> tuple[Array, Array]:
    """Return scale channels (k, 3) without growth, and locations of all bones without slides.

    Locked scale channels keep their present values.
    """
    bones, hanging = order
    scale, location = pose.scale[bones], pose.location
    for live_chain, rows in zip(live_chains, hanging.rows, strict=True):
        chain = live_chain.by_itself()
        limb = list(rows[: len(chain.plan.written)])
        if chain.stretch is not None:
            scale[limb] = np.where(chain.stretch.is_locked, scale[limb], chain.stretch.scale)
        if chain.slide is not None:
            location = location.copy()
            location[bones[limb]] = chain.slide.home
    return scale, location


def _as_body(driven: Driven, pose: Pose, of_bones: BoneJoints | None) -> BodyPlan:
    """Return the bones of chains with a floating root, with the fields that only bodies have."""
    hanging, chains, bones = driven.hanging, driven.live_chains, driven.bones
    above_floor = None
    if driven.specs[0].floor is not None:
        above_floor = AboveFloor.of(chains, bones[: hanging.count], hanging.carriers, driven.ends)
    unite = partial(unite_chains, pose=pose, of_bones=of_bones)
    limbs = body_limbs(chains, bones, hanging.parents, unite)
    own = np.array([spec.influence for spec in driven.specs])
    pulls = np.array([spec.body.pull for spec in driven.specs if spec.body])
    least = partial(least_of_carriers, limbs, hanging.parents, priorities=driven.priorities or ())
    carrier_shares = least(own)
    shares, influence = np.minimum(own, carrier_shares), np.zeros(len(bones))
    for limb in limbs:
        influence[limb.rows] = limb.driven.influence
    for rows, share in zip(map(list, hanging.rows), shares, strict=True):
        influence[rows] = np.maximum(influence[rows], share)
    return BodyPlan(
        **{field.name: getattr(driven, field.name) for field in fields(driven)}
        | {"influence": influence},
        floating=Floating.of(chains, bones, pose),
        limbs=limbs,
        above_floor=above_floor,
        carrier_shares=carrier_shares,
        shares=shares,
        pulls=np.minimum(pulls, least(pulls)),
    )


def _joints(
    live_chains: Sequence[LiveChain],
    bones: Indices,
    hanging: BoneHierarchy,
    of_bones: BoneJoints | None,
) -> BoneJoints | None:
    """Return the joints of a tree's bones: for each, the joint of the first chain with limits.

    A joint that a chain sets by itself takes precedence over the settings of the bone.
    """
    if of_bones is None or all(live_chain.joints is None for live_chain in live_chains):
        return None
    joints = list[BoneJoints]()
    for row, bone in enumerate(bones.tolist()):
        bone_joint, chosen_joint = _joint_of(of_bones, bone), None
        for live_chain, rows in zip(live_chains, hanging.rows, strict=True):
            honours = row in rows and live_chain.spec.use_limits
            if honours and (chosen_joint is None or is_same(chosen_joint, bone_joint)):
                chosen_joint = _joint_of(live_chain.joints, rows.index(row))
        joints.append(chosen_joint or _joint_of(None, 0))
    all_joints = joined(joints)
    is_rest = bool((all_joints.zero_wxyz == NOT_TURNED).all())
    return replace(all_joints, zero_wxyz=None if is_rest else all_joints.zero_wxyz)


def _joint_of(joints: BoneJoints | None, row: int) -> BoneJoints:
    """Return the joint of a row, with an explicit zero rotation."""
    joint = free_joints(1) if joints is None else joints.take(np.array([row]))
    return replace(joint, zero_wxyz=joint.explicit_zero)
