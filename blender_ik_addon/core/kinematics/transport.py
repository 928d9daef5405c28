"""Rotations carried along chains: each bone swings the shortest way from its parent's rotation.

With R the rotation of the parent, s the bone's start direction and w its goal direction, R and then
the shortest swing from R s to w are R' = (1 - w u) R / 2 cos(angle / 2) with the pure quaternion
u = R s R^-1. So R' is proportional to R - w R s, which is linear in R: a chain is a product of 4x4
matrices. The lengths of the quaternions are divided out at the end.

Source: derived for this project; tests/core/kinematics/test_transport.py compares it with shortest
rotations taken one after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import quaternions
from ..algebra.arithmetic import FLOATS, Array, Counts, Flags
from ..algebra.nested import Rows
from ..algebra.quaternions import BASIS, Quaternion, multiply, normalize, rotate
from ..algebra.vectors import ZERO, perpendicular, reject, unit

# Up to this number, matrices are multiplied faster one after the other.
MAX_ONE_BY_ONE = 16
# A swing with a smaller cosine of half its angle, near a half turn, loses digits. So does a product
# of matrices if less than this share of a unit quaternion remains: it rounds by its greatest size.
MIN_SHARE = 1e-2
# The matrix of R -> R / 2, and those of R -> -w R s with w and s along the axes.
HALF_IDENTITY = 0.5 * np.eye(4)
PRODUCTS = -np.array(
    [
        [np.column_stack([multiply(multiply(w, r), s) for r in BASIS]) for s in BASIS[1:]]
        for w in BASIS[1:]
    ]
).reshape(3, 3, 16)


@dataclass(frozen=True)
class Swings(Rows):
    """The start directions of n bones of B chains, compiled for ``carry_rotation``.

    Attributes:
        start: Start directions of any length, shape (B, n, 3).
        normal: Normals of the planes in which start poses bend, shape (B, 3). A bone that turns
            over turns about it, as a hinge does.
        products: Matrices of R -> -w R s / 2 on quaternions wxyz for unit goal directions w along
            the axes, shape (B, n, 3, 16).
    """

    start: Array
    normal: Array
    products: Array

    def take(self, rows: Counts | Flags) -> Swings:
        """Return the record of some of the chains, which are the first axis here."""
        return Swings(self.start[rows], self.normal[rows], self.products[rows])


def compile_swings(start: Array, normal: Array) -> Swings:
    """Return compiled start directions; arguments are attributes of ``Swings``."""
    half = start / (2.0 * np.sqrt((start * start).sum(axis=-1)))[..., None]
    return Swings(start, normal, np.einsum("bnj,ijk->bnik", half, PRODUCTS, order="C"))


def carry_rotation(rotation: Array, swings: Swings, goals: Array) -> Array:
    """Return the rotations of the bones of B chains, unit quaternions wxyz, shape (B, n, 4).

    They start from those of the whole chains, (B, 4), and bring the bones to goal directions of any
    length, (B, n, 3). Every row is computed by itself: it does not depend on the others.
    """
    # Sums have the same order for any number of rows: all arrays are row by row in memory.
    sizes = np.sqrt((goals * goals).sum(axis=-1))[..., None]
    matrices = np.einsum("bnij,bni->bnj", swings.products, np.divide(goals, sizes, order="C"))
    matrices = matrices.reshape(*goals.shape[:2], 4, 4)
    matrices += HALF_IDENTITY
    carried = _apply_in_turn(matrices, rotation[:, :, None])[..., 0]
    sizes = np.sqrt((carried * carried).sum(axis=-1))
    # No product grows: where the last one is not small, no single one has lost digits.
    is_lossy = sizes[:, -1] < MIN_SHARE
    if not is_lossy.any():
        carried /= sizes[..., None]
        return carried
    if sizes.shape[1] <= MAX_ONE_BY_ONE:
        before = np.concatenate((np.ones_like(sizes[:, :1]), sizes[:, :-1]), axis=1)
        is_lossy = (sizes < MIN_SHARE * before).any(axis=1)
    carried /= np.where(sizes > 0.0, sizes, 1.0)[..., None]
    for row in np.flatnonzero(is_lossy):
        start, normal = swings.start[row], swings.normal[row]
        carried[row] = _swing_in_turn(rotation[row], start, goals[row], normal)
    return carried


def _apply_in_turn(matrices: Array, column: Array) -> Array:
    """Return columns (B, 4, 1) times the first one, two, ... of matrices (B, n, 4, 4).

    For long chains, products of pairs give every second result, and from these follow the others.
    """
    count = matrices.shape[1]
    results = np.empty((*matrices.shape[:3], 1))
    if count <= MAX_ONE_BY_ONE:
        for i in range(count):
            column = np.matmul(matrices[:, i], column, out=results[:, i])
        return results
    half = count // 2
    pairs = matrices[:, 1::2] @ matrices[:, : 2 * half : 2]
    results[:, 1::2] = _apply_in_turn(pairs, column)
    before = np.concatenate((column[:, None], results[:, 1::2]), axis=1)[:, : count - half]
    results[:, ::2] = matrices[:, ::2] @ before
    return results


def _swing_in_turn(rotation: Array, start: Array, goals: Array, normal: Array) -> list[Quaternion]:
    """Return the rotations of the bones of one chain by shortest rotations, one after another."""
    m, carried, rotations = FLOATS, tuple(rotation.tolist()), []
    for source, target in zip(start.tolist(), goals.tolist(), strict=True):
        along = rotate(carried, unit(m, source, ZERO))
        hinge = unit(m, reject(rotate(carried, normal.tolist()), along), perpendicular(m, along))
        swing = quaternions.between(m, along, unit(m, target, ZERO), hinge)
        carried = normalize(m, multiply(swing, carried))
        rotations.append(carried)
    return rotations
