"""Joints of a chain's bones: those that the chain gives, and the bones' settings for the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.kinematics.joint_limits import FREE
from ...core.model.message import Message
from ..reading.bone_joints import MAX_STIFFNESS, NOT_TURNED, BoneJoints, free_joints
from ..reading.chain_plan import ChainPlan
from ..reading.refusals import RigError, refuse_first
from ..reading.skeleton import Skeleton
from ..reading.spec import ChainSpec, JointSpec, RelativeTo
from .acting_forces import creature_of

Y_AXIS = np.array([0.0, 1.0, 0.0])


def chain_joints(of_bones: BoneJoints, plan: ChainPlan, spec: ChainSpec) -> BoneJoints | None:
    """Return the joints of the written bones of a chain; None if all of them turn freely.

    A chain that is pulled by a force always has joints: forces act on these. ``of_bones`` are the
    joints of all bones of the object, by the settings of bones.

    Raises:
        RigError: If a joint of the chain cannot be used; the text says what to do next.
        InvalidCreatureError: If the creature of a chain cannot be read.
    """
    if spec.force is not None:
        # Raises if the creature cannot be read.
        creature_of(spec.force)
    if not spec.use_limits:
        return None if spec.force is None else free_joints(len(plan.written))
    if of_bones.is_free and not spec.joints and spec.force is None:
        return None
    joints = _set_creature_kinds(of_bones.take(plan.written), plan, spec)
    if spec.joints:
        joints = _set_joints(joints, _find_rows(plan, spec), plan)
    if spec.is_dragged:
        joints = _adapt_to_drag(joints, moves_root=spec.moves_root)
    if (slides := slide_ranges(plan, spec)) is not None:
        _check_slides(slides, plan, spec)
    return None if joints.is_free and slides is None and spec.force is None else joints


def _set_creature_kinds(joints: BoneJoints, plan: ChainPlan, spec: ChainSpec) -> BoneJoints:
    """Return joints of the kinds that a creature tells, with the ranges of the bones."""
    count = len(plan.segments)
    kinds = None if spec.force is None else creature_of(spec.force).kinds(count)
    if kinds is None:
        return joints
    is_locked = joints.is_locked.copy()
    is_locked[:count] = np.logical_not([FREE[kind] for kind in kinds])
    return replace(joints, is_locked=is_locked)


def _adapt_to_drag(joints: BoneJoints, *, moves_root: bool) -> BoneJoints:
    """Return the joints of a dragged chain: a root that moves turns freely."""
    is_free = (np.arange(len(joints.low)) < moves_root)[:, None]
    return replace(
        joints,
        is_locked=joints.is_locked & ~is_free,
        low=np.where(is_free, -np.inf, joints.low),
        high=np.where(is_free, np.inf, joints.high),
        stiffness=np.where(is_free, 0.0, joints.stiffness),
    )


def slide_ranges(plan: ChainPlan, spec: ChainSpec) -> Array | None:
    """Return the least and greatest slides of written bones along their Y axes at rest, (k, 2).

    In the unit of their location channels, both zero for bones that do not slide; None if none
    does, as in a dragged chain.

    Raises:
        RigError: If a joint of the chain cannot be used; the text says what to do next.
    """
    if not spec.use_limits or spec.is_dragged or not any(joint.slides for joint in spec.joints):
        return None
    ranges = np.zeros((len(plan.written), 2))
    for row, joint in _find_rows(plan, spec).items():
        ranges[row] = joint.slide
    return ranges if ranges.any() else None


def cones(plan: ChainPlan, spec: ChainSpec) -> frozenset[int]:
    """Return the bones whose joints in a chain are cones.

    Raises:
        RigError: If a joint of the chain cannot be used; the text says what to do next.
    """
    by_row = _find_rows(plan, spec) if spec.use_limits else {}
    rows = [row for row, joint in by_row.items() if joint.is_cone]
    return frozenset(plan.written[rows].tolist())


def _set_joints(joints: BoneJoints, by_row: dict[int, JointSpec], plan: ChainPlan) -> BoneJoints:
    """Return the joints of written bones with the chain's joints in their rows."""
    is_locked, stiffness = joints.is_locked.copy(), joints.stiffness.copy()
    low, high = joints.low.copy(), joints.high.copy()
    zero = np.tile(NOT_TURNED, (len(low), 1))
    for row, joint in by_row.items():
        bone = int(plan.written[row])
        _check_ranges(joint, plan.skeleton.names[bone])
        is_locked[row] = np.logical_not(FREE[joint.kind])
        low[row], high[row] = joint.low, joint.high
        stiffness[row] = np.minimum(joint.stiffness, MAX_STIFFNESS)
        if joint.relative_to is not RelativeTo.REST:
            zero[row] = _straight_on(plan.skeleton, bone)
    is_rest = bool((zero == NOT_TURNED).all())
    return BoneJoints(is_locked, low, high, stiffness, None if is_rest else zero)


def _find_rows(plan: ChainPlan, spec: ChainSpec) -> dict[int, JointSpec]:
    """Return the joints of a chain by the row of the written bone that they limit.

    Joints of existing bones outside the chain wait there until the chain is longer again.
    """
    rows = {bone: row for row, bone in enumerate(plan.written.tolist())}
    by_row: dict[int, JointSpec] = {}
    for joint in spec.joints:
        row = rows.get(_bone_of(joint, plan.skeleton))
        if row is None:
            continue
        if joint.relative_to is RelativeTo.CHILD:
            row = row + 1 if row < plan.tip_row else len(rows)
        if row == len(rows):
            raise RigError(
                "Bone '{bone}' is the last of the chain and has no child in it to limit: set Angles"
                " From to Rest Pose or Parent Bone in its joint.",
                bone=joint.bone,
            )
        if row in by_row:
            name = plan.skeleton.names[plan.written[row]]
            raise RigError(
                "Two joints of this chain limit bone '{name}' (joints of this bone or of its"
                " parent): remove one of them.",
                name=name,
            )
        by_row[row] = joint
    return by_row


def _bone_of(joint: JointSpec, skeleton: Skeleton) -> int:
    if not joint.bone:
        raise RigError("A joint of this chain has no bone: choose its bone or remove it.")
    bone = skeleton.index.get(joint.bone)
    if bone is None:
        raise RigError(
            "A joint of this chain uses bone '{bone}', which no longer exists: choose the joint's"
            " bone again or remove the joint.",
            bone=joint.bone,
        )
    return bone


def _check_ranges(joint: JointSpec, name: str) -> None:
    ranges = zip((*joint.low, joint.slide[0]), (*joint.high, joint.slide[1]), strict=True)
    for axis, (least, greatest) in zip(("X", "Y", "Z", Message("slide")), ranges, strict=True):
        if least > greatest:
            raise RigError(
                "Bone '{name}' has a joint whose {axis} range has a minimum greater than its"
                " maximum: swap or correct the two values.",
                name=name,
                axis=axis,
            )


def _check_slides(slides: Array, plan: ChainPlan, spec: ChainSpec) -> None:
    name = plan.skeleton.names[plan.written[np.flatnonzero(slides.any(axis=1))[0]]]
    if spec.use_stretch:
        raise RigError(
            "Bone '{name}' slides in a chain that stretches, and a chain cannot do both: switch"
            " Stretch off, or switch Slide off in the bone's joint.",
            name=name,
        )
    if slides[len(plan.segments) :].any():
        raise RigError(
            "Bone '{names}' cannot slide, because its head is the point that reaches the target:"
            " switch Slide off in its joint, or switch Use Tail on.",
            names=plan.skeleton.names[plan.tip],
        )


def _straight_on(skeleton: Skeleton, bone: int) -> Array:
    """Return the shortest local rotation wxyz that lays a bone along its parent."""
    name = skeleton.names[bone]
    refuse_first(
        {
            "Bone '{name}' has no parent to measure from: set Angles From to Rest Pose in its"
            " joint.": skeleton.parents[bone] < 0,
            "Bone '{name}' does not inherit its parent's rotation: set Angles From to Rest Pose in"
            " its joint.": not skeleton.frames.use_inherit_rotation[bone],
        },
        name=name,
    )
    # The parent's Y axis in the bone's rest frame.
    along = skeleton.offsets[bone][1, :3]
    return rotation.between(Y_AXIS, along / np.linalg.norm(along))
