"""Rotations carried along chains: each bone swings from its parent's turn, as little as it can.

With R the turn of the parent, s the bone's start direction and w its wanted one, the shortest
swing from R s to w carried on by R is R' = (1 - w u) R / 2 cos(angle / 2) with the pure quaternion
u = R s R^-1, so R' is proportional to R - w R s: linear in R. A chain is then a product of 4x4
matrices, and its length is divided out at the end.

Source: derived for this project; tests/core/test_bone_rotations.py compares it with shortest
rotations taken one after the other.
"""

from __future__ import annotations

import numpy as np

from .rotation import Array, between, multiply, normalised, rotate

# Swings nearer to a half turn than this cosine of half the angle lose digits in the product, and
# the squares of a product of many that are wide run out of numbers.
NEARLY_OPPOSITE = 1e-2
SMALLEST_PRODUCT = 1e-140
# Up to so many chains are carried one by one, along their bones; more of them side by side.
FEW_CHAINS = 4
# Products of so many matrices are quicker one after the other.
SHORT = 16
# A product of matrices rounds by what they can be at most. Where it leaves less than this share of
# a quaternion, wide turns one after the other, it is taken step by step instead.
LEAST_SHARE = 1e-2


def swung(rotation: Array, start: Array, wanted: Array) -> Array:
    """Return the turns of the bones of one chain.

    Args:
        rotation: Turn of the chain as a whole wxyz, shape (4,).
        start: Unit directions of the start pose, shape (n, 3).
        wanted: Unit directions to reach, shape (n, 3).

    Returns:
        Unit quaternions, shape (n, 4): turn i takes start direction i to the wanted one.
    """
    matrices = _matrices(start, wanted)
    product = _products(matrices, rotation, SHORT)
    before, sizes = _sizes(product)
    block = 1
    while len(start) > SHORT * block:
        block *= 2
    if (sizes[block - 1 :] < LEAST_SHARE * before[: len(sizes) - block + 1]).any():
        product = _products(matrices, rotation, len(matrices))
        before, sizes = _sizes(product)
    if sizes[-1] < SMALLEST_PRODUCT or (sizes < NEARLY_OPPOSITE * before).any():
        return _one_by_one(rotation, start, wanted)
    product /= sizes[:, None]
    return product


def swung_batch(rotations: Array, start: Array, wanted: Array) -> Array:
    """Return the turns of the bones of B chains.

    Args:
        rotations: Turns of the chains as a whole wxyz, shape (B, 4).
        start: Unit directions of the start poses, shape (B, n, 3).
        wanted: Unit directions to reach, shape (B, n, 3).

    Returns:
        Unit quaternions, shape (B, n, 4).
    """
    count, bones = start.shape[:2]
    if count <= FEW_CHAINS:
        rows = [swung(*problem) for problem in zip(rotations, start, wanted, strict=True)]
        return np.array(rows).reshape(count, bones, 4)
    turns = np.empty((bones, 4, count))
    smallest = np.ones(count)
    w, x, y, z = rotations.T
    for i in range(bones):
        w, x, y, z = _swing(w, x, y, z, start[:, i].T, wanted[:, i].T)
        size = np.sqrt(w * w + x * x + y * y + z * z)
        smallest = np.minimum(smallest, size)
        size = np.where(size > 0.0, size, 1.0)
        w, x, y, z = w / size, x / size, y / size, z / size
        turns[i] = w, x, y, z
    result: Array = turns.transpose(2, 0, 1)
    for chain in np.flatnonzero(smallest < NEARLY_OPPOSITE):
        result[chain] = _one_by_one(rotations[chain], start[chain], wanted[chain])
    return result


def _swing(
    w: Array, x: Array, y: Array, z: Array, start: Array, wanted: Array
) -> tuple[Array, Array, Array, Array]:
    """Return half of R - w R s, component by component, each of shape (B,)."""
    a, b, c = start
    pw = -x * a - y * b - z * c
    px, py, pz = w * a + y * c - z * b, w * b - x * c + z * a, w * c + x * b - y * a
    a, b, c = wanted
    return (
        0.5 * (w + a * px + b * py + c * pz),
        0.5 * (x - a * pw - b * pz + c * py),
        0.5 * (y - b * pw - c * px + a * pz),
        0.5 * (z - c * pw - a * py + b * px),
    )


def _sizes(product: Array) -> tuple[Array, Array]:
    """Return the sizes of quaternions (n, 4) before and after each bone, shape (n,)."""
    sizes = np.sqrt(np.einsum("ij,ij->i", product, product))
    return np.concatenate(([1.0], sizes[:-1])), sizes


def _products(matrices: Array, vector: Array, short: int) -> Array:
    """Return what a vector becomes after one, two, ... of matrices (n, 4, 4), shape (n, 4).

    More than ``short`` are halved: the products of pairs give every second result, and those the
    others.
    """
    count = len(matrices)
    results = np.empty((count, 4))
    if count <= short:
        for matrix, result in zip(matrices, results, strict=True):
            vector = np.dot(matrix, vector, out=result)
        return results
    half = count // 2
    pairs = matrices[1::2] @ matrices[: 2 * half : 2]
    results[1::2] = _products(pairs, vector, short)
    before = np.concatenate((vector[None], results[1::2]))[: count - half]
    results[::2] = np.einsum("nij,nj->ni", matrices[::2], before)
    return results


def _matrices(start: Array, wanted: Array) -> Array:
    """Return the matrices of R -> (R - w R s) / 2 on quaternions wxyz, shape (n, 4, 4).

    The product of two pure quaternions round a third is symmetric in it: the matrix is made of
    the scalar, the vector and the outer product of w and s.
    """
    matrices = np.empty((len(start), 4, 4))
    outer = wanted[:, :, None] * start[:, None, :]
    scalar = outer[:, 0, 0] + outer[:, 1, 1] + outer[:, 2, 2]
    np.add(outer, outer.transpose(0, 2, 1), out=matrices[:, 1:, 1:])
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1)), start=1):
        matrices[:, i, i] += 1.0 - scalar
        matrices[:, 0, i] = matrices[:, i, 0] = outer[:, k, j] - outer[:, j, k]
    matrices[:, 0, 0] = 1.0 + scalar
    matrices *= 0.5
    return matrices


def _one_by_one(rotation: Array, start: Array, wanted: Array) -> Array:
    """Return the turns of one chain by shortest rotations that mind opposite directions."""
    turns = np.empty((len(start), 4))
    for i, direction in enumerate(wanted):
        swing = between(rotate(rotation, start[i]), direction)
        rotation = normalised(multiply(swing, rotation))
        turns[i] = rotation
    return turns
