"""Joints widened to contain a pose: of the same kind if possible, otherwise ball joints."""

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
from ..reading.spec import JointSpec

# Maximum angle in radians by which a pose may exceed a range; more would be seen to move. Float32
# rounds the rotations of posed bones by a tenth of it.
MAX_OVERSHOOT = 1e-6
# Margin of a wider range beyond the pose, in radians. Without any, rounding to float32 puts the
# pose outside.
RANGE_MARGIN = 1e-3
UNBOUNDED = np.full((3, 1), np.inf)


def is_inside(joint: JointSpec, turn_wxyz: Array) -> bool:
    """Return whether a joint allows a rotation, wxyz, shape (4,)."""
    clamped = _clamped(joint.kind, turn_wxyz, np.array(joint.low), np.array(joint.high))
    excess = rotation.multiply(rotation.conjugate(clamped), turn_wxyz)
    return 2.0 * float(np.linalg.norm(excess[1:])) <= MAX_OVERSHOOT


def widened(joint: JointSpec, turn_wxyz: Array) -> JointSpec:
    """Return a joint with ranges that also contain a rotation, wxyz, shape (4,)."""
    if joint.is_cone:
        swing, twist = _swing_and_twist(turn_wxyz)
        angle = 2.0 * math.asin(min(1.0, float(np.linalg.norm(swing))))
        cone = min(math.pi, max(joint.high[0], angle + RANGE_MARGIN))
        twist = max(joint.high[1], abs(twist) + RANGE_MARGIN)
        return replace(joint, low=(-cone, -twist, -cone), high=(cone, twist, cone))
    if joint.kind in HINGES or joint.kind in ELBOWS:
        unclamped = _clamped(joint.kind, turn_wxyz, -UNBOUNDED[:, 0], UNBOUNDED[:, 0])
        # For a bend after a twist, a product of both, the cosines cancel in these ratios.
        angles = 2.0 * np.arctan2(unclamped[1:], unclamped[0])
        wider = _widened_ranges(joint, np.array(joint.low), np.array(joint.high), angles)
        if is_inside(wider, turn_wxyz):
            return wider
    return _ball(joint, turn_wxyz)


def _ball(joint: JointSpec, turn_wxyz: Array) -> JointSpec:
    """Return a ball joint with the ranges of a joint, widened as far as a rotation needs."""
    (x, z), twist = _swing_and_twist(turn_wxyz)
    swing = np.array([x, 0.0, z])
    ends = (np.array(bounds)[:, None] for bounds in (joint.low, joint.high))
    low, high = (bounds[:, 0] for bounds in lock_axes(joint.kind, *ends))
    first, second = (0, 2) if abs(x) >= abs(z) else (2, 0)
    # An ellipse limits swings: with a margin about one axis, the other one needs less.
    half_sines = np.zeros(3)
    half_sines[first] = min(1.0, math.sqrt(2.0) * abs(swing[first]))
    end = high[first] if swing[first] >= 0.0 else -low[first]
    reach = max(half_sines[first], math.sin(0.5 * min(end, math.pi)), 1e-12)
    remaining = math.sqrt(max(0.0, 1.0 - (swing[first] / reach) ** 2))
    half_sines[second] = min(1.0, abs(swing[second]) / max(remaining, 1e-12))
    angles = 2.0 * np.arcsin(half_sines) * np.sign(swing)
    angles[1] = twist
    return _widened_ranges(replace(joint, kind=JointKind.BALL), low, high, angles)


def _widened_ranges(joint: JointSpec, low: Array, high: Array, angles: Array) -> JointSpec:
    """Return a joint with ranges (3,) that contain angles about X, Y and Z with a margin."""
    is_turned = np.abs(angles) > 0.1 * MAX_OVERSHOOT
    low = np.where(is_turned, np.minimum(low, angles - RANGE_MARGIN), low).tolist()
    high = np.where(is_turned, np.maximum(high, angles + RANGE_MARGIN), high).tolist()
    return replace(joint, low=(low[0], low[1], low[2]), high=(high[0], high[1], high[2]))


def _swing_and_twist(turn_wxyz: Array) -> tuple[Array, float]:
    """Return sin(angle / 2) of the swing about X and Z, shape (2,), and the twist in radians."""
    turns = decompose_turns(compile_ranges(-UNBOUNDED, UNBOUNDED), turn_wxyz[:, None])
    return np.array([turns.swing_x[0], turns.swing_z[0]]), float(turns.twist[0])


def _clamped(kind: JointKind, turn_wxyz: Array, low: Array, high: Array) -> Array:
    clamped: Array = clamp_rotations((kind,), turn_wxyz[None], low[None], high[None])[0]
    return clamped
