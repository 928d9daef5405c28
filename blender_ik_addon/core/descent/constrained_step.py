"""The quadratic program of one step of ``feasible_newton``: outputs held, no edge crossed.

Least slope . move + move . curvature . move / 2, with J move = error for outputs that are held, and
normal . move <= room for edges. Chains come first, as in ``algebra.chains_first``.

Source: quadratic programs by active sets, null spaces and modified Newton methods (Nocedal and
Wright, "Numerical Optimization", 2006, chapters 3, 16 and 17). Edges that are shut are stiff
springs, which the clamp after the step makes good. Tested against SciPy's SLSQP in
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

# What resists less than this share of the stiffest row of a system is rounding, of either sign.
ROUNDING = 1e-15
# A shut edge is a spring so many times as stiff as the stiffest joint.
STIFF = 1e7
# A press on an edge that is a smaller share of the stiffest joint is rounding, of either sign.
NO_PRESS = 1e-10
# A system that is not positive definite is shifted by so many times its lowest eigenvalue: by less
# its step is as long as a step may be, whatever the energy; by more it is timid.
FARTHER = 1.3
# Eigenvalues of larger systems cost more than to try greater shifts, each so many times the last.
MOST_FOR_EIGENVALUES, GROWTH = 100, 4.0
# The most that a system is shifted by, compared with the stiffest joint.
MOST_SHIFT = 1e8
# A way leads down if the energy curves so much, compared with the stiffest joint.
LEADS_DOWN = -1e-5
# The way down is found by so many inverse iterations, so far below the lowest eigenvalue.
INVERSE_STEPS, BESIDE = 3, 1e-7
# A joint that its edge has stopped may send another over its own: that is looked at so often.
MOST_PASSES = 6


class Known(NamedTuple):
    """What a step knows of the one before: the edges that were shut, and what pressed on what.

    Attributes:
        is_shut: Shape (B, n, 3 edges).
        press: Of joints on edges, shape (B, n, 3 edges).
        force: On the outputs that are held, shape (B, k); told at the end, no step goes by it.
    """

    is_shut: Flags
    press: Array
    force: Array


def forget(turn: Array, width: int) -> Known:
    """Return what is known of chains at first: that nothing presses, for so many held outputs."""
    press = np.zeros((*turn.shape[:2], 3))
    return Known(press > 0.0, press, np.zeros((len(turn), width)))


class ConstrainedStep:
    """One step.

    Attributes:
        scale: The stiffest joint, shape (B,).
        move: Turns of the joints, shape (B, n, 3).
        shift: With which the system is positive definite, compared with the scale, shape (B,).
        gain: What it should save, but for bringing outputs back, shape (B,).
        known: For the next step.
    """

    def __init__(
        self,
        free_axes: Counts,
        derivatives: tuple[Array, Array],
        held: tuple[HeldOutputs, Array],
        edges: NearEdges | None,
        known: Known,
        shift: Array,
        shifts: tuple[float, float],
    ) -> None:
        """Find the step.

        Args:
            free_axes: Which axes turn, of the 3 n.
            derivatives: First and second ones of the energy, (B, 3 n) and (B, 3 n, 3 n).
            held: What is held, and by how much it is off, shape (B, k).
            edges: Those near to the pose; None where joints have none.
            known: Of the step before.
            shift: To begin with, shape (B,).
            shifts: The least, and the first larger one, compared with the scale.
        """
        (self._slope, self._curvature), (self._held, error) = derivatives, held
        self._axes, self._edges, (self._least, self._first) = free_axes, edges, shifts
        self.shift, lead = shift.copy(), None
        # Of each joint's block half the trace: it does not depend on the axes that turns count in.
        diagonal = self._curvature.diagonal(0, 1, 2)
        largest = 0.5 * np.abs(diagonal.reshape(len(shift), -1, 3).sum(axis=2)).max(axis=1)
        # Of joints that cannot turn nothing is known.
        self.scale: Array = np.where(largest > NO_ENERGY, largest, 1.0)
        self._stiff = (STIFF * self.scale)[:, None, None]
        if error.shape[1]:
            lead = np.zeros_like(self._slope)
            lead[:, free_axes] = self._held.lead(error)
        is_shut, press, _ = known
        if edges is not None:
            # Some that were shut before may be far away now.
            is_shut = is_shut & edges.is_near
        if edges is not None and (bent := edges.bend(press)) is not None:
            self._curvature = _stiffen(self._curvature, bent)
        self.move, self._left = np.empty_like(known.press), np.empty_like(self._slope)
        self._reduced = np.empty((len(shift), free_axes.size, free_axes.size))
        is_shut, press = self._find_pressed(lead, is_shut, known.press)
        force = known.force if lead is None else self._held.find_force(self._left)
        self.known = Known(is_shut, press, force)
        free = self.move.reshape(self._slope.shape)
        if lead is None:
            middle = self._slope + 0.5 * apply(self._curvature, free)
        else:
            middle, free = self._slope + 0.5 * apply(self._curvature, free + lead), free - lead
        self.gain: Array = -(middle * free).sum(axis=1)

    def _find_pressed(
        self, lead: Array | None, is_shut: Flags, known: Array
    ) -> tuple[Flags, Array]:
        """Find the moves that cross no edge; return which are shut then, and what presses on them.

        Args:
            lead: Turns that bring outputs back, shape (B, 3 n); None where none are held.
            is_shut: Which edges are shut at first, shape (B, n, 3 edges).
            known: What is known to press on them, likewise.
        """
        edges, press, stiff = self._edges, known, self._stiff
        none = (-NO_PRESS * self.scale)[:, None, None]
        rows: Counts | slice = slice(None)
        for _ in range(MOST_PASSES):
            self._solve(rows, lead, is_shut, known)
            if edges is None or not edges.has_any:
                break
            beyond = apply(edges.normals, self.move) - edges.rooms
            press, is_last = np.where(is_shut, known + beyond * stiff, 0.0), is_shut
            is_shut = np.where(is_shut, press > none, beyond > LEAST_LEAVING) & edges.is_near
            has_changed = (is_shut != is_last).any(axis=(1, 2))
            if not has_changed.any():
                break
            rows = slice(None) if has_changed.all() else np.flatnonzero(has_changed)
        # Edges that no move can keep to would press ever more.
        return is_shut, np.minimum(np.maximum(press, 0.0), stiff)

    def _solve(
        self, rows: Counts | slice, lead: Array | None, is_shut: Flags, press: Array
    ) -> None:
        """Find the moves of some chains that keep to shut edges, on which joints press.

        What is known to press is what edges bear without giving way: as it settles they hold.
        """
        curved, slope, scale = self._curvature[rows], self._slope[rows], self.scale[rows]
        edges, axes = self._edges, self._axes
        stiff = is_shut[rows]
        if edges is not None and edges.has_locks:
            stiff = stiff | edges.is_locked[rows]
        if edges is not None and stiff.any():
            normals, strength = edges.normals[rows], self._stiff[rows]
            across = normals.swapaxes(-1, -2)
            curved = _stiffen(curved, (across * (strength * stiff)[:, :, None]) @ normals)
            borne = np.where(stiff, press[rows] - strength * edges.rooms[rows], 0.0)
            slope = slope + apply(across, borne).reshape(slope.shape)
        right = -slope if lead is None else -slope - apply(curved, lead[rows])
        reduced, chosen, free = curved, right, np.zeros_like(right)
        if axes.size < right.shape[1]:
            reduced, chosen = curved.take(axes, 1).take(axes, 2), right.take(axes, 1)
        reduced, chosen = self._held.reduce(rows, reduced, chosen, scale)
        shifted, self.shift[rows] = self._make_positive(reduced, self.shift[rows], scale)
        free[:, axes] = np.linalg.solve(shifted, chosen[..., None])[..., 0]
        self._reduced[rows] = reduced
        if lead is not None:
            self._left[rows] = apply(curved, free) - right
            free += lead[rows]
        self.move[rows] = free.reshape(len(free), -1, 3)

    def _make_positive(self, systems: Array, shift: Array, scale: Array) -> tuple[Array, Array]:
        """Return systems (b, m, m) shifted until they are positive definite, and the shifts."""
        # What resists less than rounding of the stiffest row is lifted above it.
        stiffest = np.abs(systems.diagonal(0, 1, 2)).max(axis=1, initial=0.0)
        sizes = scale, ROUNDING * stiffest
        raised = self._raise(systems, shift, *sizes)
        if _are_positive(raised):
            return raised, shift
        shift = shift.copy()
        if systems.shape[-1] <= MOST_FOR_EIGENVALUES:
            lowest = np.linalg.eigvalsh(systems)[:, 0]
            more = np.maximum(-FARTHER * lowest / scale, self._first)
            # Those that were positive stay, as they do where nothing beside them was not.
            shift = np.where(lowest + self._find_rise(shift, *sizes) > 0.0, shift, more)
            raised = self._raise(systems, shift, *sizes)
            if _are_positive(raised):
                return raised, shift
        for row, system in enumerate(raised):
            at = slice(row, row + 1)
            while shift[row] < MOST_SHIFT and not _are_positive(system):
                shift[row] = max(GROWTH * shift[row], self._first)
                system = self._raise(systems[at], shift[at], *(size[at] for size in sizes))
        return self._raise(systems, shift, *sizes), shift

    def _raise(self, systems: Array, shift: Array, scale: Array, least: Array) -> Array:
        """Return systems (b, m, m) with shifts (b,) on their diagonals, no less than the least."""
        raised, rise = systems.copy(), self._find_rise(shift, scale, least)
        raised.reshape(len(raised), -1)[:, :: systems.shape[-1] + 1] += rise[:, None]
        return raised

    def _find_rise(self, shift: Array, scale: Array, least: Array) -> Array:
        """Return what shifts (b,) put on diagonals, no less than the least."""
        return np.maximum((self._least + shift) * scale, least)

    def find_way_down(self, rests: Flags) -> tuple[Array, Flags]:
        """Return moves (B, n, 3) along which the energy curves down most, and where it does.

        Args:
            rests: Of which chains to tell, shape (B,): those whose systems are shifted.
        """
        move, leads_down, rows = np.zeros_like(self._slope), rests.copy(), np.flatnonzero(rests)
        reduced, scale = self._reduced[rows], self.scale[rows]
        lowest = np.linalg.eigvalsh(reduced)[:, 0]
        # NumPy finds the vectors of all eigenvalues in several threads, which wait for each other
        # for 50 ms where other programs are busy.
        raised = reduced - (lowest - BESIDE * scale)[:, None, None] * np.eye(reduced.shape[1])
        # Of two ways down that mirror each other always the same, not as rounding has it.
        down = np.tile(np.arange(1.0, reduced.shape[1] + 1.0), (len(rows), 1))
        for _ in range(INVERSE_STEPS):
            down = np.linalg.solve(raised, down[..., None])[..., 0]
            down /= measure(down)[:, None]
        move[rows[:, None], self._axes] = down
        leads_down[rows] = lowest < LEADS_DOWN * scale
        ways_down = move.reshape(self.move.shape)
        largest = measure(ways_down).max(axis=1)
        leads_down &= largest > 0.0
        return ways_down / np.where(largest > 0.0, largest, 1.0)[:, None, None], leads_down


def _stiffen(curved: Array, blocks: Array) -> Array:
    """Return curvatures (B, 3 n, 3 n) with more at each joint, (B, n, 3, 3)."""
    curved = curved.copy()
    add_blocks(curved, blocks)
    return curved


def _are_positive(systems: Array) -> bool:
    """Tell whether symmetric systems (..., m, m) are positive definite, all of them."""
    try:
        np.linalg.cholesky(systems)
    except np.linalg.LinAlgError:
        return False
    return True
