"""Quaternions ``wxyz`` of many joints and chains at once.

The layout is that of ``vectors``: (..., 4, B).
"""

from __future__ import annotations

import numpy as np

from . import vectors
from .vectors import Array

# Opposite vectors have no common axis across them below this sine.
NO_AXIS = 1e-12


def multiply(outer: Array, inner: Array) -> Array:
    """Return the turns (..., 4, B) that turn by ``inner`` first, then by ``outer``."""
    aw, ax, ay, az = outer[..., 0, :], outer[..., 1, :], outer[..., 2, :], outer[..., 3, :]
    bw, bx, by, bz = inner[..., 0, :], inner[..., 1, :], inner[..., 2, :], inner[..., 3, :]
    return np.stack(
        (
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ),
        axis=-2,
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
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    x2, y2, z2 = x + x, y + y, z + z
    xx, yy, zz, xy, xz, yz = x * x2, y * y2, z * z2, x * y2, x * z2, y * z2
    wx, wy, wz = w * x2, w * y2, w * z2
    matrix = np.empty((*turn.shape[:-2], 3, 3, turn.shape[-1]))
    matrix[..., 0, 0, :], matrix[..., 0, 1, :], matrix[..., 0, 2, :] = 1 - yy - zz, xy - wz, xz + wy
    matrix[..., 1, 0, :], matrix[..., 1, 1, :], matrix[..., 1, 2, :] = xy + wz, 1 - xx - zz, yz - wx
    matrix[..., 2, 0, :], matrix[..., 2, 1, :], matrix[..., 2, 2, :] = xz - wy, yz + wx, 1 - xx - yy
    return matrix


def by_vectors(vector: Array) -> Array:
    """Return turns (..., 4, B) about vectors (..., 3, B) by their lengths in radians."""
    angle = vectors.norm(vector)
    half = 0.5 * angle
    # sin(x) / x in the form that needs no case for zero.
    scale = 0.5 * np.sinc(half / np.pi)
    return np.concatenate((np.cos(half)[..., None, :], vector * scale[..., None, :]), axis=-2)


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
