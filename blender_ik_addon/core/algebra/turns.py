"""Quaternions ``wxyz`` of many joints and chains, in the layout of ``arrays``: (..., 4, B).

Formulas stand in ``quaternions``: components are split off, and the result joined. For products
and matrices, which solvers call most, tables of the formulas' terms take a few NumPy calls only.
"""

from __future__ import annotations

import numpy as np

from . import arrays, quaternions, rotation
from .arithmetic import ARRAYS, Array, Counts
from .nested import join, split


def _tabulate_products() -> tuple[Counts, Array]:
    """Return which component of an outer quaternion multiplies which of an inner one, and signs.

    Products are sums of terms of one component each: the terms of each pair are those of units.
    """
    units = [tuple(row) for row in np.eye(4)]
    terms = np.array([[quaternions.multiply(a, b) for b in units] for a in units])
    which: Counts = np.abs(terms).argmax(axis=0).T.ravel().astype(np.int64)
    signs: Array = terms.sum(axis=0).T.reshape(16, 1)
    return which, signs


_OUTER, _SIGNS = _tabulate_products()


def multiply(outer: Array, inner: Array) -> Array:
    """Return the turns (..., 4, B) that turn by ``inner`` first, then by ``outer``."""
    left = np.take(outer, _OUTER, axis=-2) * _SIGNS
    left = left.reshape(*outer.shape[:-2], 4, 4, outer.shape[-1])
    product: Array = np.einsum("...ijb,...jb->...ib", left, inner)
    return product


def conjugate(turn: Array) -> Array:
    """Return the inverses of unit quaternions (..., 4, B)."""
    return join(quaternions.conjugate(split(turn)))


def normalize(turn: Array) -> Array:
    """Return quaternions (..., 4, B) at unit length."""
    unit: Array = turn / arrays.norm(turn)[..., None, :]
    return unit


def _tabulate_matrices() -> tuple[Counts, Array]:
    """Return which two products of components each entry of a rotation matrix adds, and signs."""

    def change(q: Array) -> Array:
        return np.array(quaternions.to_matrix(tuple(q))) - np.eye(3)

    # What two units change together beyond what each changes is the term of their product.
    units = np.eye(4)
    terms = [[change(a + b) - change(a) - change(b) for b in units] for a in units]
    once = np.triu(np.full((4, 4), 0.5)) - 0.25 * units
    table = (np.array(terms) * once[:, :, None, None]).reshape(16, 9).T
    which: Counts = np.nonzero(table)[1].reshape(9, 2).astype(np.int64)
    signs: Array = np.take_along_axis(table, which, axis=1)
    return which.T, signs.T[..., None]


(_FIRST, _SECOND), (_FIRST_SIGNS, _SECOND_SIGNS) = _tabulate_matrices()
_WHOLE = np.eye(3).reshape(9, 1)


def to_matrices(turn: Array) -> Array:
    """Return the rotation matrices (..., 3, 3, B) of unit quaternions (..., 4, B)."""
    squares = turn[..., :, None, :] * (turn + turn)[..., None, :, :]
    squares = squares.reshape(*turn.shape[:-2], 16, turn.shape[-1])
    matrix: Array = np.take(squares, _FIRST, axis=-2) * _FIRST_SIGNS
    matrix += np.take(squares, _SECOND, axis=-2) * _SECOND_SIGNS
    matrix += _WHOLE
    return matrix.reshape(*turn.shape[:-2], 3, 3, turn.shape[-1])


def from_matrices(matrices: Array) -> Array:
    """Return the rotations (n, 4, B) in matrices (n, 3, 3, B) of any scale, mirrored too."""
    by_chain = matrices.transpose(0, 3, 1, 2)
    scale = np.cbrt(np.linalg.det(by_chain))
    turned: Array = rotation.quaternion_from_matrix(by_chain / scale[..., None, None])
    return turned.transpose(0, 2, 1)


def from_vectors(vector: Array) -> Array:
    """Return turns (..., 4, B) about vectors (..., 3, B) by their lengths in radians."""
    return join(quaternions.from_vector(ARRAYS, split(vector)))


def turn_by(turn: Array, vector: Array) -> Array:
    """Return turns (..., 4, B) that rotation vectors (..., 3, B) have turned on."""
    return normalize(multiply(from_vectors(vector), turn))


def to_vectors(turn: Array) -> Array:
    """Return the vectors (..., 3, B) along the axes of turns (..., 4, B), as long as their angles.

    Of the two ways round the shorter one, up to half a turn.
    """
    return join(quaternions.to_vector(ARRAYS, split(turn)))


def interpolate(start: Array, end: Array, share: Array) -> Array:
    """Return turns (..., 4, B) that are shares (B,) of the short way from start to end."""
    return join(quaternions.interpolate(ARRAYS, split(start), split(end), share))


def between(source: Array, target: Array, half_turn_axis: Array | None = None) -> Array:
    """Return the shortest turns (..., 4, B) taking unit vectors (..., 3, B) to unit vectors.

    Opposite vectors turn about the axis; by default about one across them from the frame axes.
    """
    axis = None if half_turn_axis is None else split(half_turn_axis)
    return join(quaternions.between(ARRAYS, split(source), split(target), axis))
