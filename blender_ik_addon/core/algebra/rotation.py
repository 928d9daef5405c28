"""Rotations and vectors as records and rigs hold them: (..., 4), (..., 3, 3) and (..., 3).

The formulas, and their documentation, are in ``quaternions``, ``angles`` and ``vectors``. Here the
last axis of an array becomes a tuple of numbers, and the result becomes an array again.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from . import angles, matrices, quaternions, vectors
from .angles import EULER_ORDERS as EULER_ORDERS
from .arithmetic import ARRAYS, Array
from .nested import Nested, lift


def _split(rows: Nested) -> Nested:
    if not isinstance(rows, np.ndarray):
        return rows
    return tuple([rows[..., i] for i in range(rows.shape[-1])])


def _split_matrix(matrix: Array) -> Nested:
    return tuple([_split(matrix[..., i, :]) for i in range(3)])


def _join(numbers: Nested) -> Array:
    """Return numbers of shape (...) as rows (..., k), each component contiguous in memory."""
    columns = np.array(numbers)
    rows: Array = columns.transpose((*range(1, columns.ndim), 0))
    return rows


def _join_matrix(numbers: Nested) -> Array:
    return np.stack([_join(row) for row in numbers], axis=-2)


# Sine of half the angle, below which a rotation of float32 channels has no axis. If ten times
# smaller, rounding at rest would give one; if ten times larger, lost angles would exceed rounding.
MIN_AXIS_SINE_OF_CHANNELS = 1e-6

_in_rows = partial(lift, split=_split, join=_join)
multiply = _in_rows(quaternions.multiply)
conjugate = _in_rows(quaternions.conjugate)
normalize = _in_rows(quaternions.normalize)
rotate = _in_rows(quaternions.rotate)
between = _in_rows(quaternions.between)
matrix_from_quaternion = _in_rows(quaternions.to_matrix, join=_join_matrix)
quaternion_from_matrix = _in_rows(quaternions.from_matrix, split_first=_split_matrix)
quaternion_from_any_matrix = _in_rows(quaternions.from_any_matrix, split_first=_split_matrix)
orientation = _in_rows(matrices.orient, split_first=_split_matrix, join=_join_matrix)
matrix_from_euler = _in_rows(angles.from_euler, join=_join_matrix)
euler_from_matrix = _in_rows(angles.to_euler, split_first=_split_matrix)
quaternion_from_axis_angle = _in_rows(angles.from_axis_angle)
axis_angle_from_quaternion = _in_rows(angles.to_axis_angle)
quaternion_from_vector = _in_rows(quaternions.from_vector)
vector_from_quaternion = _in_rows(quaternions.to_vector)
# Faster than NumPy's, which moves axes.
cross = _in_rows(vectors.cross)


def power(quaternion: Array, share: float | Array) -> Array:
    """Return shares of rotations (..., 4), the short way; one share for all, or shape (...)."""
    return _join(quaternions.power(ARRAYS, _split(quaternion), share))


def interpolate(start: Array, end: Array, share: float | Array) -> Array:
    """Return rotations (..., 4) at a share of the short way, one for all or of shape (...)."""
    if isinstance(share, float) and share == 1.0:
        return end
    return _join(quaternions.interpolate(ARRAYS, _split(start), _split(end), share))


def nearest_quaternion(quaternion: Array, reference: Array) -> Array:
    """Return each quaternion or its negative (the same rotation), whichever is nearer."""
    along = (quaternion * reference).sum(axis=-1)
    return quaternion * np.where(along < 0.0, -1.0, 1.0)[..., None]


def without_flips(quaternions: Array) -> Array:
    """Return quaternions (F, 4) of frames, each with the sign nearer to the frame before."""
    return quaternions * _signs(quaternions)


def without_axis_flips(angle_axes: Array) -> Array:
    """Return angles and axes (F, 4) of frames, each axis on the side of the one before.

    The angles have no jumps by full turns. A rotation without an axis takes that of the frame
    before, at the start the first one.
    """
    axes = angle_axes[:, 1:]
    sines = np.sin(0.5 * angle_axes[:, 0]) * np.linalg.norm(axes, axis=1)
    has_axis = np.abs(sines) > MIN_AXIS_SINE_OF_CHANNELS
    first, indices = np.argmax(has_axis), np.arange(len(axes))
    axes = axes[np.maximum.accumulate(np.where(has_axis, indices, first))]
    signs = _signs(axes)
    angles = np.where(has_axis, angle_axes[:, 0], 0.0)[:, None] * signs
    return np.hstack((np.unwrap(angles, axis=0), axes * signs))


def _signs(vectors: Array) -> Array:
    """Return the signs (F, 1) by which no vector (F, k) points against the one before."""
    is_opposite = (vectors[1:] * vectors[:-1]).sum(axis=1) < 0.0
    signs: Array = np.cumprod(np.append(1.0, np.where(is_opposite, -1.0, 1.0)))[:, None]
    return signs


def length(vectors: Array, axis: int | tuple[int, int] = -1) -> Array:
    """Return lengths along axes, which stay as axes of size one; faster than NumPy's own."""
    lengths: Array = np.sqrt((vectors * vectors).sum(axis=axis, keepdims=True))
    return lengths


def unit(vectors: Array, axis: int = -1) -> Array:
    """Return unit vectors, zero staying zero; axis -2 takes the columns of matrices."""
    lengths = length(vectors, axis)
    return vectors / np.where(lengths > 0.0, lengths, 1.0)
