"""The equations of one step of ``feasible_newton``: an energy's curvature, and what is held.

Chains come first, as in ``posed_rows``.

Source: reduced Hessians, active sets and modified Newton methods (Nocedal and Wright, "Numerical
Optimization", 2006, chapters 3, 16 and 18); the projection by the eigenvectors of J J^T, which
knows rows that straight chains lose, is derived for this project and tested against SciPy's SLSQP
in tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

from collections.abc import Callable
from types import EllipsisType

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from .posed_rows import measure
from .pressed_edges import PressedEdges

Curve = Callable[[Array, Array], Array]

# Less energy than this is none.
NO_ENERGY = 1e-30
# Outputs that move less than this share of what others do, squared, cannot be held. Ten times more,
# and chains that are nearly straight are; a hundred times less, and rounding is held.
LEAST_HELD = 1e-13
# A system that is not positive definite is shifted by so many times its lowest eigenvalue: by less
# its step is as long as a step may be, whatever the energy; by more it is timid.
FARTHER = 1.3
# Eigenvalues of larger systems cost more than to try greater shifts, each so many times the last.
MOST_FOR_EIGENVALUES, GROWTH = 60, 4.0
# The most that a system is shifted by, compared with the stiffest joint.
MOST_SHIFT = 1e8
# A way leads down if the energy curves so much, compared with the stiffest joint.
LEADS_DOWN = -1e-7
# A joint that its edge has stopped may send another over its own: that is looked at so often.
MOST_PASSES = 6


class ReducedSystem:
    """The equations of one step, and which edges they count with.

    Edges that joints press on, or that a step would cross, are shut: turns lead along them only.
    """

    def __init__(
        self,
        free_axes: Counts,
        derivatives: tuple[Array, Curve],
        jacobian: Array,
        edges: PressedEdges | None,
        shifts: tuple[float, float],
    ) -> None:
        """Take an energy at poses.

        Args:
            free_axes: About which joints turn, of three a bone.
            derivatives: First ones (B, 3 n), and a function from the Jacobian and a force on the
                held outputs to second ones, less those of the force's work.
            jacobian: Of the outputs that are held, shape (B, k, 3 n).
            edges: Those near to the poses, or None.
            shifts: The least, and the first larger one, compared with the stiffest joint.
        """
        self._axes, self._edges, (slope, curve) = free_axes, edges, derivatives
        self._slope, self._jacobian = slope, jacobian
        self._least, self._first = shifts
        self._reduce_rows()
        if edges is not None and edges.shut_pressed(self._find_left(self._find_force(slope))):
            self._reduce_rows()
        force = self._find_force(slope)
        self._curvature = curve(jacobian, force)
        if edges is not None:
            edges.weigh_curvatures(self._find_left(force))
        # Of each joint's block half the trace: it does not depend on the axes that turns count in.
        diagonal = np.einsum("bkk->bk", self._curvature).reshape(len(slope), -1, 3)
        largest = 0.5 * np.abs(diagonal.sum(axis=2)).max(axis=1)
        # Of joints that cannot turn nothing is known.
        self.scale: Array = np.where(largest > NO_ENERGY, largest, 1.0)

    def _reduce_rows(self) -> None:
        """Find ways (B, k, m), at right angles, that move held outputs; zero for rows lost."""
        jacobian = self._jacobian
        if self._edges is not None:
            jacobian = self._edges.hold_rows(jacobian)
        jacobian = jacobian[..., self._axes]
        values, vectors = np.linalg.eigh(jacobian @ jacobian.swapaxes(1, 2))
        least = LEAST_HELD * values.sum(axis=1, keepdims=True) + NO_ENERGY
        root = np.where(values > least, 1.0 / np.sqrt(np.maximum(values, least)), 0.0)
        self._roots = root[:, None] * vectors
        self._ways = self._roots.swapaxes(1, 2) @ jacobian

    def _find_force(self, slope: Array) -> Array:
        """Return the force (B, k) on the outputs that best balances slopes (B, 3 n)."""
        held = slope if self._edges is None else self._edges.hold_flat(slope)
        along = self._ways @ held[:, self._axes, None]
        force: Array = (self._roots @ along)[..., 0]
        return force

    def _find_left(self, force: Array) -> Array:
        """Return the torques (B, n, 3) that a force (B, k) and the slopes leave to edges."""
        left = (force[:, None] @ self._jacobian)[:, 0] - self._slope
        return left.reshape(len(left), -1, 3)

    def solve(self, error: Array, shift: Array) -> tuple[Array, Array, Array]:
        """Return turns (B, n, 3), the force (B, k), and shifts (B,) large enough.

        Args:
            error: What is left to the outputs that are held, shape (B, k).
            shift: To begin with, shape (B,).
        """
        edges, chains = self._edges, len(shift)
        for _ in range(MOST_PASSES):
            found, shift = self._solve(error, shift)
            move = np.zeros_like(self._slope)
            move[:, self._axes] = found
            move = move.reshape(chains, -1, 3)
            if edges is not None:
                move = edges.onto + edges.hold(move)
            bent = self._slope + (self._curvature @ move.reshape(chains, -1, 1))[..., 0]
            force = self._find_force(bent)
            if edges is None:
                break
            left = (force[:, None] @ self._jacobian)[:, 0] - bent
            if not edges.shut_crossed(left.reshape(move.shape), move):
                break
            self._reduce_rows()
        return move, force, shift

    def _solve(self, error: Array, shift: Array) -> tuple[Array, Array]:
        curved, slope, edges = self._curvature, self._slope, self._edges
        if edges is not None:
            onto = edges.onto.reshape(slope.shape)
            slope = edges.hold_flat(slope + (curved @ onto[..., None])[..., 0])
            error = error - (self._jacobian @ onto[..., None])[..., 0]
            curved = edges.hold_curvature(curved)
        axes, ways = self._axes, self._ways
        if axes.size < slope.shape[1]:
            curved = curved[:, axes[:, None], axes]
        slope = slope[:, axes, None]
        back = ways.swapaxes(1, 2)
        across = ways @ curved
        ends = across @ back + self.scale[:, None, None] * np.eye(ways.shape[1])
        across -= 0.5 * ends @ ways
        pairs = back @ across
        self._reduced = curved - pairs - pairs.swapaxes(1, 2)
        lead = back @ (self._roots.swapaxes(1, 2) @ error[..., None])
        right = -slope - curved @ lead
        right -= back @ (ways @ right)
        shifted, shift = self._shift(shift)
        free = np.linalg.solve(shifted, right)
        self.gain: Array = 0.5 * (right.swapaxes(1, 2) @ free)[:, 0, 0]
        found: Array = (lead + free)[..., 0]
        return found, shift

    def _shift(self, shift: Array) -> tuple[Array, Array]:
        """Return positive definite systems, and the shifts (B,) that make them so."""
        raised = self._raise(shift)
        if _are_positive(raised):
            return raised, shift
        if self._reduced.shape[-1] > MOST_FOR_EIGENVALUES:
            shift = shift.copy()
            for row, system in enumerate(raised):
                while shift[row] < MOST_SHIFT and not _are_positive(system):
                    shift[row] = max(GROWTH * shift[row], self._first)
                    system = self._raise(shift, row)
        else:
            lowest = np.linalg.eigvalsh(self._reduced)[:, 0] / self.scale
            is_fit = lowest + self._least + shift > 0.0
            shift = np.where(is_fit, shift, np.maximum(-FARTHER * lowest, self._first))
        return self._raise(shift), shift

    def _raise(self, shift: Array, rows: int | EllipsisType = ...) -> Array:
        """Return some of the systems with shifts (B,) on their diagonals."""
        least = ((self._least + shift) * self.scale)[rows, None, None]
        raised: Array = self._reduced[rows] + least * np.eye(self._reduced.shape[-1])
        return raised

    def find_way_down(self, rests: Flags) -> tuple[Array, Flags]:
        """Return moves (B, n, 3) along which the energy curves down most, and where it does."""
        move = np.zeros((len(rests), self._slope.shape[1]))
        leads_down = np.zeros_like(rests)
        for row in np.flatnonzero(rests):
            least = self._least * self.scale[row] * np.eye(self._reduced.shape[-1])
            if _are_positive(self._reduced[row] + least):
                continue
            values, ways = np.linalg.eigh(self._reduced[row])
            # Of two ways down that mirror each other always the same, not as rounding has it.
            side = np.sign(ways[:, 0] @ np.arange(1.0, len(ways) + 1.0))
            move[row, self._axes] = side * ways[:, 0]
            leads_down[row] = values[0] < LEADS_DOWN * self.scale[row]
        ways_down = move.reshape(len(rests), -1, 3)
        if self._edges is not None:
            ways_down = self._edges.hold(ways_down)
        largest = measure(ways_down).max(axis=1)
        leads_down &= largest > 0.0
        return ways_down / np.where(largest > 0.0, largest, 1.0)[:, None, None], leads_down


def _are_positive(systems: Array) -> bool:
    """Tell whether symmetric systems (..., m, m) are positive definite, all of them."""
    try:
        np.linalg.cholesky(systems)
    except np.linalg.LinAlgError:
        return False
    return True
