"""Rotations given by angles: Euler angles, and axis and angle.

Euler angles follow Blender's orders: in order ``XYZ`` the rotation about X is applied first, so the
matrix is Rz @ Ry @ Rx, and the angles are stored as (x, y, z) whatever the order.
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
# Nearer to a pole than this cosine of the middle angle, first and last axis are one.
GIMBAL_LOCK = 1e-7
WHOLE_TURN = 2.0 * math.pi
# A rotation by less than this sine of half its angle has no axis.
NO_AXIS = 1e-12
# The axis counts where the angle lies farther than this from whole turns, in radians.
NEAR_HALF_TURN = 2.0
# A change of axis and angle smaller by less than this, in radians, is rounding.
ALIKE = 1e-9


def wind_angle(m: Arithmetic, angle: Number, near: Number) -> Number:
    """Return an angle with the whole turns added that bring it nearest to another."""
    return angle - WHOLE_TURN * m.round((angle - near) / WHOLE_TURN)


def from_euler(m: Arithmetic, angles: Vector, order: str) -> Matrix:
    """Return the rotation matrix of angles in radians."""
    rotation = quaternions.IDENTITY
    for name in order:
        axis = "XYZ".index(name)
        turn = quaternions.about(m, matrices.IDENTITY[axis], angles[axis])
        rotation = quaternions.multiply(turn, rotation)
    return quaternions.to_matrix(rotation)


def to_euler(m: Arithmetic, a: Matrix, order: str, reference: Vector) -> Vector:
    """Return the angles of a rotation matrix that lie nearest to reference angles.

    Of the two triples of angles that make a rotation, each with whole turns added, the one with
    the least sum of changes is returned, so that curves do not flip. At gimbal lock, where first
    and last axis are one, the last angle keeps its reference value.
    """
    i, j, k = ("XYZ".index(name) for name in order)
    parity = 1.0 if (i + 1) % 3 == j else -1.0
    cosine = m.length(a[i][i], a[j][i], 0.0)
    middle = m.atan2(-parity * a[k][i], cosine)
    is_locked = cosine < GIMBAL_LOCK
    last = m.where(is_locked, reference[k], m.atan2(parity * a[j][i], a[i][i]))
    # With the last rotation undone, the first angle stands alone in the matrix, locked or not.
    undo = quaternions.to_matrix(quaternions.about(m, matrices.IDENTITY[k], -last))
    row = matrices.multiply(undo, a)[j]
    first = m.atan2(-parity * row[k], row[j])
    near = reference[i], reference[j], reference[k]
    direct, other = (
        tuple(wind_angle(m, angle, at) for angle, at in zip(each, near, strict=True))
        for each in ((first, middle, last), (first + math.pi, math.pi - middle, last + math.pi))
    )
    change, other_change = (
        sum(m.absolute(angle - at) for angle, at in zip(each, near, strict=True))
        for each in (direct, other)
    )
    is_other = (other_change < change) & m.negate(is_locked)
    found = vectors.choose(m, is_other, other, direct)
    return found[order.index("X")], found[order.index("Y")], found[order.index("Z")]


def from_axis_angle(m: Arithmetic, axis_angle: AxisAngle) -> Quaternion:
    """Return the rotation by an angle about an axis of any length; one of no length gives none."""
    angle, axis = axis_angle[0], axis_angle[1:]
    length = vectors.norm(m, axis)
    share = m.divide(m.sin(0.5 * angle), length)
    return m.where(length > 0.0, m.cos(0.5 * angle), 1.0), *vectors.scale(axis, share)


def to_axis_angle(m: Arithmetic, q: Quaternion, near: AxisAngle) -> AxisAngle:
    """Return the angle and the axis of a rotation that lie nearest to others.

    A rotation has two pairs, with axis and angle or both reversed, and each may have whole turns
    added. The one with the least change of the angle is returned; a tie goes to the positive
    angle. Beside a half turn, where the two have nearly the same angle, the axis counts as well.
    No rotation keeps the axis.
    """
    w, x, y, z = quaternions.nearest(m, q, quaternions.IDENTITY)
    sine = m.length(x, y, z)
    is_none = sine < NO_AXIS
    axis = vectors.choose(m, is_none, near[1:], vectors.scale((x, y, z), m.divide(1.0, sine)))
    angle = m.where(is_none, 0.0, 2.0 * m.atan2(sine, w))
    is_far = m.absolute(wind_angle(m, near[0], 0.0)) > NEAR_HALF_TURN
    plain = wind_angle(m, angle, near[0]), *axis
    back = wind_angle(m, -angle, near[0]), *vectors.scale(axis, -1.0)
    change, back_change = (
        m.absolute(each[0] - near[0])
        + m.where(is_far, vectors.norm(m, vectors.subtract(each[1:], near[1:])), 0.0)
        for each in (plain, back)
    )
    is_back = (back_change < change - ALIKE) & m.negate(is_none)
    return vectors.choose(m, is_back, back, plain)
