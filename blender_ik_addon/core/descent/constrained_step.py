"""The quadratic program of one step of ``feasible_newton``: outputs held, no edge crossed.

Minimise slope . move + move . curvature . move / 2, with J move = residual for held outputs, and
normal . move <= room for edges. Chains come first, as in ``algebra.chains_first``.

Source: quadratic programs by active sets, null spaces and modified Newton methods (Nocedal and
Wright, "Numerical Optimization", 2006, chapters 3, 16 and 17). Active edges are stiff springs; the
clamp after the step corrects their deflection. Tested against SciPy's SLSQP in
tests/core/equilibrium/test_force_equilibrium.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.chains_first import add_blocks, apply, measure
from ..kinematics.limit_edges import LEAST_LEAVING
from .held_outputs import NO_ENERGY, HeldOutputs
from .near_edges import NearEdges

Curve = Callable[[Array], Array]

# Stiffness below this share of the stiffest row of a system is rounding, of either sign.
SYSTEM_ROUNDING = 1e-15
# Stiffness of the spring of an active edge, in multiples of the stiffest joint.
EDGE_STIFFNESS = 1e7
# Multipliers of edges below this share of the stiffest joint are rounding, of either sign.
DUAL_ROUNDING = 1e-10
# Shift of a system that is not positive definite, in multiples of its lowest eigenvalue. With less
# its step is as long as a step may be, whatever the energy; with more it is short.
SHIFT_MARGIN = 1.3
# Rows of a system beyond which its eigenvalues cost more than attempts with greater shifts, and the
# ratio of each shift to the one before.
MAX_EIGENVALUE_SIZE, RETRY_GROWTH = 100, 4.0
# Largest shift of a system, compared with the stiffest joint.
MAX_SHIFT = 1e8
# Curvature below which a direction leads down from a ridge, compared with the stiffest joint.
NEGATIVE_CURVATURE = -1e-5
# Inverse iterations for the lowest eigenvector: their count, and their shift below its eigenvalue,
# compared with the stiffest joint.
INVERSE_ITERATIONS, BELOW_LOWEST = 3, 1e-7
# Largest count of active sets in a step: a joint that stops at its edge may send another over one.
MAX_PASSES = 6


class ActiveSet(NamedTuple):
    """The active set of a step and its multipliers, where the next step starts from.

    Attributes:
        is_active: Which edges are active, shape (B, n, 3 edges).
        duals: Multipliers of the edges, shape (B, n, 3 edges).
        force: Multipliers of the held outputs, shape (B, k): a result, no step uses them.
    """

    is_active: Flags
    duals: Array
    force: Array


def make_empty(turn: Array, width: int) -> ActiveSet:
    """Return the active set of chains at the start: no edge, and no force on ``width`` outputs."""
    duals = np.zeros((*turn.shape[:2], 3))
    return ActiveSet(duals > 0.0, duals, np.zeros((len(turn), width)))


class ConstrainedStep:
    """The solution of the quadratic program of one step.

    Attributes:
        scale: Stiffness of the stiffest joint, shape (B,).
        move: Turns of the joints, shape (B, n, 3).
        shift: Shift that makes the system positive definite, compared with the scale, shape (B,).
        gain: Predicted saving of energy, without the restoration of outputs, shape (B,).
        active: Active set for the next step.
    """

    def __init__(
        self,
        free_axes: Counts,
        derivatives: tuple[Array, Array],
        held: tuple[HeldOutputs, Array],
        edges: NearEdges | None,
        active: ActiveSet,
        shift: Array,
        shifts: tuple[float, float],
    ) -> None:
        """Solve the quadratic program.

        Args:
            free_axes: Indices of the axes that turn, of the 3 n.
            derivatives: First and second derivatives of the energy, (B, 3 n) and (B, 3 n, 3 n).
            held: The held outputs, and their residual, shape (B, k).
            edges: Edges near to the pose; None where joints have none.
            active: Active set of the step before.
            shift: First shift, compared with the scale, shape (B,).
            shifts: The least shift, and the first larger one, compared with the scale.
        """
        (self._slope, self._curvature), (self._held, residual) = derivatives, held
        self._axes, self._edges, (self._least, self._first) = free_axes, edges, shifts
        self.shift, fixed = shift.copy(), None
        # Half the trace of each joint's block: it does not depend on the axes of the turns.
        diagonal = self._curvature.diagonal(0, 1, 2)
        largest = 0.5 * np.abs(diagonal.reshape(len(shift), -1, 3).sum(axis=2)).max(axis=1)
        # A chain whose joints cannot turn has no stiffness.
        self.scale: Array = np.where(largest > NO_ENERGY, largest, 1.0)
        self._edge_stiffness = (EDGE_STIFFNESS * self.scale)[:, None, None]
        if residual.shape[1]:
            fixed = np.zeros_like(self._slope)
            fixed[:, free_axes] = self._held.restore(residual)
        is_active, duals, _ = active
        if edges is not None:
            # Edges that were active before may be far away now.
            is_active = is_active & edges.is_near
        if edges is not None and edges.has_locks:
            # A lock bears what presses on it from either side. It is curved: without that, an elbow
            # whose twist moves nothing would twist.
            borne = -apply(edges.normals, self._slope.reshape(duals.shape))
            duals = np.where(edges.is_locked, borne, duals)
        if edges is not None and (curved := edges.curve(duals)) is not None:
            self._curvature = _stiffen(self._curvature, curved)
        self.move, self._reaction = np.empty_like(active.duals), np.empty_like(self._slope)
        self._reduced = np.empty((len(shift), free_axes.size, free_axes.size))
        is_active, duals = self._solve_active_set(fixed, is_active, active.duals)
        force = active.force if fixed is None else self._held.find_force(self._reaction)
        self.active = ActiveSet(is_active, duals, force)
        free = self.move.reshape(self._slope.shape)
        if fixed is None:
            mean = self._slope + 0.5 * apply(self._curvature, free)
        else:
            mean, free = self._slope + 0.5 * apply(self._curvature, free + fixed), free - fixed
        self.gain: Array = -(mean * free).sum(axis=1)

    def _solve_active_set(
        self, fixed: Array | None, is_active: Flags, start: Array
    ) -> tuple[Flags, Array]:
        """Compute the moves that cross no edge; return the active edges and their multipliers.

        Args:
            fixed: Turns that restore outputs, shape (B, 3 n); None where none are held.
            is_active: Edges that are active at the start, shape (B, n, 3 edges).
            start: Multipliers at the start, shape (B, n, 3 edges).
        """
        edges, duals, stiffness = self._edges, start, self._edge_stiffness
        least = (-DUAL_ROUNDING * self.scale)[:, None, None]
        rows: Counts | slice = slice(None)
        for _ in range(MAX_PASSES):
            self._solve(rows, fixed, is_active, start)
            if edges is None or not edges.has_any:
                break
            excess = apply(edges.normals, self.move) - edges.rooms
            duals, was_active = np.where(is_active, start + excess * stiffness, 0.0), is_active
            is_active = np.where(is_active, duals > least, excess > LEAST_LEAVING) & edges.is_near
            has_changed = (is_active != was_active).any(axis=(1, 2))
            if not has_changed.any():
                break
            rows = slice(None) if has_changed.all() else np.flatnonzero(has_changed)
        # The multipliers of edges that no move can respect would grow without bound.
        return is_active, np.minimum(np.maximum(duals, 0.0), stiffness)

    def _solve(
        self, rows: Counts | slice, fixed: Array | None, is_active: Flags, duals: Array
    ) -> None:
        """Compute the moves of some chains that respect active edges, with given multipliers.

        The spring of an edge bears its multiplier without giving way: once the multipliers converge
        the edge holds.
        """
        curvature, slope, scale = self._curvature[rows], self._slope[rows], self.scale[rows]
        edges, axes = self._edges, self._axes
        is_stiff = is_active[rows]
        if edges is not None and edges.has_locks:
            is_stiff = is_stiff | edges.is_locked[rows]
        if edges is not None and is_stiff.any():
            normals, stiffness = edges.normals[rows], self._edge_stiffness[rows]
            across = normals.swapaxes(-1, -2)
            curvature = _stiffen(curvature, (across * (stiffness * is_stiff)[:, :, None]) @ normals)
            force = np.where(is_stiff, duals[rows] - stiffness * edges.rooms[rows], 0.0)
            slope = slope + apply(across, force).reshape(slope.shape)
        right = -slope if fixed is None else -slope - apply(curvature, fixed[rows])
        reduced, reduced_right, free = curvature, right, np.zeros_like(right)
        if axes.size < right.shape[1]:
            reduced, reduced_right = curvature.take(axes, 1).take(axes, 2), right.take(axes, 1)
        reduced, reduced_right = self._held.reduce(rows, reduced, reduced_right, scale)
        shifted, self.shift[rows] = self._make_definite(reduced, self.shift[rows], scale)
        free[:, axes] = np.linalg.solve(shifted, reduced_right[..., None])[..., 0]
        self._reduced[rows] = reduced
        if fixed is not None:
            self._reaction[rows] = apply(curvature, free) - right
            free += fixed[rows]
        self.move[rows] = free.reshape(len(free), -1, 3)

    def _make_definite(self, systems: Array, shift: Array, scale: Array) -> tuple[Array, Array]:
        """Return systems (b, m, m) shifted until they are positive definite, and the shifts."""
        # Stiffness below the rounding of the stiffest row is raised above it.
        stiffest = np.abs(systems.diagonal(0, 1, 2)).max(axis=1, initial=0.0)
        sizes = scale, SYSTEM_ROUNDING * stiffest
        shifted = self._add_shift(systems, shift, *sizes)
        if _are_definite(shifted):
            return shifted, shift
        shift = shift.copy()
        if systems.shape[-1] <= MAX_EIGENVALUE_SIZE:
            lowest = np.linalg.eigvalsh(systems)[:, 0]
            needed = np.maximum(-SHIFT_MARGIN * lowest / scale, self._first)
            # Positive definite systems keep their shift, as if they were alone.
            shift = np.where(lowest + self._diagonal_shift(shift, *sizes) > 0.0, shift, needed)
            shifted = self._add_shift(systems, shift, *sizes)
            if _are_definite(shifted):
                return shifted, shift
        for row, system in enumerate(shifted):
            one = slice(row, row + 1)
            while shift[row] < MAX_SHIFT and not _are_definite(system):
                shift[row] = max(RETRY_GROWTH * shift[row], self._first)
                system = self._add_shift(systems[one], shift[one], *(size[one] for size in sizes))
        return self._add_shift(systems, shift, *sizes), shift

    def _add_shift(self, systems: Array, shift: Array, scale: Array, least: Array) -> Array:
        """Return systems (b, m, m) with the ``_diagonal_shift`` added."""
        shifted, added = systems.copy(), self._diagonal_shift(shift, scale, least)
        shifted.reshape(len(shifted), -1)[:, :: systems.shape[-1] + 1] += added[:, None]
        return shifted

    def _diagonal_shift(self, shift: Array, scale: Array, least: Array) -> Array:
        """Return the additions (b,) to the diagonals for shifts (b,), at least the least."""
        return np.maximum((self._least + shift) * scale, least)

    def find_negative_curvature(self, rests: Flags) -> tuple[Array, Flags]:
        """Return directions (B, n, 3) of the most negative curvature, and which chains have one.

        Args:
            rests: Which chains to search, shape (B,): those whose systems are shifted.
        """
        move, is_down, rows = np.zeros_like(self._slope), rests.copy(), np.flatnonzero(rests)
        reduced, scale = self._reduced[rows], self.scale[rows]
        lowest = np.linalg.eigvalsh(reduced)[:, 0]
        # NumPy computes eigenvectors in several threads, which wait for each other for 50 ms while
        # other programs are busy.
        shifted = reduced - (lowest - BELOW_LOWEST * scale)[:, None, None] * np.eye(
            reduced.shape[1]
        )
        # Of two directions that mirror each other always the same one, whatever the rounding.
        vector = np.tile(np.arange(1.0, reduced.shape[1] + 1.0), (len(rows), 1))
        for _ in range(INVERSE_ITERATIONS):
            vector = np.linalg.solve(shifted, vector[..., None])[..., 0]
            vector /= measure(vector)[:, None]
        move[rows[:, None], self._axes] = vector
        is_down[rows] = lowest < NEGATIVE_CURVATURE * scale
        moves = move.reshape(self.move.shape)
        largest = measure(moves).max(axis=1)
        is_down &= largest > 0.0
        return moves / np.where(largest > 0.0, largest, 1.0)[:, None, None], is_down


def _stiffen(curvature: Array, blocks: Array) -> Array:
    """Return curvatures (B, 3 n, 3 n) with the blocks (B, n, 3, 3) of the joints added."""
    curvature = curvature.copy()
    add_blocks(curvature, blocks)
    return curvature


def _are_definite(systems: Array) -> bool:
    """Return whether all symmetric systems (..., m, m) are positive definite."""
    try:
        np.linalg.cholesky(systems)
    except np.linalg.LinAlgError:
        return False
    return True
