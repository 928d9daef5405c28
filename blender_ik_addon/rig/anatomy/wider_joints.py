"""Joints made wide enough for a pose: of the same kind where that can hold it, otherwise balls."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ...core import JointKind
from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ...core.kinematics.joint_limits import (
    ELBOWS,
    HINGES,
    clamp_rotations,
    compile_ranges,
    decompose_turns,
    lock_axes,
)
from ..reading.spec import OwnJoint

# A pose that is farther outside of a range than this, radians, would be seen to move; the turns of
# posed bones are off by a tenth of it in float32.
OUTSIDE = 1e-6
# Room that a wider range has beyond the pose, radians. Without any, float32 puts the pose outside.
ROOM = 1e-3
ENDLESS = np.full((3, 1), np.inf)


def is_inside(joint: OwnJoint, turn_wxyz: Array) -> bool:
    """Return whether a joint allows a turn, shape (4,)."""
    held = _clamped(joint.kind, turn_wxyz, np.array(joint.low), np.array(joint.high))
    off = rotation.multiply(rotation.conjugate(held), turn_wxyz)
    return 2.0 * float(np.linalg.norm(off[1:])) <= OUTSIDE


def widened(joint: OwnJoint, turn_wxyz: Array) -> OwnJoint:
    """Return a joint with ranges that hold a turn as well, shape (4,)."""
    if joint.is_cone:
        swing, twist = _swing_and_twist(turn_wxyz)
        angle = 2.0 * math.asin(min(1.0, float(np.linalg.norm(swing))))
        cone = min(math.pi, max(joint.high[0], angle + ROOM))
        twist = max(joint.high[1], abs(twist) + ROOM)
        return replace(joint, low=(-cone, -twist, -cone), high=(cone, twist, cone))
    if joint.kind in HINGES or joint.kind in ELBOWS:
        free = _clamped(joint.kind, turn_wxyz, -ENDLESS[:, 0], ENDLESS[:, 0])
        # A bend after a twist is the product of both: its cosines cancel in these shares.
        angles = 2.0 * np.arctan2(free[1:], free[0])
        grown = _grown(joint, np.array(joint.low), np.array(joint.high), angles)
        if is_inside(grown, turn_wxyz):
            return grown
    return _ball(joint, turn_wxyz)


def _ball(joint: OwnJoint, turn_wxyz: Array) -> OwnJoint:
    """Return a ball with the ranges of a joint, as much wider as a turn needs."""
    (x, z), twist = _swing_and_twist(turn_wxyz)
    swing = np.array([x, 0.0, z])
    ends = (np.array(each)[:, None] for each in (joint.low, joint.high))
    low, high = (each[:, 0] for each in lock_axes(joint.kind, *ends))
    first, second = (0, 2) if abs(x) >= abs(z) else (2, 0)
    # An ellipse bounds swings: with room to spare about one axis, the other one needs less.
    wanted = np.zeros(3)
    wanted[first] = min(1.0, math.sqrt(2.0) * abs(swing[first]))
    end = high[first] if swing[first] >= 0.0 else -low[first]
    reach = max(wanted[first], math.sin(0.5 * min(end, math.pi)), 1e-12)
    left = math.sqrt(max(0.0, 1.0 - (swing[first] / reach) ** 2))
    wanted[second] = min(1.0, abs(swing[second]) / max(left, 1e-12))
    angles = 2.0 * np.arcsin(wanted) * np.sign(swing)
    angles[1] = twist
    return _grown(replace(joint, kind=JointKind.BALL), low, high, angles)


def _grown(joint: OwnJoint, low: Array, high: Array, angles: Array) -> OwnJoint:
    """Return a joint with ranges (3,) that hold angles about X, Y and Z, with some room."""
    is_turned = np.abs(angles) > 0.1 * OUTSIDE
    low = np.where(is_turned, np.minimum(low, angles - ROOM), low).tolist()
    high = np.where(is_turned, np.maximum(high, angles + ROOM), high).tolist()
    return replace(joint, low=(low[0], low[1], low[2]), high=(high[0], high[1], high[2]))


def _swing_and_twist(turn_wxyz: Array) -> tuple[Array, float]:
    """Return sin(angle / 2) of the swing about X and Z, shape (2,), and the twist in radians."""
    at = decompose_turns(compile_ranges(-ENDLESS, ENDLESS), turn_wxyz[:, None])
    return np.array([at.swing_x[0], at.swing_z[0]]), float(at.twist[0])


def _clamped(kind: JointKind, turn_wxyz: Array, low: Array, high: Array) -> Array:
    held: Array = clamp_rotations((kind,), turn_wxyz[None], low[None], high[None])[0]
    return held
