"""Vectors and matrices of many joints and chains in arrays.

Layout of every array in the solvers: ``(joints or segments, xyz, chains)``. The last axis is
contiguous, so one NumPy call works on all chains. The xyz axis is always the last but one, so the
same functions take a single joint ``points[i]`` of shape (3, chains).

Sums over components are one NumPy call here; other formulas are in ``vectors``.
"""

from __future__ import annotations

import numpy as np

from . import vectors
from .arithmetic import Array
from .nested import in_columns
from .vectors import MIN_LENGTH as MIN_LENGTH

unit = in_columns(vectors.unit)
reject = in_columns(vectors.reject)

_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


def cross(a: Array, b: Array) -> Array:
    """Return the vector products of vectors (..., 3, B)."""
    product: Array = a.take(_NEXT, axis=-2) * b.take(_AFTER, axis=-2)
    product -= a.take(_AFTER, axis=-2) * b.take(_NEXT, axis=-2)
    return product


def dot(a: Array, b: Array) -> Array:
    """Return the scalar products of vectors (..., 3, B), shape (..., B)."""
    product: Array = np.einsum("...ib,...ib->...b", a, b)
    return product


def norm(a: Array) -> Array:
    """Return the lengths of vectors (..., 3, B), shape (..., B)."""
    length: Array = np.sqrt(dot(a, a))
    return length


def rotate(rotation: Array, vectors: Array) -> Array:
    """Apply rotations (3, 3, B) to vectors (..., 3, B)."""
    rotated: Array = np.einsum("ijb,...jb->...ib", rotation, vectors)
    return rotated


def compose(outer: Array, inner: Array) -> Array:
    """Return the matrices (..., 3, 3, B) that apply ``inner`` first, then ``outer``."""
    product: Array = np.einsum("...ijb,...jkb->...ikb", outer, inner)
    return product


def invert(matrix: Array) -> Array:
    """Return the inverses of matrices (..., 3, 3, B)."""
    columns = cross(matrix.take(_NEXT, axis=-3), matrix.take(_AFTER, axis=-3))
    determinant = dot(matrix[..., 0, :, :], columns[..., 0, :, :])
    inverse: Array = np.divide(columns.swapaxes(-3, -2), determinant[..., None, None, :], order="C")
    return inverse


def sum_segments(segments: Array) -> Array:
    """Return the joints (n + 1, 3, B) of segments (n, 3, B), end to end from the origin."""
    joints = np.empty((len(segments) + 1, *segments.shape[1:]))
    joints[0] = 0.0
    np.cumsum(segments, axis=0, out=joints[1:])
    return joints
