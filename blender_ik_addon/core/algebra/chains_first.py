"""Arrays (B, n, ...) with the chains first: the layout of large systems of equations.

Products of matrices are ``matmul``, which computes each chain by itself: the result of a chain does
not depend on other chains, nor on their number.
"""

from __future__ import annotations

import numpy as np

from .arithmetic import Array, Flags
from .nested import Nested, transform_leaves

# Entries of the matrix of a vector product: indices of components, and their signs.
_SKEW = np.array([0, 2, 1, 2, 0, 0, 1, 0, 0])
_SKEW_SIGNS = np.array([0.0, -1.0, 1.0, 1.0, 0.0, -1.0, -1.0, 1.0, 0.0])
# The same for the product of half a vector with quaternions: rows w, x, y and z.
_LEFT = np.array([0, 0, 1, 2, 0, 0, 2, 1, 1, 2, 0, 0, 2, 1, 0, 0])
_LEFT_SIGNS = 0.5 * np.array([0, -1, -1, -1, 1, 0, -1, 1, 1, 1, 0, -1, 1, -1, 1, 0])


def chains_first(values: Array) -> Array:
    """Return an array (..., B) as one (B, ...), contiguous."""
    return np.ascontiguousarray(values.transpose(values.ndim - 1, *range(values.ndim - 1)))


def chains_last(values: Array) -> Array:
    """Return an array (B, ...) as one (..., B), a contiguous copy."""
    return np.array(values.transpose(*range(1, values.ndim), 0), order="C")


def choose_first(rows: Flags, first: Nested, second: Nested) -> Nested:
    """Return nested arrays (B, ...) of ``first`` where flagged (B,), otherwise of ``second``."""
    if rows.all():
        return first

    def choose(one: Array, other: Array) -> Array:
        return np.where(rows.reshape(-1, *(1,) * (one.ndim - 1)), one, other)

    return transform_leaves(choose, first, second)


def skew(vectors: Array) -> Array:
    """Return the matrices (..., 3, 3) of vector products with vectors (..., 3)."""
    entries: Array = vectors.take(_SKEW, axis=-1) * _SKEW_SIGNS
    return entries.reshape(*vectors.shape[:-1], 3, 3)


def apply(matrices: Array, vectors: Array) -> Array:
    """Return the products of matrices (..., i, j) and vectors (..., j).

    Not by ``matmul``: on some processors it rounds odd rows by their place in memory.
    """
    product: Array = np.einsum("...ij,...j->...i", matrices, vectors)
    return product


def measure(vectors: Array) -> Array:
    """Return the lengths (...) of vectors (..., 3)."""
    length: Array = np.sqrt((vectors * vectors).sum(axis=-1))
    return length


def turn_by(turn: Array, move: Array) -> Array:
    """Return turns (B, n, 4) followed by moves (B, n, 3), rotation vectors to second order.

    Source: the Cayley map; a move by m turns by 2 atan(m / 2).
    """
    outer = (move.take(_LEFT, axis=-1) * _LEFT_SIGNS).reshape(*move.shape[:-1], 4, 4)
    turned = turn + apply(outer, turn)
    turned /= np.sqrt((turned * turned).sum(axis=-1, keepdims=True))
    return turned


def flatten(moved: Array) -> Array:
    """Return moves (B, q, n, 3, 3) of q points as rows (B, 3 q, 3 n) of a Jacobian."""
    return moved.transpose(0, 1, 3, 2, 4).reshape(len(moved), 3 * moved.shape[1], -1)


def add_blocks(systems: Array, blocks: Array) -> None:
    """Add blocks (B, n, 3, 3) to the diagonal blocks of systems (B, 3 n, 3 n)."""
    by_bone = systems.reshape(len(systems), blocks.shape[1], 3, -1, 3)
    np.einsum("bicid->bicd", by_bone)[...] += blocks
