"""Rotations carried along chains: each bone swings from its parent's rotation, as little as it can.

With R the rotation of the parent, s the bone's start direction and w its wanted one, the shortest
swing from R s to w carried on by R is R' = (1 - w u) R / 2 cos(angle / 2) with the pure quaternion
u = R s R^-1, so R' is proportional to R - w R s, which is linear in R. A chain is a product of 4x4
matrices, and its length is divided out at the end.

Source: derived for this project; tests/core/kinematics/test_transport.py compares it with shortest
rotations taken one after the other.
"""

from __future__ import annotations

import numpy as np

from ..algebra import quaternions
from ..algebra.arithmetic import FLOATS, Array
from ..algebra.quaternions import Quaternion, multiply, normalize, rotate
from ..algebra.vectors import ZERO, perpendicular, reject, unit

# Swings nearer to a half turn than this cosine of half the angle lose digits in the product, and
# the squares of a product of many that are wide run out of numbers.
NEARLY_OPPOSITE, SMALLEST_PRODUCT = 1e-2, 1e-140
# Products of so many matrices are quicker one after the other.
SHORT = 16
# A product of matrices rounds by what they can be at most. Where it leaves less than this share of
# a quaternion, wide turns one after the other, it loses digits too.
LEAST_SHARE = 1e-2
# Where the entries of a vector product stand in an outer product.
OVER, UNDER = np.array((7, 2, 3)), np.array((5, 6, 1))


def carry_rotation(rotation: Array, start: Array, wanted: Array, normal: Array) -> Array:
    """Return the rotations of the bones of B chains, unit quaternions wxyz, shape (B, n, 4).

    Every row is computed by itself: it does not depend on the others.

    Args:
        rotation: Of the whole chains, shape (B, 4).
        start: Directions of the start poses, of any length, shape (B, n, 3).
        wanted: Directions to reach, of any length, shape (B, n, 3).
        normal: Of the planes that the start poses bend in, shape (B, 3): a bone that turns over
            turns about it, as a hinge does.
    """
    matrices = _swing_matrices(start, wanted)
    carried = _apply_in_turn(matrices, rotation[:, :, None])[..., 0]
    sizes = np.sqrt((carried * carried).sum(axis=-1))
    is_sure = _keeps_digits(sizes)
    if is_sure.all():
        carried /= sizes[..., None]
        return carried
    carried /= np.where(sizes > 0.0, sizes, 1.0)[..., None]
    for row in np.flatnonzero(~is_sure):
        carried[row] = _swing_in_turn(rotation[row], start[row], wanted[row], normal[row])
    return carried


def _keeps_digits(sizes: Array) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Tell of which chains the products (B, n) that are left are large enough, shape (B,)."""
    before = np.concatenate((np.ones_like(sizes[:, :1]), sizes[:, :-1]), axis=1)
    is_sure = (sizes >= NEARLY_OPPOSITE * before) & (sizes >= SMALLEST_PRODUCT)
    count, block = sizes.shape[1], 1
    while count > SHORT * block:
        block *= 2
    if block > 1:
        is_sure[:, block - 1 :] &= sizes[:, block - 1 :] >= LEAST_SHARE * before[:, : 1 - block]
    return is_sure.all(axis=1)


def _apply_in_turn(matrices: Array, column: Array) -> Array:
    """Return what columns (B, 4, 1) become after one, two, ... of matrices (B, n, 4, 4).

    Of long chains the products of pairs give every second result, and those the others.
    """
    count = matrices.shape[1]
    results = np.empty((*matrices.shape[:3], 1))
    if count <= SHORT:
        for i in range(count):
            column = np.matmul(matrices[:, i], column, out=results[:, i])
        return results
    half = count // 2
    pairs = matrices[:, 1::2] @ matrices[:, : 2 * half : 2]
    results[:, 1::2] = _apply_in_turn(pairs, column)
    before = np.concatenate((column[:, None], results[:, 1::2]), axis=1)[:, : count - half]
    results[:, ::2] = matrices[:, ::2] @ before
    return results


def _swing_matrices(start: Array, wanted: Array) -> Array:
    """Return the matrices of R -> (R - w R s) / 2 on quaternions wxyz, shape (B, n, 4, 4).

    The product of two pure quaternions round a third is symmetric in it: the matrix is made of
    the scalar, the vector and the outer product of w and s.
    """
    matrices = np.empty((*start.shape[:2], 4, 4))
    squares = (start * start).sum(axis=-1) * (wanted * wanted).sum(axis=-1)
    share = (0.5 / np.sqrt(squares))[..., None]
    outer = (wanted * share)[..., :, None] * start[..., None, :]
    flat = outer.reshape(*start.shape[:2], 9)
    scalar = flat[..., ::4].sum(axis=-1)
    matrices[..., 0, 0] = 0.5 + scalar
    matrices[..., 0, 1:] = matrices[..., 1:, 0] = flat[..., OVER] - flat[..., UNDER]
    np.add(outer, outer.swapaxes(-1, -2), out=matrices[..., 1:, 1:])
    matrices.reshape(*start.shape[:2], 16)[..., 5::5] += (0.5 - scalar)[..., None]
    return matrices


def _swing_in_turn(rotation: Array, start: Array, wanted: Array, normal: Array) -> list[Quaternion]:
    """Return the rotations of the bones of one chain by shortest rotations, one after another."""
    m, carried, found = FLOATS, tuple(rotation.tolist()), []
    for source, target in zip(start.tolist(), wanted.tolist(), strict=True):
        along = rotate(carried, unit(m, source, ZERO))
        hinge = unit(m, reject(rotate(carried, normal.tolist()), along), perpendicular(m, along))
        swing = quaternions.between(m, along, unit(m, target, ZERO), hinge)
        carried = normalize(m, multiply(swing, carried))
        found.append(carried)
    return found
