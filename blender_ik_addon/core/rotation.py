"""Rotations: quaternions ``wxyz``, matrices, Euler angles and axis-angle, vectorised.

Euler angles follow Blender's orders: in order ``XYZ`` the rotation about X is applied first, so the
matrix is Rz @ Ry @ Rx, and the angles are stored as (x, y, z) whatever the order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

EULER_ORDERS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
# Nearer to a pole than this cosine of the middle angle, first and last axis are one.
GIMBAL_LOCK = 1e-7
# Below this sine two opposite unit vectors have no common axis across them.
NO_AXIS = 1e-14


def multiply(outer: Array, inner: Array) -> Array:
    """Return the quaternions (..., 4) that rotate by ``inner`` first, then by ``outer``."""
    aw, ax, ay, az = outer[..., 0], outer[..., 1], outer[..., 2], outer[..., 3]
    bw, bx, by, bz = inner[..., 0], inner[..., 1], inner[..., 2], inner[..., 3]
    return _rows(
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def _rows(*components: Array) -> Array:
    """Return components of shape (...) as rows (..., k), each component contiguous in memory."""
    rows = np.array(components)
    shuffled: Array = rows.transpose((*range(1, rows.ndim), 0))
    return shuffled


def cross(a: Array, b: Array) -> Array:
    """Return the vector products of vectors (..., 3); sooner than NumPy's, which moves axes."""
    ax, ay, az = a[..., 0], a[..., 1], a[..., 2]
    bx, by, bz = b[..., 0], b[..., 1], b[..., 2]
    return np.stack((ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx), axis=-1)


def conjugate(quaternion: Array) -> Array:
    """Return the inverses of unit quaternions (..., 4)."""
    inverse: Array = quaternion * np.array([1.0, -1.0, -1.0, -1.0])
    return inverse


def rotate(quaternion: Array, vector: Array) -> Array:
    """Rotate vectors (..., 3) by unit quaternions (..., 4)."""
    w, x, y, z = quaternion[..., 0], quaternion[..., 1], quaternion[..., 2], quaternion[..., 3]
    vx, vy, vz = vector[..., 0], vector[..., 1], vector[..., 2]
    tx, ty, tz = 2.0 * (y * vz - z * vy), 2.0 * (z * vx - x * vz), 2.0 * (x * vy - y * vx)
    return _rows(
        vx + w * tx + y * tz - z * ty,
        vy + w * ty + z * tx - x * tz,
        vz + w * tz + x * ty - y * tx,
    )


def power(quaternion: Array, share: Array | float) -> Array:
    """Return shares of rotations: unit quaternions (..., 4) turned ``share`` of the short way."""
    shortest = np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)
    sine = np.linalg.norm(shortest[..., 1:], axis=-1, keepdims=True)
    angle = np.arctan2(sine, shortest[..., :1]) * share
    axis = shortest[..., 1:] / np.where(sine > 0.0, sine, 1.0)
    return np.concatenate((np.cos(angle), axis * np.sin(angle)), axis=-1)


def between(source: Array, target: Array, half_turn_axis: Array | None = None) -> Array:
    """Return the shortest rotations (..., 4) taking unit vectors (..., 3) to unit vectors.

    Opposite vectors turn about ``half_turn_axis`` (unit, across ``source``), by default about an
    axis built from the frame axis least aligned with ``source``.
    """
    is_obtuse = np.sum(source * target, axis=-1, keepdims=True) < 0.0
    if not is_obtuse.any():
        return _between_acute(source, target)
    # Nearly opposite vectors tell their common axis badly. A half turn about whatever axis across
    # the source lies nearest, and the small rotation that is left, still meet the target exactly.
    fallback = _any_perpendicular(source) if half_turn_axis is None else half_turn_axis
    axis = cross(source, target)
    axis = axis - source * np.sum(axis * source, axis=-1, keepdims=True)
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    axis = np.where(length > NO_AXIS, axis / np.where(length > NO_AXIS, length, 1.0), fallback)
    half_turn = np.concatenate((np.zeros_like(length), axis), axis=-1)
    remainder = _between_acute(np.where(is_obtuse, -source, source), target)
    return np.where(is_obtuse, multiply(remainder, half_turn), remainder)


def _between_acute(source: Array, target: Array) -> Array:
    # Half the length of the sum is the cosine of half the angle, at least cos 45 degrees here.
    half = 0.5 * np.linalg.norm(source + target, axis=-1, keepdims=True)
    return normalised(np.concatenate((half, cross(source, target) / (2.0 * half)), axis=-1))


def normalised(quaternion: Array) -> Array:
    """Return quaternions (..., 4) at unit length."""
    unit: Array = quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True)
    return unit


def _any_perpendicular(axis: Array) -> Array:
    least = np.argmin(np.abs(axis), axis=-1)
    side = cross(axis, np.eye(3)[least])
    perpendicular: Array = side / np.linalg.norm(side, axis=-1, keepdims=True)
    return perpendicular


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    w, x, y, z = np.moveaxis(quaternion, -1, 0)
    rows = (
        (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(matrix: Array) -> Array:
    """Return unit quaternions (..., 4) of rotation matrices (..., 3, 3), with w not negative.

    Source: the four products 4 q q_k read off the matrix; the row of the largest component is
    taken, which never divides by less than one half (Shepperd, J. Guidance and Control 1, 1978).
    """
    m = matrix
    xx, yy, zz = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    wx, wy, wz = (
        m[..., 2, 1] - m[..., 1, 2],
        m[..., 0, 2] - m[..., 2, 0],
        m[..., 1, 0] - m[..., 0, 1],
    )
    xy, xz, yz = (
        m[..., 0, 1] + m[..., 1, 0],
        m[..., 0, 2] + m[..., 2, 0],
        m[..., 1, 2] + m[..., 2, 1],
    )
    rows = np.stack(
        [
            np.stack(row, axis=-1)
            for row in (
                (1 + xx + yy + zz, wx, wy, wz),
                (wx, 1 + xx - yy - zz, xy, xz),
                (wy, xy, 1 - xx + yy - zz, yz),
                (wz, xz, yz, 1 - xx - yy + zz),
            )
        ],
        axis=-2,
    )
    largest = np.argmax(np.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    quaternion = np.take_along_axis(rows, largest[..., None, None], axis=-2)[..., 0, :]
    quaternion = normalised(quaternion)
    return np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)


def nearest_quaternion(quaternion: Array, reference: Array) -> Array:
    """Return each quaternion or its negative (the same rotation), whichever is nearer."""
    is_far = np.sum(quaternion * reference, axis=-1, keepdims=True) < 0.0
    return np.where(is_far, -quaternion, quaternion)


def matrix_from_euler(euler: Array, order: str) -> Array:
    """Return the rotation matrices (..., 3, 3) of angles (..., 3) in radians."""
    matrix: Array = np.broadcast_to(np.eye(3), (*euler.shape[:-1], 3, 3))
    for name in order:
        matrix = _about(euler[..., "XYZ".index(name)], "XYZ".index(name)) @ matrix
    return matrix


def _about(angle: Array, axis: int) -> Array:
    j, k = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.zeros((*angle.shape, 3, 3))
    matrix[..., axis, axis] = 1.0
    matrix[..., j, j] = matrix[..., k, k] = np.cos(angle)
    matrix[..., k, j] = np.sin(angle)
    matrix[..., j, k] = -np.sin(angle)
    return matrix


def euler_from_matrix(matrix: Array, order: str, reference: Array) -> Array:
    """Return the angles of rotation matrices that lie nearest to reference angles.

    Of the two triples of angles that make a rotation, each with whole turns added, the one with
    the least sum of changes is returned, so that curves do not flip. At gimbal lock, where first
    and last axis are one, the last angle keeps its reference value.

    Args:
        matrix: Shape (..., 3, 3).
        order: One of ``EULER_ORDERS``.
        reference: Shape (..., 3), radians.

    Returns:
        Shape (..., 3), radians, stored as (x, y, z).
    """
    i, j, k = ("XYZ".index(name) for name in order)
    parity = 1.0 if (i + 1) % 3 == j else -1.0
    m = matrix
    cosine = np.hypot(m[..., i, i], m[..., j, i])
    middle = np.arctan2(-parity * m[..., k, i], cosine)
    is_locked = cosine < GIMBAL_LOCK
    last = np.where(is_locked, reference[..., k], np.arctan2(parity * m[..., j, i], m[..., i, i]))
    # With the last rotation undone, the first angle stands alone in the matrix, locked or not.
    undone = np.swapaxes(_about(last, k), -1, -2) @ m
    first = np.arctan2(-parity * undone[..., j, k], undone[..., j, j])
    direct = np.empty_like(reference)
    direct[..., i], direct[..., j], direct[..., k] = first, middle, last
    other = np.empty_like(reference)
    other[..., i], other[..., j], other[..., k] = first + np.pi, np.pi - middle, last + np.pi
    direct, other = _nearest_turns(direct, reference), _nearest_turns(other, reference)
    is_other_nearer = _change(other, reference) < _change(direct, reference)
    is_other_nearer &= ~is_locked
    return np.where(is_other_nearer[..., None], other, direct)


def _nearest_turns(angle: Array, reference: Array) -> Array:
    full = 2.0 * np.pi
    nearest: Array = angle + full * np.round((reference - angle) / full)
    return nearest


def _change(angle: Array, reference: Array) -> Array:
    change: Array = np.abs(angle - reference).sum(axis=-1)
    return change


def quaternion_from_axis_angle(axis_angle: Array) -> Array:
    """Return unit quaternions of rows (angle, x, y, z), shape (..., 4); zero axes give none."""
    axis = axis_angle[..., 1:]
    length = np.linalg.norm(axis, axis=-1, keepdims=True)
    half = 0.5 * np.where(length > 0.0, axis_angle[..., :1], 0.0)
    direction = axis / np.where(length > 0.0, length, 1.0)
    return np.concatenate((np.cos(half), np.sin(half) * direction), axis=-1)


def axis_angle_from_quaternion(quaternion: Array, reference: Array) -> Array:
    """Return rows (angle, x, y, z) of rotations, near reference rows.

    A rotation has two rows, with axis and angle or both reversed, and each may have whole turns
    added. The one with the least change of the angle is returned; a tie goes to the positive
    angle. Beside a half turn, where the two have nearly the same angle, the axis counts as well.
    No rotation keeps the reference axis.

    Args:
        quaternion: Unit, shape (..., 4).
        reference: Shape (..., 4).

    Returns:
        Shape (..., 4), angle in radians.
    """
    shortest = np.where(quaternion[..., :1] < 0.0, -quaternion, quaternion)
    sine = np.linalg.norm(shortest[..., 1:], axis=-1, keepdims=True)
    is_none = sine < 1e-12
    near_angle, near_axis = reference[..., :1], reference[..., 1:]
    axis = np.where(is_none, near_axis, shortest[..., 1:] / np.where(is_none, 1.0, sine))
    angle = 2.0 * np.arctan2(np.where(is_none, 0.0, sine), shortest[..., :1])
    plain, reversed_angle = _nearest_turns(angle, near_angle), _nearest_turns(-angle, near_angle)
    is_half_turn = np.abs(near_angle - 2.0 * np.pi * np.round(near_angle / (2.0 * np.pi))) > 2.0
    cost, reversed_cost = (
        np.abs(a - near_angle)
        + is_half_turn * np.linalg.norm(v - near_axis, axis=-1, keepdims=True)
        for a, v in ((plain, axis), (reversed_angle, -axis))
    )
    is_reversed = (reversed_cost < cost - 1e-9) & ~is_none
    angle = np.where(is_reversed, reversed_angle, plain)
    axis = np.where(is_reversed, -axis, axis)
    return np.concatenate((angle, axis), axis=-1)
