"""Quaternions ``wxyz``: tuples of four numbers; unit ones are rotations."""

from __future__ import annotations

import math

from .arithmetic import Arithmetic, Number
from .matrices import Matrix, orient
from .vectors import Vector, choose, cross, dot, norm, perpendicular, reject, scale, unit

Quaternion = tuple[Number, Number, Number, Number]

IDENTITY: Quaternion = (1.0, 0.0, 0.0, 0.0)
# The units: every product is a sum of products of these.
BASIS = IDENTITY, (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)
# Up to this value of one plus the cosine of two vectors, their common axis is inaccurate.
NEARLY_OPPOSITE = 1e-3
# With a smaller cosine of half its angle, a rotation is a half turn as far as float32 can tell.
HALF_TURN_COSINE = 1e-5
# No axis that people choose is perpendicular to this direction.
HALF_TURN_DIRECTION = 1.0, 0.73, 0.41


def multiply(outer: Quaternion, inner: Quaternion) -> Quaternion:
    """Return the quaternion that rotates by ``inner`` first, then by ``outer``."""
    a, b, c, d = outer
    w, x, y, z = inner
    return (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )


def conjugate(q: Quaternion) -> Quaternion:
    """Return the inverse of a unit quaternion."""
    return q[0], -q[1], -q[2], -q[3]


def normalize(m: Arithmetic, q: Quaternion) -> Quaternion:
    """Return a quaternion at unit length."""
    w, x, y, z = q
    share = m.divide(1.0, m.sqrt(w * w + x * x + y * y + z * z))
    return w * share, x * share, y * share, z * share


def rotate(q: Quaternion, v: Vector) -> Vector:
    """Rotate a vector by a unit quaternion."""
    w, x, y, z = q
    a, b, c = v
    i, j, k = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a + w * i + y * k - z * j, b + w * j + z * i - x * k, c + w * k + x * j - y * i


def unrotate(q: Quaternion, v: Vector) -> Vector:
    """Rotate a vector by the inverse of a unit quaternion."""
    w, x, y, z = q
    a, b, c = v
    i, j, k = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return a - w * i + y * k - z * j, b - w * j + z * i - x * k, c - w * k + x * j - y * i


def between(
    m: Arithmetic, source: Vector, target: Vector, half_turn_axis: Vector | None = None
) -> Quaternion:
    """Return the shortest rotation between two vectors, as ``swing``, at unit length."""
    return normalize(m, swing(m, source, target, half_turn_axis))


def swing(
    m: Arithmetic, source: Vector, target: Vector, half_turn_axis: Vector | None = None
) -> Quaternion:
    """Return the shortest rotation from the direction of one vector to that of another.

    The quaternion is not of unit length. It meets the target to the last digit.

    Args:
        m: Arithmetic of the numbers.
        source: Vector of any length; zero gives the identity.
        target: Likewise.
        half_turn_axis: Axis between opposite vectors, a unit vector across the source; by default
            from the frame axis least aligned with the source.

    Source: derived for this project; tested in tests/core/algebra/test_algebra.py.
    """
    along, across = dot(source, target), cross(source, target)
    size = m.sqrt(dot(source, source) * dot(target, target))
    half = size + along
    quaternion = half, *across
    is_wide = half <= NEARLY_OPPOSITE * size
    if not m.any(is_wide):
        return quaternion
    # The common axis of nearly opposite vectors is inaccurate. A half turn about the nearest axis
    # across the source, and then the small remaining rotation, still meet the target.
    source = scale(source, m.divide(1.0, norm(m, source)))
    aside = perpendicular(m, source) if half_turn_axis is None else half_turn_axis
    axis = unit(m, reject(scale(across, m.divide(1.0, size)), source), aside)
    rest = size - along, *scale(across, -1.0)
    quaternion = choose(m, is_wide, multiply(rest, (0.0, *axis)), quaternion)
    return choose(m, size > 0.0, quaternion, IDENTITY)


def about(m: Arithmetic, axis: Vector, angle: Number) -> Quaternion:
    """Return the rotation about a unit axis by an angle in radians."""
    sine = m.sin(0.5 * angle)
    return m.cos(0.5 * angle), axis[0] * sine, axis[1] * sine, axis[2] * sine


def from_vector(m: Arithmetic, v: Vector) -> Quaternion:
    """Return the rotation about a vector by its length in radians."""
    angle = norm(m, v)
    is_turn = angle > 0.0
    share = m.where(is_turn, m.divide(m.sin(0.5 * angle), angle), 0.5)
    return m.cos(0.5 * angle), v[0] * share, v[1] * share, v[2] * share


def to_vector(m: Arithmetic, q: Quaternion) -> Vector:
    """Return the rotation vector of a rotation, the shorter way: its axis times its angle."""
    w, axis = q[0], (q[1], q[2], q[3])
    size = norm(m, axis)
    angle = 2.0 * m.atan2(size, m.absolute(w)) * m.where(w < 0.0, -1.0, 1.0)
    return scale(axis, m.divide(angle, size))


def power(m: Arithmetic, q: Quaternion, share: Number) -> Quaternion:
    """Return a share of a rotation, the shorter way.

    The two ways of a half turn are equally short. There the side of the axis along
    ``HALF_TURN_DIRECTION`` chooses, because otherwise the last digit would.
    """
    vector = to_vector(m, q)
    is_half, is_back = m.absolute(q[0]) < HALF_TURN_COSINE, dot(vector, HALF_TURN_DIRECTION) < 0.0
    other_way = scale(vector, 1.0 - 2.0 * math.pi / m.maximum(norm(m, vector), 1.0))
    return from_vector(m, scale(choose(m, is_half & is_back, other_way, vector), share))


def interpolate(m: Arithmetic, start: Quaternion, end: Quaternion, share: Number) -> Quaternion:
    """Return the rotation at a share of the short way from start to end."""
    return multiply(start, power(m, multiply(conjugate(start), end), share))


def nearest(m: Arithmetic, q: Quaternion, reference: Quaternion) -> Quaternion:
    """Return a quaternion or its negative, the same rotation, whichever is nearer."""
    w, x, y, z = q
    a, b, c, d = reference
    return choose(m, a * w + b * x + c * y + d * z < 0.0, (-w, -x, -y, -z), q)


def to_matrix(q: Quaternion) -> Matrix:
    """Return the rotation matrix of a unit quaternion."""
    w, x, y, z = q
    i, j, k = x + x, y + y, z + z
    xx, yy, zz, xy, xz, yz = x * i, y * j, z * k, x * j, x * k, y * k
    wx, wy, wz = w * i, w * j, w * k
    return (
        (1.0 - yy - zz, xy - wz, xz + wy),
        (xy + wz, 1.0 - xx - zz, yz - wx),
        (xz - wy, yz + wx, 1.0 - xx - yy),
    )


def find_products(a: Matrix) -> tuple[Quaternion, ...]:
    """Return four times the products of a matrix's quaternion with each of its components."""
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = a
    w, x, y, z = 1.0 + xx + yy + zz, 1.0 + xx - yy - zz, 1.0 - xx + yy - zz, 1.0 - xx - yy + zz
    wx, wy, wz, xy, xz, yz = zy - yz, xz - zx, yx - xy, xy + yx, xz + zx, yz + zy
    return (w, wx, wy, wz), (wx, x, xy, xz), (wy, xy, y, yz), (wz, xz, yz, z)


def from_matrix(m: Arithmetic, a: Matrix) -> Quaternion:
    """Return the unit quaternion of a rotation matrix, with w not negative.

    Source: of the four products the one with the largest component is taken, which never divides
    by less than one half (Shepperd, J. Guidance and Control 1, 1978).
    """
    best, *others = find_products(a)
    largest = best[0]
    for i, row in enumerate(others, start=1):
        best, largest = choose(m, row[i] > largest, row, best), m.maximum(largest, row[i])
    return nearest(m, normalize(m, best), IDENTITY)


def from_any_matrix(m: Arithmetic, a: Matrix) -> Quaternion:
    """Return the unit quaternion of any matrix, without scale, shear and mirror."""
    return from_matrix(m, orient(m, a))
