"""Rotations as angles: Euler angles, and axis and angle.

Euler angles follow Blender's orders: in order ``XYZ`` the rotation about X is applied first, so the
matrix is Rz @ Ry @ Rx. The angles are stored as (x, y, z) in every order.
"""

from __future__ import annotations

import math

from . import matrices, quaternions, vectors
from .arithmetic import Arithmetic, Number
from .matrices import Matrix
from .quaternions import Quaternion
from .vectors import Vector

AxisAngle = tuple[Number, Number, Number, Number]
"""An angle in radians, and the axis."""
EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
# Below this cosine of the middle angle (gimbal lock), the first and the last axis are one.
MIN_GIMBAL_COSINE = 1e-7
FULL_TURN = 2.0 * math.pi
# Below this sine of half its angle, a rotation has no axis.
MIN_AXIS_SINE = 1e-12
# Beyond this distance of the angle from full turns, in radians, a change of the axis counts.
AXIS_COUNTS_BEYOND = 2.0
# A smaller difference between two changes of axis and angle, in radians, is rounding.
MIN_DIFFERENCE = 1e-9


def wind_angle(m: Arithmetic, angle: Number, near: Number) -> Number:
    """Return an angle plus the full turns that bring it nearest to another, in radians."""
    return angle - FULL_TURN * m.round((angle - near) / FULL_TURN)


def from_euler(m: Arithmetic, angles: Vector, order: str) -> Matrix:
    """Return the rotation matrix of angles in radians."""
    rotation = quaternions.IDENTITY
    for name in order:
        axis = "XYZ".index(name)
        turn = quaternions.about(m, matrices.IDENTITY[axis], angles[axis])
        rotation = quaternions.multiply(turn, rotation)
    return quaternions.to_matrix(rotation)


def to_euler(m: Arithmetic, a: Matrix, order: str, reference: Vector) -> Vector:
    """Return the angles of a rotation matrix that are nearest to reference angles.

    Two triples of angles describe a rotation, each with any full turns. The one with the smaller
    sum of changes is returned, so that curves do not flip. At gimbal lock, where the first and the
    last axis are one, the last angle keeps its reference value.
    """
    i, j, k = ("XYZ".index(name) for name in order)
    parity = 1.0 if (i + 1) % 3 == j else -1.0
    cosine = m.length(a[i][i], a[j][i], 0.0)
    middle = m.atan2(-parity * a[k][i], cosine)
    is_locked = cosine < MIN_GIMBAL_COSINE
    last = m.where(is_locked, reference[k], m.atan2(parity * a[j][i], a[i][i]))
    # With the last rotation undone, this row depends on the first angle alone, locked or not.
    undo = quaternions.to_matrix(quaternions.about(m, matrices.IDENTITY[k], -last))
    row = matrices.multiply(undo, a)[j]
    first = m.atan2(-parity * row[k], row[j])
    old = reference[i], reference[j], reference[k]
    direct, other = (
        tuple(wind_angle(m, angle, at) for angle, at in zip(triple, old, strict=True))
        for triple in ((first, middle, last), (first + math.pi, math.pi - middle, last + math.pi))
    )
    change, other_change = (
        sum(m.absolute(angle - at) for angle, at in zip(triple, old, strict=True))
        for triple in (direct, other)
    )
    is_other = (other_change < change) & m.negate(is_locked)
    angles = vectors.choose(m, is_other, other, direct)
    return angles[order.index("X")], angles[order.index("Y")], angles[order.index("Z")]


def from_axis_angle(m: Arithmetic, axis_angle: AxisAngle) -> Quaternion:
    """Return the rotation about an axis of any length; a zero axis gives the identity."""
    angle, axis = axis_angle[0], axis_angle[1:]
    length = vectors.norm(m, axis)
    share = m.divide(m.sin(0.5 * angle), length)
    return m.where(length > 0.0, m.cos(0.5 * angle), 1.0), *vectors.scale(axis, share)


def to_axis_angle(m: Arithmetic, q: Quaternion, reference: AxisAngle) -> AxisAngle:
    """Return the angle and the axis of a rotation that are nearest to a reference.

    Two pairs describe a rotation: the second has the first one's axis and angle reversed. Each may
    have full turns added. The pair with the smaller change of the angle is returned; a tie goes to
    the positive angle. Near a half turn, where both have nearly the same angle, the axis counts as
    well. The identity keeps the reference axis.
    """
    w, x, y, z = quaternions.nearest(m, q, quaternions.IDENTITY)
    sine = m.length(x, y, z)
    is_none = sine < MIN_AXIS_SINE
    axis = vectors.choose(m, is_none, reference[1:], vectors.scale((x, y, z), m.divide(1.0, sine)))
    angle = m.where(is_none, 0.0, 2.0 * m.atan2(sine, w))
    is_far = m.absolute(wind_angle(m, reference[0], 0.0)) > AXIS_COUNTS_BEYOND
    direct = wind_angle(m, angle, reference[0]), *axis
    other = wind_angle(m, -angle, reference[0]), *vectors.scale(axis, -1.0)
    change, other_change = (
        m.absolute(pair[0] - reference[0])
        + m.where(is_far, vectors.norm(m, vectors.subtract(pair[1:], reference[1:])), 0.0)
        for pair in (direct, other)
    )
    is_other = (other_change < change - MIN_DIFFERENCE) & m.negate(is_none)
    return vectors.choose(m, is_other, other, direct)
