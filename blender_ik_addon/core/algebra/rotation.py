"""Rotations in rows, as records and rigs keep them: quaternions (..., 4), matrices (..., 3, 3).

What is computed stands in ``quaternions`` and ``angles``, which take tuples of numbers: here the
last axis becomes such a tuple and the result an array again.
"""

from __future__ import annotations

import numpy as np

from . import angles, quaternions, vectors
from .angles import EULER_ORDERS as EULER_ORDERS
from .arithmetic import ARRAYS, Array, Number
from .nested import Nested
from .quaternions import AXES

# What turns a unit quaternion p into the matrix of q -> p^-1 q, row by row.
PRODUCTS_AFTER_INVERSE = np.array(
    [
        np.column_stack([quaternions.multiply(quaternions.conjugate(p), q) for q in AXES]).ravel()
        for p in AXES
    ]
)


def _split(rows: Array) -> Nested:
    return tuple(rows[..., i] for i in range(rows.shape[-1]))


def _split_matrix(matrix: Array) -> Nested:
    return tuple(_split(matrix[..., i, :]) for i in range(3))


def _join(numbers: tuple[Number, ...]) -> Array:
    """Return numbers of shape (...) as rows (..., k), each component contiguous in memory."""
    rows = np.array(numbers)
    shuffled: Array = rows.transpose((*range(1, rows.ndim), 0))
    return shuffled


def multiply(outer: Array, inner: Array) -> Array:
    """Return the quaternions (..., 4) that rotate by ``inner`` first, then by ``outer``."""
    return _join(quaternions.multiply(_split(outer), _split(inner)))


def conjugate(quaternion: Array) -> Array:
    """Return the inverses of unit quaternions (..., 4)."""
    return _join(quaternions.conjugate(_split(quaternion)))


def turn_beyond(parent: Array, turn: Array) -> Array:
    """Return turns (b, n, 4) seen from those of parents: inverse unit quaternions times turns."""
    matrices = (parent @ PRODUCTS_AFTER_INVERSE).reshape(*turn.shape, 4)
    beyond: Array = (matrices @ turn[..., None])[..., 0]
    return beyond


def normalize(quaternion: Array) -> Array:
    """Return quaternions (..., 4) at unit length."""
    return _join(quaternions.normalize(ARRAYS, _split(quaternion)))


def rotate(quaternion: Array, vector: Array) -> Array:
    """Rotate vectors (..., 3) by unit quaternions (..., 4)."""
    return _join(quaternions.rotate(_split(quaternion), _split(vector)))


def cross(a: Array, b: Array) -> Array:
    """Return the vector products of vectors (..., 3); sooner than NumPy's, which moves axes."""
    return _join(vectors.cross(_split(a), _split(b)))


def power(quaternion: Array, share: float | Array) -> Array:
    """Return shares of rotations: unit quaternions (..., 4) turned ``share`` of the short way."""
    return _join(quaternions.power(ARRAYS, _split(quaternion), share))


def between(source: Array, target: Array, half_turn_axis: Array | None = None) -> Array:
    """Return the shortest rotations (..., 4) from unit vectors (..., 3) to unit vectors.

    Opposite vectors turn about ``half_turn_axis`` (unit, across ``source``), by default about an
    axis built from the frame axis least aligned with ``source``.
    """
    axis = None if half_turn_axis is None else _split(half_turn_axis)
    return _join(quaternions.between(ARRAYS, _split(source), _split(target), axis))


def nearest_quaternion(quaternion: Array, reference: Array) -> Array:
    """Return each quaternion or its negative (the same rotation), whichever is nearer."""
    along = (quaternion * reference).sum(axis=-1)
    return quaternion * np.where(along < 0.0, -1.0, 1.0)[..., None]


def matrix_from_quaternion(quaternion: Array) -> Array:
    """Return the rotation matrices (..., 3, 3) of unit quaternions (..., 4)."""
    rows = quaternions.to_matrix(_split(quaternion))
    return np.stack([_join(row) for row in rows], axis=-2)


def quaternion_from_matrix(matrix: Array) -> Array:
    """Return unit quaternions (..., 4) of rotation matrices (..., 3, 3), with w not negative."""
    return _join(quaternions.from_matrix(ARRAYS, _split_matrix(matrix)))


def matrix_from_euler(euler: Array, order: str) -> Array:
    """Return the rotation matrices (..., 3, 3) of angles (..., 3) in radians."""
    return matrix_from_quaternion(_join(angles.from_euler(ARRAYS, _split(euler), order)))


def euler_from_matrix(matrix: Array, order: str, reference: Array) -> Array:
    """Return the angles of rotation matrices that lie nearest to reference angles.

    Args:
        matrix: Shape (..., 3, 3).
        order: One of ``EULER_ORDERS``.
        reference: Shape (..., 3), radians.

    Returns:
        Shape (..., 3), radians, stored as (x, y, z).
    """
    return _join(angles.to_euler(ARRAYS, _split_matrix(matrix), order, _split(reference)))


def quaternion_from_axis_angle(axis_angle: Array) -> Array:
    """Return unit quaternions of rows (angle, x, y, z), shape (..., 4); zero axes give none."""
    axis = _split(axis_angle[..., 1:])
    return _join(angles.from_axis_angle(ARRAYS, axis_angle[..., 0], axis))


def axis_angle_from_quaternion(quaternion: Array, reference: Array) -> Array:
    """Return rows (angle, x, y, z) of unit quaternions (..., 4) that lie near reference rows."""
    near_angle, near_axis = reference[..., 0], _split(reference[..., 1:])
    angle, axis = angles.to_axis_angle(ARRAYS, _split(quaternion), near_angle, near_axis)
    return _join((angle, *axis))
