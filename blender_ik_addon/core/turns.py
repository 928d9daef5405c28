"""Quaternions ``wxyz`` of many joints and chains at once.

The layout is that of ``vectors``: (..., 4, B).
"""

from __future__ import annotations

import numpy as np

from . import vectors
from .vectors import Array

# Opposite vectors have no common axis across them below this sine.
NO_AXIS = 1e-12
# So little is nothing beside any angle, and more than nothing.
LEAST_ANGLE = 1e-300


def multiply(outer: Array, inner: Array) -> Array:
    """Return the turns (..., 4, B) that turn by ``inner`` first, then by ``outer``."""
    left = np.take(outer, _LEFT, axis=-2) * _LEFT_SIGNS
    left = left.reshape(*outer.shape[:-2], 4, 4, outer.shape[-1])
    product: Array = np.einsum("...ijb,...jb->...ib", left, inner)
    return product


# The matrix that turns by an outer quaternion as a product: its entries, row by row, and signs.
_LEFT = np.array([0, 1, 2, 3, 1, 0, 3, 2, 2, 3, 0, 1, 3, 2, 1, 0])
_LEFT_SIGNS = np.array(
    [[1], [-1], [-1], [-1], [1], [1], [-1], [1], [1], [1], [1], [-1], [1], [-1], [1], [1]],
    dtype=float,
)


def conjugate(turn: Array) -> Array:
    """Return the inverses of unit quaternions (..., 4, B)."""
    inverse = -turn
    inverse[..., 0, :] = turn[..., 0, :]
    return inverse


def normalised(turn: Array) -> Array:
    """Return quaternions (..., 4, B) at unit length."""
    size = np.sqrt(np.einsum("...ib,...ib->...b", turn, turn))
    unit: Array = turn / size[..., None, :]
    return unit


def matrices(turn: Array) -> Array:
    """Return the rotation matrices (..., 3, 3, B) of unit quaternions (..., 4, B)."""
    squares = turn[..., :, None, :] * (turn + turn)[..., None, :, :]
    squares = squares.reshape(*turn.shape[:-2], 16, turn.shape[-1])
    matrix = np.take(squares, _FIRST, axis=-2) * _FIRST_SIGNS
    matrix += np.take(squares, _SECOND, axis=-2) * _SECOND_SIGNS
    matrix += _WHOLE
    rotation: Array = matrix.reshape(*turn.shape[:-2], 3, 3, turn.shape[-1])
    return rotation


# Each entry of a rotation matrix: 1 on the diagonal, and two products of a quaternion's components.
_FIRST = np.array([10, 6, 7, 6, 5, 11, 7, 11, 5])
_SECOND = np.array([15, 3, 2, 3, 15, 1, 2, 1, 10])
_FIRST_SIGNS = np.array([-1, 1, 1, 1, -1, 1, 1, 1, -1], dtype=float)[:, None]
_SECOND_SIGNS = np.array([-1, -1, 1, 1, -1, -1, -1, 1, -1], dtype=float)[:, None]
_WHOLE = np.eye(3).reshape(9, 1)


def by_vectors(vector: Array) -> Array:
    """Return turns (..., 4, B) about vectors (..., 3, B) by their lengths in radians."""
    # Of no length sin(x / 2) / x is one half too.
    angle = vectors.norm(vector) + LEAST_ANGLE
    half = 0.5 * angle
    turn = np.empty((*angle.shape[:-1], 4, angle.shape[-1]))
    turn[..., 0, :] = np.cos(half)
    np.multiply(vector, (np.sin(half) / angle)[..., None, :], out=turn[..., 1:, :])
    return turn


def vectors_of(turn: Array) -> Array:
    """Return the vectors (..., 3, B) along the axes of turns (..., 4, B), as long as their angles.

    Of the two ways round the shorter one is told, up to half a turn.
    """
    w, axis = turn[..., 0, :], turn[..., 1:, :]
    size = vectors.norm(axis)
    angle = 2.0 * np.arctan2(size, np.abs(w)) * np.where(w < 0.0, -1.0, 1.0)
    vector: Array = axis * (angle / np.where(size > 0.0, size, 1.0))[..., None, :]
    return vector


def part_way(start: Array, end: Array, share: Array) -> Array:
    """Return turns (..., 4, B) that are shares (B,) of the short way from start to end."""
    way = vectors_of(multiply(conjugate(start), end))
    return multiply(start, by_vectors(way * share))


def between(source: Array, target: Array) -> Array:
    """Return the shortest turns (..., 4, B) taking unit vectors (..., 3, B) to unit vectors.

    Opposite vectors turn about an axis across them built from the frame axes.
    """
    axis = vectors.cross(source, target)
    # |a + b| and |a - b| are twice the cosine and the sine of half the angle, exact for any angle.
    cosine = 0.5 * vectors.norm(source + target)
    size = vectors.norm(axis)
    sine = 0.5 * vectors.norm(source - target)
    is_opposite = (size < NO_AXIS) & (cosine < 0.5)
    if is_opposite.any():
        aside = _any_perpendicular(source)
        axis = np.where(is_opposite[..., None, :], aside, axis)
        size = np.where(is_opposite, 1.0, size)
    scale = sine / np.where(size > 0.0, size, 1.0)
    return np.concatenate((cosine[..., None, :], axis * scale[..., None, :]), axis=-2)


def _any_perpendicular(axis: Array) -> Array:
    least = np.argmin(np.abs(axis), axis=-2)[..., None, :]
    frame_axis = (np.arange(3)[:, None] == least).astype(np.float64)
    side = vectors.across(frame_axis, axis)
    unit: Array = side / vectors.norm(side)[..., None, :]
    return unit
