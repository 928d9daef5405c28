"""Unite chains that share bones: what they drive together, and where it starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial

import numpy as np

from ...core.algebra.arithmetic import Array, Indices
from ..planning.hanging import Hanging, Hung, hanging_of, lying
from ..planning.live_chain import LiveChain, is_same
from ..reading.bone_joints import NOT_TURNED, BoneJoints, free_bones
from ..reading.channels import Pose
from ..reading.rows import joined
from ..reading.spec import StartFrom
from .body_floor import AboveFloor
from .body_limbs import body_limbs
from .body_plan import BodyPlan
from .driven import Driven
from .floating import Floating


def driven_by(live_chains: Sequence[LiveChain], pose: Pose, of_bones: BoneJoints | None) -> Driven:
    """Return what chains drive that share bones, or one chain that shares none.

    Args:
        live_chains: The chains, in the order of the list.
        pose: Of their armature object.
        of_bones: What the settings of all bones say; None where no chain of the object honours
            them.
    """
    first, plans = live_chains[0], [each.plan for each in live_chains]
    hung = bones, hanging = hanging_of(plans)
    start, stored = np.empty((2, len(bones), 4))
    is_current, influence = np.empty(len(bones), dtype=np.bool_), np.zeros(len(bones))
    for own, rows in zip(reversed(live_chains), map(list, reversed(hanging.rows)), strict=True):
        start[rows], stored[rows] = own.start, own.stored
        is_current[rows] = own.start_from is StartFrom.CURRENT
        influence[rows] = np.maximum(influence[rows], own.spec.influence)
    joints = first.joints
    if len(live_chains) > 1 or hanging.floats:
        joints = _joints(live_chains, bones, hanging, of_bones)
    scale, location = _without_change(live_chains, hung, pose)
    ways, ends = lying(plans, hung, lambda some: location[some])
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
    live_chains: Sequence[LiveChain], hung: Hung, pose: Pose
) -> tuple[Array, Array]:
    """Return scale channels without any growth (k, 3), and of all bones locations without slides.

    What is locked holds what stands there, the rest what stood there before.
    """
    bones, hanging = hung
    scale, location = pose.scale[bones], pose.location
    for live_chain, rows in zip(live_chains, hanging.rows, strict=True):
        own = live_chain.by_itself()
        limb = list(rows[: len(own.plan.written)])
        if own.stretch is not None:
            scale[limb] = np.where(own.stretch.is_locked, scale[limb], own.stretch.scale)
        if own.slide is not None:
            location = location.copy()
            location[bones[limb]] = own.slide.home
    return scale, location


def _as_body(driven: Driven, pose: Pose, of_bones: BoneJoints | None) -> BodyPlan:
    """Return what chains drive whose root floats with what only bodies have."""
    hang, chains, bones = driven.hanging, driven.live_chains, driven.bones
    standing = None
    if driven.specs[0].floor is not None:
        standing = AboveFloor.of(chains, bones[: hang.count], hang.carriers, driven.ends)
    unite = partial(driven_by, pose=pose, of_bones=of_bones)
    return BodyPlan(
        **{each.name: getattr(driven, each.name) for each in fields(driven)},
        floating=Floating.of(chains, bones, pose),
        limbs=body_limbs(chains, bones, hang.parents, unite),
        standing=standing,
    )


def _joints(
    live_chains: Sequence[LiveChain],
    bones: Indices,
    hanging: Hanging,
    of_bones: BoneJoints | None,
) -> BoneJoints | None:
    """Return the joints of a tree's bones: of each those of the first chain that honours any.

    A joint that a chain gives the bone as its own comes before what the bone's settings say.
    """
    if of_bones is None or all(live_chain.joints is None for live_chain in live_chains):
        return None
    chosen = list[BoneJoints]()
    for row, bone in enumerate(bones.tolist()):
        plain, own = _joint_of(of_bones, bone), None
        for live_chain, rows in zip(live_chains, hanging.rows, strict=True):
            honours = row in rows and live_chain.spec.use_limits
            if honours and (own is None or is_same(own, plain)):
                own = _joint_of(live_chain.joints, rows.index(row))
        chosen.append(own or _joint_of(None, 0))
    whole = joined(chosen)
    is_rest = bool((whole.zero_wxyz == NOT_TURNED).all())
    return replace(whole, zero_wxyz=None if is_rest else whole.zero_wxyz, slides=None)


def _joint_of(joints: BoneJoints | None, row: int) -> BoneJoints:
    """Return one of several joints, with a zero also at rest; none slides in a tree."""
    joint = free_bones(1) if joints is None else joints.take(np.array([row]))
    zero = np.array([NOT_TURNED]) if joint.zero_wxyz is None else joint.zero_wxyz
    return replace(joint, zero_wxyz=zero, slides=np.zeros((1, 2)))
