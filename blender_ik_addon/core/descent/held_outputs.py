"""Outputs that a step of ``feasible_newton`` leaves where they are, and the forces that hold them.

Chains come first, as in ``algebra.chains_first``.

Source: null spaces and least-squares multipliers (Nocedal and Wright, "Numerical Optimization",
2006, chapters 16 and 18); the projection by the eigenvectors of J J^T, which knows rows that
straight chains lose, is derived for this project. Tested against SciPy's SLSQP in
tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

import numpy as np

from ..algebra.arithmetic import Array, Counts
from ..algebra.chains_first import apply

# Less energy than this is none.
NO_ENERGY = 1e-30
# Outputs that move less than this share of what others do, squared, cannot be held. Ten times more,
# and chains that are nearly straight are; a hundred times less, and rounding is held.
LEAST_HELD = 1e-13


class HeldOutputs:
    """Outputs that are held, and the turns that move them."""

    def __init__(self, jacobian: Array, axes: Counts) -> None:
        """Find turns at right angles that move the outputs; none for rows that are lost.

        Args:
            jacobian: How outputs change with turns, shape (B, k, 3 n).
            axes: Which turns are free, of the 3 n.
        """
        jacobian = jacobian.take(axes, axis=-1)
        self._axes, self.ways = axes, jacobian
        if not jacobian.shape[1]:
            return
        values, vectors = np.linalg.eigh(jacobian @ jacobian.swapaxes(1, 2))
        least = LEAST_HELD * values.sum(axis=1, keepdims=True) + NO_ENERGY
        root = np.where(values > least, 1.0 / np.sqrt(np.maximum(values, least)), 0.0)
        self._roots = root[:, None] * vectors
        self.ways = self._roots.swapaxes(1, 2) @ jacobian

    def lead(self, error: Array) -> Array:
        """Return the least turns of free axes (B, m) that bring outputs back by errors (B, k)."""
        return apply(self.ways.swapaxes(1, 2), apply(self._roots.swapaxes(1, 2), error))

    def find_force(self, slope: Array) -> Array:
        """Return the force (B, k) on the outputs that balances slopes (B, 3 n) best."""
        if not self.ways.shape[1]:
            return np.zeros(self.ways.shape[:2])
        return apply(self._roots, apply(self.ways, slope.take(self._axes, axis=1)))

    def reduce(
        self, rows: Counts | slice, system: Array, right: Array, scale: Array
    ) -> tuple[Array, Array]:
        """Return systems (b, m, m) of some chains, and their right, that leave the outputs alone.

        Turns that move them resist by a scale (b,).
        """
        if not self.ways.shape[1]:
            return system, right
        ways = self.ways[rows]
        back = ways.swapaxes(1, 2)
        across = ways @ system
        ends = across @ back + scale[:, None, None] * np.eye(ways.shape[1])
        across -= 0.5 * ends @ ways
        pairs = back @ across
        return system - pairs - pairs.swapaxes(1, 2), right - apply(back, apply(ways, right))
