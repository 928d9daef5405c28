"""Rotations in rows, as records and rigs keep them: quaternions (..., 4), matrices (..., 3, 3).

Formulas stand in ``quaternions``, ``angles`` and ``vectors``, and say what these functions return:
here the last axis of arrays becomes a tuple of numbers, and the result an array again.
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
    rows = np.array(numbers)
    shuffled: Array = rows.transpose((*range(1, rows.ndim), 0))
    return shuffled


def _join_matrix(numbers: Nested) -> Array:
    return np.stack([_join(row) for row in numbers], axis=-2)


_in_rows = partial(lift, split=_split, join=_join)
multiply = _in_rows(quaternions.multiply)
conjugate = _in_rows(quaternions.conjugate)
normalize = _in_rows(quaternions.normalize)
rotate = _in_rows(quaternions.rotate)
between = _in_rows(quaternions.between)
matrix_from_quaternion = _in_rows(quaternions.to_matrix, join=_join_matrix)
quaternion_from_matrix = _in_rows(quaternions.from_matrix, split_first=_split_matrix)
quaternion_from_shown = _in_rows(quaternions.from_shown, split_first=_split_matrix)
orientation = _in_rows(matrices.orient, split_first=_split_matrix, join=_join_matrix)
matrix_from_euler = _in_rows(angles.from_euler, join=_join_matrix)
euler_from_matrix = _in_rows(angles.to_euler, split_first=_split_matrix)
quaternion_from_axis_angle = _in_rows(angles.from_axis_angle)
axis_angle_from_quaternion = _in_rows(angles.to_axis_angle)
quaternion_from_vector = _in_rows(quaternions.from_vector)
vector_from_quaternion = _in_rows(quaternions.to_vector)
# Sooner than NumPy's, which moves axes.
cross = _in_rows(vectors.cross)


def power(quaternion: Array, share: float | Array) -> Array:
    """Return unit quaternions (..., 4) turned shares of the short way; one for all, or (...)."""
    return _join(quaternions.power(ARRAYS, _split(quaternion), share))


def interpolate(start: Array, end: Array, share: float | Array) -> Array:
    """Return unit quaternions (..., 4) a share, one or (...), of the way from some to others."""
    if isinstance(share, float) and share == 1.0:
        return end
    return _join(quaternions.interpolate(ARRAYS, _split(start), _split(end), share))


def nearest_quaternion(quaternion: Array, reference: Array) -> Array:
    """Return each quaternion or its negative (the same rotation), whichever is nearer."""
    along = (quaternion * reference).sum(axis=-1)
    return quaternion * np.where(along < 0.0, -1.0, 1.0)[..., None]


def without_flips(quaternions: Array) -> Array:
    """Return rotations (F, 4) of frames, each the one of the two that is nearer to the last."""
    is_opposite = (quaternions[1:] * quaternions[:-1]).sum(axis=1) < 0.0
    signs = np.cumprod(np.where(is_opposite, -1.0, 1.0))
    found: Array = np.concatenate((quaternions[:1], quaternions[1:] * signs[:, None]))
    return found
