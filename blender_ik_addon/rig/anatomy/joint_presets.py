"""Joints by anatomy: what knees, elbows, fingers, necks and tails allow, about the axes they bend.

Sources, in degrees: American Academy of Orthopaedic Surgeons, "Joint Motion: Method of Measuring
and Recording" (1965), for the elbow (0 to 150), the forearm (80 to either side), the joints of
fingers (-45 to 90, 0 to 100, 0 to 90) and the neck (45 to all sides, a turn of 60). Kapandji, "The
Physiology of the Joints": for the knee (volume 2: 160, heel at the seat) and how far fingers spread
(volume 1: 20). No book has a range for the bones of tails: theirs is a choice.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

import numpy as np

from ...core import JointKind
from ...core.algebra.arithmetic import Array
from ...core.kinematics.bend_plane import bend_side
from ..reading.chain_plan import ChainPlan, rest_joints, rest_side
from ..reading.spec import OwnJoint
from .wider_joints import is_inside, widened

# How far the axis that a bone bends about may be off its X or Z axis, radians. Ten times larger,
# any axis would do, and a knee would bend sideways; at a third, Rigify's fingers have no axis.
MOST_OFF_AXIS = math.radians(30.0)
# The bones of a neck that its range is shared by; more are an animal's, which bends farther.
NECK_BONES = 3
FREE = math.inf


class JointPreset(enum.StrEnum):
    """What a joint is; the value is for people."""

    KNEE = "Knee"
    ELBOW = "Elbow"
    FINGER = "Finger"
    NECK = "Neck"
    TAIL = "Tail"


@dataclass(frozen=True, slots=True)
class _Bend:
    """How a bone bends at rest: about which axis of its own, to which side, how far.

    Attributes:
        axis: 0 or 2 for X or Z.
        sign: Of the turns that bend it more.
        angle: Its bend at rest, radians.
    """

    axis: int
    sign: float
    angle: float


def preset_joint(
    preset: JointPreset,
    plan: ChainPlan,
    row: int,
    local_wxyz: Array,
    angle: float = 0.0,
) -> tuple[OwnJoint, bool] | None:
    """Return the joint of a bone, counted from its rest pose, which it contains.

    Args:
        preset: What it is.
        plan: The chain of the bone.
        row: Which of the written bones of the chain it is.
        local_wxyz: Its present local rotation, which the joint contains as well, shape (4,).
        angle: As ``rest_side``, of a chain that is straight.

    Returns:
        The joint, and whether it is wider than by anatomy, to contain the present pose; None for a
        bone that bends about an axis between its X and its Z axis, which no kind has.
    """
    bone = int(plan.written[row])
    name = plan.skeleton.names[bone]
    if preset in (JointPreset.NECK, JointPreset.TAIL):
        share = min(plan.tip_row + 1, NECK_BONES)
        swing, twist = (45.0 / share, 60.0 / share) if preset is JointPreset.NECK else (30.0, 15.0)
        x, y, z = math.radians(swing), math.radians(twist), math.radians(swing)
        joint = OwnJoint(name, JointKind.BALL, (-x, -y, -z), (x, y, z), is_cone=True)
    else:
        bend = _bend_at(plan, bone, angle, is_whole=preset is JointPreset.FINGER)
        if bend is None:
            return None
        joint = _bending(preset, name, bend, row)
    if is_inside(joint, local_wxyz):
        return joint, False
    return widened(joint, local_wxyz), True


def _bending(preset: JointPreset, name: str, bend: _Bend, row: int) -> OwnJoint:
    """Return a joint that bends about one axis; the first bone of a finger spreads as well."""
    hinge, elbow = (
        (JointKind.HINGE_X, JointKind.ELBOW_X)
        if bend.axis == 0
        else (JointKind.HINGE_Z, JointKind.ELBOW_Z)
    )
    if preset is JointPreset.KNEE:
        return _ranged(name, hinge, bend, 0.0, 160.0)
    if preset is JointPreset.ELBOW:
        return _ranged(name, elbow, bend, 0.0, 150.0, {1: 80.0})
    if row == 0:
        return _ranged(name, JointKind.SWING, bend, -45.0, 90.0, {2 - bend.axis: 20.0})
    return _ranged(name, hinge, bend, 0.0, 100.0 if row == 1 else 90.0)


def _ranged(
    name: str,
    kind: JointKind,
    bend: _Bend,
    least: float,
    most: float,
    others: dict[int, float] | None = None,
) -> OwnJoint:
    """Return a joint with its bend from straight and, to either side, other turns, in degrees."""
    low, high = [-FREE] * 3, [FREE] * 3
    ends = [bend.sign * (math.radians(end) - bend.angle) for end in (least, most)]
    # Rest stays inside.
    low[bend.axis], high[bend.axis] = min(0.0, *ends), max(0.0, *ends)
    for axis, angle in (others or {}).items():
        low[axis], high[axis] = -math.radians(angle), math.radians(angle)
    return OwnJoint(name, kind, (low[0], low[1], low[2]), (high[0], high[1], high[2]))


def _bend_at(plan: ChainPlan, bone: int, angle: float, *, is_whole: bool) -> _Bend | None:
    """Return how a bone bends at rest.

    To the side of its own bend, to that of the whole chain where it has none or this is asked for,
    or, where all is straight, to the side that live chains bend to.
    """
    skeleton = plan.skeleton
    rest, parent = skeleton.rest[bone, :3], int(skeleton.parents[bone])
    head, along = rest[:, 3], rest[:, 1]
    above = head - skeleton.rest[parent, :3, 3] if parent >= 0 else along
    own = np.array([head - above, head, head + along * skeleton.lengths[bone]])
    chain = rest_joints(plan)
    sides = [(own, bend_side(own)), (chain, bend_side(chain))]
    joints, side = next(
        (
            (joints, side)
            for joints, side in (sides[::-1] if is_whole else sides)
            if side is not None
        ),
        (chain, skeleton.rest[plan.root, :3, :3] @ rest_side(plan, angle)[0]),
    )
    normal = np.cross(side, joints[-1] - joints[0])
    x, _, z = rest[:, :3].T @ normal
    axis, (most, other) = (0, (x, z)) if abs(x) >= abs(z) else (2, (z, x))
    if abs(other) > math.tan(MOST_OFF_AXIS) * abs(most) or most == 0.0:
        return None
    sign = math.copysign(1.0, most)
    turned = sign * rest[:, axis]
    angle = math.atan2(float(np.cross(above, along) @ turned), float(above @ along))
    return _Bend(axis, sign, angle)
