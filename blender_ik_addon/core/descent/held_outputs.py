"""Outputs that a step of ``feasible_newton`` holds, and the forces that hold them.

Chains come first, as in ``algebra.chains_first``.

Source: null spaces and least-squares multipliers (Nocedal and Wright, "Numerical Optimization",
2006, chapters 16 and 18); the projection by the eigenvectors of J J^T, which drops rows that
straight chains lose, is derived for this project. Tested against SciPy's SLSQP in
tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array, Counts
from ..algebra.chains_first import apply

# Smallest energy that counts, to divide by.
NO_ENERGY = 1e-30
# Outputs whose squared mobility is below this share of the total of all outputs cannot be held. Ten
# times more, and nearly straight chains cannot be held either; a hundred times less, and rounding
# is held.
MIN_HELD_SHARE = 1e-13


class HeldOutputs:
    """The held outputs of B trees, and an orthonormal basis of the turns that move them."""

    def __init__(self, jacobian: Array, axes: Counts) -> None:
        """Compute the basis; rows without mobility get zero vectors.

        Args:
            jacobian: Derivatives of the outputs by turns, shape (B, k, 3 n).
            axes: Indices of the free turns, of the 3 n.
        """
        jacobian = jacobian.take(axes, axis=-1)
        self._axes, self.row_basis = axes, jacobian
        if not jacobian.shape[1]:
            return
        values, vectors = np.linalg.eigh(jacobian @ jacobian.swapaxes(1, 2))
        least = MIN_HELD_SHARE * values.sum(axis=1, keepdims=True) + NO_ENERGY
        inverse_root = np.where(values > least, 1.0 / np.sqrt(np.maximum(values, least)), 0.0)
        self._vectors = inverse_root[:, None] * vectors
        self.row_basis = self._vectors.swapaxes(1, 2) @ jacobian

    def restore(self, residual: Array) -> Array:
        """Return the least turns of free axes (B, m) that undo residuals (B, k)."""
        return apply(self.row_basis.swapaxes(1, 2), apply(self._vectors.swapaxes(1, 2), residual))

    def find_force(self, slope: Array) -> Array:
        """Return the forces (B, k) on the outputs that balance slopes (B, 3 n) by least squares."""
        if not self.row_basis.shape[1]:
            return np.zeros(self.row_basis.shape[:2])
        return apply(self._vectors, apply(self.row_basis, slope.take(self._axes, axis=1)))

    def reduce(
        self, rows: Counts | slice, system: Array, right: Array, scale: Array
    ) -> tuple[Array, Array]:
        """Return systems (b, m, m) of some chains and right sides, projected on the null space.

        Turns that move the outputs get the stiffness ``scale`` (b,).
        """
        if not self.row_basis.shape[1]:
            return system, right
        basis = self.row_basis[rows]
        back = basis.swapaxes(1, 2)
        across = basis @ system
        pairs = across @ back + scale[:, None, None] * np.eye(basis.shape[1])
        across -= 0.5 * pairs @ basis
        coupled = back @ across
        return system - coupled - coupled.swapaxes(1, 2), right - apply(back, apply(basis, right))
