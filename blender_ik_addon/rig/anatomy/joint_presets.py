"""Anatomical joints: ranges of knees, elbows, fingers, necks and tails about the axes they bend.

Sources, in degrees: American Academy of Orthopaedic Surgeons, "Joint Motion: Method of Measuring
and Recording" (1965), for the elbow (0 to 150), the forearm (80 to either side), the joints of
fingers (-45 to 90, 0 to 100, 0 to 90) and the neck (45 to all sides, a turn of 60). Kapandji, "The
Physiology of the Joints": for the knee (volume 2: 160, heel at the seat) and the spread of fingers
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
from ..reading.spec import JointSpec
from .wider_joints import is_inside, widened

# Maximum angle in radians between the bend axis of a bone and its X or Z axis. If ten times larger,
# any axis would do, and a knee would bend sideways; at a third, Rigify's fingers have no axis.
MAX_AXIS_DEVIATION = math.radians(30.0)
# Maximum number of neck bones that share its range; more are an animal's, which bends farther.
NECK_BONES = 3


class JointPreset(enum.StrEnum):
    """The kind of an anatomical joint; the value is for people."""

    KNEE = "Knee"
    ELBOW = "Elbow"
    FINGER = "Finger"
    NECK = "Neck"
    TAIL = "Tail"


@dataclass(frozen=True, slots=True)
class _Bend:
    """The bend of a bone at rest: its axis, direction and angle.

    Attributes:
        axis: Index of the bone's axis of the bend: 0 for X, 2 for Z.
        sign: Sign of the angles that increase the bend.
        angle: Angle at rest, radians.
    """

    axis: int
    sign: float
    angle: float


def preset_joint(
    preset: JointPreset, plan: ChainPlan, row: int, local_wxyz: Array, angle: float
) -> tuple[JointSpec, bool] | None:
    """Return the joint of a bone, relative to its rest pose, and whether its range is widened.

    It is widened beyond the anatomical one to contain the present local rotation, wxyz (4,).
    ``row`` is that of the bone among the written bones of the chain; ``angle`` is as for
    ``rest_side``. None for a bone with a bend axis between its X and Z axes, which no kind of joint
    has.
    """
    bone = int(plan.written[row])
    name = plan.skeleton.names[bone]
    if preset in (JointPreset.NECK, JointPreset.TAIL):
        share = min(plan.tip_row + 1, NECK_BONES)
        swing, twist = (45.0 / share, 60.0 / share) if preset is JointPreset.NECK else (30.0, 15.0)
        x, y, z = math.radians(swing), math.radians(twist), math.radians(swing)
        joint = JointSpec(name, JointKind.BALL, (-x, -y, -z), (x, y, z), is_cone=True)
    else:
        bend = _bend_at(plan, bone, angle, is_whole=preset is JointPreset.FINGER)
        if bend is None:
            return None
        joint = _bending_joint(preset, name, bend, row)
    if is_inside(joint, local_wxyz):
        return joint, False
    return widened(joint, local_wxyz), True


def _bending_joint(preset: JointPreset, name: str, bend: _Bend, row: int) -> JointSpec:
    """Return a joint that bends about one axis; the first bone of a finger also spreads."""
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
    minimum: float,
    maximum: float,
    others: dict[int, float] | None = None,
) -> JointSpec:
    """Return a joint with a range from straight, and other ranges to either side, in degrees."""
    low, high = [-math.inf] * 3, [math.inf] * 3
    ends = [bend.sign * (math.radians(end) - bend.angle) for end in (minimum, maximum)]
    # The rest pose stays within the range.
    low[bend.axis], high[bend.axis] = min(0.0, *ends), max(0.0, *ends)
    for axis, angle in (others or {}).items():
        low[axis], high[axis] = -math.radians(angle), math.radians(angle)
    return JointSpec(name, kind, (low[0], low[1], low[2]), (high[0], high[1], high[2]))


def _bend_at(plan: ChainPlan, bone: int, angle: float, *, is_whole: bool) -> _Bend | None:
    """Return the bend of a bone at rest.

    The side is that of its own bend. It is that of the whole chain if the bone has none or
    ``is_whole`` is set, and the side to which live chains bend if all is straight.
    """
    skeleton = plan.skeleton
    rest, parent = skeleton.rest[bone, :3], int(skeleton.parents[bone])
    head, y_axis = rest[:, 3], rest[:, 1]
    incoming = head - skeleton.rest[parent, :3, 3] if parent >= 0 else y_axis
    bone_joints = np.array([head - incoming, head, head + y_axis * skeleton.lengths[bone]])
    chain_joints = rest_joints(plan)
    joints, side = chain_joints, skeleton.rest[plan.root, :3, :3] @ rest_side(plan, angle)[0]
    # The last one that bends counts.
    for candidate in (bone_joints, chain_joints) if is_whole else (chain_joints, bone_joints):
        if (bend := bend_side(candidate)) is not None:
            joints, side = candidate, bend
    normal = np.cross(side, joints[-1] - joints[0])
    x, _, z = rest[:, :3].T @ normal
    axis, (main, off_axis) = (0, (x, z)) if abs(x) >= abs(z) else (2, (z, x))
    if abs(off_axis) > math.tan(MAX_AXIS_DEVIATION) * abs(main) or main == 0.0:
        return None
    sign = math.copysign(1.0, main)
    axle = sign * rest[:, axis]
    angle = math.atan2(float(np.cross(incoming, y_axis) @ axle), float(incoming @ y_axis))
    return _Bend(axis, sign, angle)
