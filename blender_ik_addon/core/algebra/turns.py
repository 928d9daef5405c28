"""Quaternions ``wxyz`` of many joints and chains, in the layout of ``arrays``: (..., 4, B).

The formulas, and the documentation of most functions, are in ``quaternions``. Solvers call products
and conversions to matrices most: there, tables of the formulas' terms save NumPy calls.
"""

from __future__ import annotations

import numpy as np

from . import arrays, quaternions
from .arithmetic import Array
from .nested import in_columns, to_numbers

interpolate = in_columns(quaternions.interpolate)
between = in_columns(quaternions.between)

# Component i of a product sums over j: component j of the inner factor times component i ^ j of the
# outer one. The signs are those of the units' products with a quaternion of ones.
_OUTER = np.bitwise_xor.outer(np.arange(4), np.arange(4)).ravel()
_SIGNS = np.column_stack(
    [quaternions.multiply((1.0, 1.0, 1.0, 1.0), unit) for unit in quaternions.BASIS]
).reshape(16, 1)

_CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])[:, None]


def multiply(outer: Array, inner: Array) -> Array:
    """Return the turns (..., 4, B) that turn by ``inner`` first, then by ``outer``."""
    left = outer.take(_OUTER, axis=-2) * _SIGNS
    left = left.reshape(*outer.shape[:-2], 4, 4, outer.shape[-1])
    product: Array = np.einsum("...ijb,...jb->...ib", left, inner)
    return product


def conjugate(turn: Array) -> Array:
    """Return the inverses of turns (..., 4, B)."""
    inverse: Array = turn * _CONJUGATE
    return inverse


def to_vectors(turn: Array) -> Array:
    """Return the rotation vectors (..., 3, B) of turns (..., 4, B): their axes times angles."""
    w, axis = turn[..., 0, :], turn[..., 1:, :]
    size = arrays.norm(axis)
    angle = 2.0 * np.arctan2(size, np.abs(w)) * np.where(w < 0.0, -1.0, 1.0)
    vector: Array = axis * (angle / np.where(size > 0.0, size, 1.0))[..., None, :]
    return vector


def from_vectors(vector: Array) -> Array:
    """Return the turns (..., 4, B) about vectors (..., 3, B) by their lengths in radians."""
    angle = arrays.norm(vector)
    half, is_turn = 0.5 * angle, angle > 0.0
    turn = np.empty((*vector.shape[:-2], 4, vector.shape[-1]))
    np.cos(half, out=turn[..., 0, :])
    share = np.where(is_turn, np.sin(half) / np.where(is_turn, angle, 1.0), 0.5)
    turn[..., 1:, :] = vector * share[..., None, :]
    return turn


def normalize(turn: Array) -> Array:
    """Return quaternions (..., 4, B) at unit length."""
    unit: Array = turn / arrays.norm(turn)[..., None, :]
    return unit


# The two products of components in each entry of a rotation matrix, and their signs times two:
# 1 - yy - zz, xy - wz, and so on, as in ``quaternions.to_matrix``.
_FIRST, _SECOND = (
    np.array([4 * "wxyz".index(term[0]) + "wxyz".index(term[1]) for term in terms.split()])
    for terms in ("yy xy xz xy xx yz xz yz xx", "zz wz wy wz zz wx wy wx yy")
)
_WHOLE = np.eye(3).reshape(9, 1)
_FIRST_SIGNS = 2.0 - 4.0 * _WHOLE
_SECOND_SIGNS = np.array([-2.0, -2.0, 2.0, 2.0, -2.0, -2.0, -2.0, 2.0, -2.0])[:, None]


def to_matrices(turn: Array) -> Array:
    """Return the rotation matrices (..., 3, 3, B) of unit quaternions (..., 4, B)."""
    squares = turn[..., :, None, :] * turn[..., None, :, :]
    squares = squares.reshape(*turn.shape[:-2], 16, turn.shape[-1])
    matrix: Array = squares.take(_FIRST, axis=-2) * _FIRST_SIGNS
    matrix += squares.take(_SECOND, axis=-2) * _SECOND_SIGNS
    matrix += _WHOLE
    return matrix.reshape(*turn.shape[:-2], 3, 3, turn.shape[-1])


# Four times the products of a quaternion's components, as sums of entries of its matrix: the
# constant part, and the entries in each sum, at most three, with their signs.
_UNITS = np.vstack((np.zeros(9), np.eye(9))).reshape(10, 3, 3)
_UNIT_PRODUCTS = np.array([quaternions.find_products(to_numbers(unit, 2)) for unit in _UNITS])
_CONSTANTS = _UNIT_PRODUCTS[0].ravel()
_COEFFICIENTS = _UNIT_PRODUCTS[1:].reshape(9, 16).T - _CONSTANTS[:, None]
_ENTRIES = np.argsort(-np.abs(_COEFFICIENTS), axis=1, kind="stable")[:, :3]
_ENTRY_SIGNS = np.take_along_axis(_COEFFICIENTS, _ENTRIES, axis=1)


def from_matrices(matrices: Array) -> Array:
    """Return the turns (n, 4, B) of rotation matrices (n, 3, 3, B), with w not negative."""
    entries = matrices.transpose(0, 3, 1, 2).reshape(-1, 9)
    terms = entries.take(_ENTRIES, axis=1) * _ENTRY_SIGNS
    products = terms[..., 0] + terms[..., 1] + terms[..., 2] + _CONSTANTS
    products = products.reshape(-1, 4, 4)
    rows = np.arange(len(products))
    turn: Array = products[rows, products[:, range(4), range(4)].argmax(axis=1)]
    w, x, y, z = turn.T
    turn *= np.copysign(1.0 / np.sqrt(w * w + x * x + y * y + z * z), w)[:, None]
    return turn.reshape(len(matrices), -1, 4).transpose(0, 2, 1)


def turn_by(turn: Array, vector: Array) -> Array:
    """Return turns (..., 4, B) followed by rotation vectors (..., 3, B)."""
    return normalize(multiply(from_vectors(vector), turn))
