"""Vector algebra on many chains at once.

Layout of every array in the solvers: ``(joints or segments, xyz, chains)``. The last axis is
contiguous, so one NumPy call works on all chains; the xyz axis is always the last but one, so a
single joint ``points[i]`` has shape (3, chains) and goes through the same functions.
"""

from __future__ import annotations

import numpy as np

from .algebra.arithmetic import Array as Array
from .algebra.arithmetic import Counts as Counts
from .algebra.arithmetic import Flags as Flags
from .algebra.nested import repeat_single, take_rows

taken, not_alone = take_rows, repeat_single
# Below this length a float64 vector of a chain scaled to unit length has no usable direction.
NO_DIRECTION = 1e-14
# From so many chains on, sums along the bones are quicker bone by bone.
MANY_CHAINS = 16


def dot(a: Array, b: Array) -> Array:
    """Return the scalar products of vectors (..., 3, B), shape (..., B)."""
    product: Array = np.einsum("...ib,...ib->...b", a, b)
    return product


def norm(a: Array) -> Array:
    """Return the lengths of vectors (..., 3, B), shape (..., B)."""
    length: Array = np.sqrt(dot(a, a))
    return length


def cross(a: Array, b: Array) -> Array:
    """Return the vector products of vectors (..., 3, B), shape (..., 3, B)."""
    ax, ay, az = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    bx, by, bz = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    x = ay * bz - az * by
    product = np.empty((*x.shape[:-1], 3, x.shape[-1]))
    product[..., 0, :], product[..., 1, :], product[..., 2, :] = (
        x,
        az * bx - ax * bz,
        ax * by - ay * bx,
    )
    return product


def skew(a: Array) -> Array:
    """Return the matrices (..., 3, 3, B) of vector products with vectors (..., 3, B)."""
    x, y, z = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    matrix = np.zeros((*a.shape[:-2], 3, 3, a.shape[-1]))
    matrix[..., 0, 1, :], matrix[..., 0, 2, :], matrix[..., 1, 2, :] = -z, y, -x
    matrix[..., 1, 0, :], matrix[..., 2, 0, :], matrix[..., 2, 1, :] = z, -y, x
    return matrix


def unit(a: Array, fallback: Array) -> Array:
    """Return the directions of vectors (..., 3, B); the fallback where there is none."""
    length = norm(a)
    has_direction = length > NO_DIRECTION
    safe = np.where(has_direction, length, 1.0)[..., None, :]
    return np.where(has_direction[..., None, :], a / safe, fallback)


def across(a: Array, axis: Array) -> Array:
    """Return the part of vectors (..., 3, B) perpendicular to unit axes."""
    part: Array = a - axis * dot(a, axis)[..., None, :]
    return part


def any_perpendicular(axis: Array) -> Array:
    """Return unit vectors across unit axes (3, B), built from the least aligned frame axis."""
    least = np.argmin(np.abs(axis), axis=0)
    frame_axis = (np.arange(3)[:, None] == least).astype(np.float64)
    side = across(frame_axis, axis)
    return side / norm(side)


def swing(source: Array, target: Array, half_turn_axis: Array) -> Array:
    """Return the shortest rotations taking unit vectors to unit vectors, as matrices.

    Args:
        source: Shape (3, B).
        target: Shape (3, B).
        half_turn_axis: Unit axes across ``source`` to turn about where the two are opposite.

    Returns:
        Shape (3, 3, B). Exactly the identity where the two are equal.

    Source: Rodrigues' formula with sine and cosine taken from the vectors' products; tested in
    tests/core/test_vectors.py.
    """
    is_obtuse = dot(source, target) < 0.0
    if not is_obtuse.any():
        return _acute_swing(source, target)
    # Nearly opposite vectors tell their common axis badly. A half turn about whatever axis across
    # the source lies nearest, and the small rotation that is left, still meet the target exactly.
    axis = unit(across(cross(source, target), source), half_turn_axis)
    half_turn = 2.0 * axis[:, None] * axis[None, :] - np.eye(3)[:, :, None]
    remainder = _acute_swing(np.where(is_obtuse, -source, source), target)
    return np.where(is_obtuse, compose(remainder, half_turn), remainder)


def _acute_swing(source: Array, target: Array) -> Array:
    return _from_axis(cross(source, target), 1.0 / (1.0 + dot(source, target)))


def turn(axis: Array, angle: Array) -> Array:
    """Return the rotation matrices (3, 3, B) about unit axes (3, B) by angles (B,) in radians."""
    tilt = _from_axis(axis * np.sin(angle), np.zeros_like(angle))
    square = axis[:, None] * axis[None, :] - np.eye(3)[:, :, None]
    rotation: Array = tilt + (1.0 - np.cos(angle)) * square
    return rotation


def _from_axis(axis: Array, quadratic: Array) -> Array:
    """Return I + [axis]x + quadratic [axis]x [axis]x, shape (3, 3, B)."""
    x, y, z = axis
    zero = np.zeros_like(x)
    skew = np.stack((np.stack((zero, -z, y)), np.stack((z, zero, -x)), np.stack((-y, x, zero))))
    square = axis[:, None] * axis[None, :] - dot(axis, axis) * np.eye(3)[:, :, None]
    rotation: Array = np.eye(3)[:, :, None] + skew + quadratic * square
    return rotation


def rotate(rotation: Array, vectors: Array) -> Array:
    """Apply rotations (3, 3, B) to vectors (..., 3, B)."""
    rotated: Array = np.einsum("ijb,...jb->...ib", rotation, vectors)
    return rotated


def compose(outer: Array, inner: Array) -> Array:
    """Return the matrices (3, 3, B) that apply ``inner`` first, then ``outer``."""
    product: Array = np.einsum("ijb,jkb->ikb", outer, inner)
    return product


def inverses(matrix: Array) -> Array:
    """Return the inverses of matrices (..., 3, 3, B)."""
    flat = matrix.reshape(*matrix.shape[:-3], 9, matrix.shape[-1])
    one, two, three, four = (np.take(flat, index, axis=-2) for index in _MINORS)
    adjugate = one * two - three * four
    determinant = dot(flat[..., :3, :], adjugate[..., ::3, :])
    inverse: Array = (adjugate / determinant[..., None, :]).reshape(matrix.shape)
    return inverse


# Entry (i, j) of an adjugate is the product of two entries of the matrix less that of two others.
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])
_MINORS = tuple(
    (3 * rows[None, :] + columns[:, None]).ravel()
    for rows, columns in ((_NEXT, _NEXT), (_AFTER, _AFTER), (_NEXT, _AFTER), (_AFTER, _NEXT))
)


def products(matrices: Array) -> Array:
    """Return the products of matrices (n, 3, 3, B) from the first one up to each."""
    # Of two products side by side comes one twice as long: five calls for thirty bones. Of however
    # many chains: in another order the last digits would be others.
    found, length = matrices.copy(), 1
    while length < len(found):
        found[length:] = np.einsum("nijb,njkb->nikb", found[:-length], found[length:])
        length *= 2
    return found


def laid(segments: Array) -> Array:
    """Return the joints (n + 1, 3, B) of segments (n, 3, B) laid end to end from the origin."""
    joints = np.empty((len(segments) + 1, *segments.shape[1:]))
    joints[0] = 0.0
    if segments.shape[-1] < MANY_CHAINS:
        np.cumsum(segments, axis=0, out=joints[1:])
    else:
        # Several times as fast as cumsum along the first axis.
        for i, segment in enumerate(segments):
            np.add(joints[i], segment, out=joints[i + 1])
    return joints


def smoothstep(x: Array, low: Array | float, high: Array | float) -> Array:
    """Return 0 below ``low``, 1 above ``high`` and the cubic 3s^2 - 2s^3 between."""
    s = np.clip((x - low) / (high - low), 0.0, 1.0)
    return s * s * (3.0 - 2.0 * s)
