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


def from_euler(m: Arithmetic, angles: Vector, order: str) -> Quaternion:
    """Return the rotation of angles in radians."""
    rotation = quaternions.IDENTITY
    for name in order:
        axis = "XYZ".index(name)
        turn = quaternions.about(m, matrices.IDENTITY[axis], angles[axis])
        rotation = quaternions.multiply(turn, rotation)
    return rotation


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
    direct = {i: first, j: middle, k: last}
    other = {i: first + math.pi, j: math.pi - middle, k: last + math.pi}
    direct, other = (
        {axis: wind_angle(m, angle, reference[axis]) for axis, angle in each.items()}
        for each in (direct, other)
    )
    change, other_change = (
        sum(m.absolute(angle - reference[axis]) for axis, angle in each.items())
        for each in (direct, other)
    )
    is_other = (other_change < change) & m.negate(is_locked)
    x, y, z = (m.where(is_other, other[axis], direct[axis]) for axis in range(3))
    return x, y, z


def from_axis_angle(m: Arithmetic, angle: Number, axis: Vector) -> Quaternion:
    """Return the rotation about an axis of any length; an axis of no length gives none."""
    length = vectors.norm(m, axis)
    unit = vectors.scale(axis, m.divide(1.0, length))
    return quaternions.about(m, unit, m.where(length > 0.0, angle, 0.0))


def to_axis_angle(
    m: Arithmetic, q: Quaternion, near_angle: Number, near_axis: Vector
) -> tuple[Number, Vector]:
    """Return the angle and the axis of a rotation that lie nearest to others.

    A rotation has two pairs, with axis and angle or both reversed, and each may have whole turns
    added. The one with the least change of the angle is returned; a tie goes to the positive
    angle. Beside a half turn, where the two have nearly the same angle, the axis counts as well.
    No rotation keeps the axis.
    """
    w, x, y, z = quaternions.nearest(m, q, quaternions.IDENTITY)
    sine = m.length(x, y, z)
    is_none = sine < NO_AXIS
    share = m.divide(1.0, sine)
    axis = vectors.choose(m, is_none, near_axis, (x * share, y * share, z * share))
    angle = m.where(is_none, 0.0, 2.0 * m.atan2(sine, w))
    is_far = m.absolute(wind_angle(m, near_angle, 0.0)) > NEAR_HALF_TURN
    plain, back = wind_angle(m, angle, near_angle), wind_angle(m, -angle, near_angle)
    opposite = vectors.scale(axis, -1.0)
    change, back_change = (
        m.absolute(each - near_angle)
        + m.where(is_far, vectors.norm(m, vectors.subtract(way, near_axis)), 0.0)
        for each, way in ((plain, axis), (back, opposite))
    )
    is_back = (back_change < change - ALIKE) & m.negate(is_none)
    return m.where(is_back, back, plain), vectors.choose(m, is_back, opposite, axis)
