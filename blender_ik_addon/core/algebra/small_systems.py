"""Symmetric positive definite systems of many chains at once."""

from __future__ import annotations

import numpy as np

from .arithmetic import Array

# Larger systems go through LAPACK, one by one.
SMALL = 4


def solve_positive(system: Array, right: Array) -> Array:
    """Return x (k, B) of A x = b.

    Args:
        system: A, symmetric and positive definite, shape (k, k, B).
        right: b, shape (k, B).

    Source: Gauss-Jordan elimination, which needs no pivots here.
    """
    count = len(system)
    if count > SMALL:
        found: Array = np.linalg.solve(system.transpose(2, 0, 1), right.T[:, :, None])[:, :, 0].T
        return found
    table = np.concatenate((system, right[:, None]), axis=1)
    for i in range(count):
        row = table[i] / table[i, i]
        table -= table[:, i, None] * row
        table[i] = row
    return table[:, count]
