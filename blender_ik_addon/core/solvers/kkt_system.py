"""Newton's method on an energy of poses, some outputs held, along the edges of ranges pressed on.

Layout as in ``arrays``; turns of joints act before their own, as everywhere in
``kinematic_tree``. The system itself has the chains first, as NumPy solves stacks of matrices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.arrays import dot, norm, skew
from ..kinematics import limit_edges
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.limit_edges import NEAR, ON_EDGE
from ..kinematics.posed import Posed
from .newton_joints import MOST_PASSES

# Less energy than this is none.
NO_ENERGY = 1e-30
# A joint that turns less readily than this across an edge does not cross it.
NO_WAY = 1e-12
# A way leads down if the energy curves so much, compared with the stiffest joint.
LEADS_DOWN = -1e-7


class KktSystem:
    """The equations of one step, and which edges they count with.

    Edges that joints press on, or that a step would cross, are shut: turns lead along them only.
    """

    def __init__(
        self,
        tree: KinematicTree,
        turn: Array,
        slope: Array,
        curve: Callable[[Array], Array],
        jacobian: Array,
        damping: Array,
    ) -> None:
        """Take trees at poses with turns (n, 4, B), and an energy there.

        Args:
            tree: The trees.
            turn: Their poses.
            slope: First derivatives of the energy by turns of the joints, shape (n, 3, B).
            curve: From a force (k, B) on the outputs that are held to the second derivatives of the
                energy less the force's work, shape (B, 3 n, 3 n).
            jacobian: Of the k outputs that are held, shape (n, k, 3, B).
            damping: Compared with the stiffest joint, above zero, shape (B,).
        """
        joints = tree.joints
        self._jacobian, self._axes = jacobian, joints.free_axes
        edges = joints.edges(turn, NEAR)
        self._free = joints.mobilities(turn, edges)
        self._edges = replace(edges, is_on=edges.is_on & ~joints.is_held)
        self._is_plain = not (joints.has_stiffness or joints.held_bones.size)
        self._has_edges = bool(self._edges.is_on.any())
        self._slope, self._edge_curvature = slope, None
        self._shut(np.zeros_like(edges.is_on))
        force = self._find_balancing_force()
        if self._has_edges:
            self._rooms = limit_edges.find_rooms(joints.ranges, turn, self._edges)
            press = self._edges.along(_turn_by(self._free, self._find_left_torque(force)))
            self._shut(self._edges.is_on & (self._rooms <= ON_EDGE) & (press > 0.0))
            force = self._find_balancing_force()
            press = np.maximum(self._edges.along(self._find_left_torque(force)), 0.0)
            curved = limit_edges.measure_curvatures(joints.ranges, turn, self._edges)
            self._edge_curvature = curved * press[:, :, None, None]
        self._curvature = curve(force)
        diagonal = np.abs(np.einsum("bkk->bk", self._curvature)).max(axis=1)
        largest = np.maximum(diagonal, norm(self._slope).max(axis=0))
        # Of joints that cannot turn nothing is known.
        self.scale = np.where(largest > NO_ENERGY, largest, 1.0)
        self._floor = damping * self.scale
        # A force in units of the stiffest joint keeps the system well scaled.
        self._unit = self.scale / tree.reach
        self._build()

    def _find_left_torque(self, force: Array) -> Array:
        """Return the torques (n, 3, B) that a force (k, B) and the slopes leave to edges."""
        torque: Array = np.einsum("nkcb,kb->ncb", self._jacobian, force) - self._slope
        return torque

    def _find_balancing_force(self) -> Array:
        """Return the force on the outputs that best balances the slopes, shape (k, B)."""
        held = self._held_jacobian
        if not held.shape[1]:
            return np.zeros((0, len(held)))
        system = held @ held.transpose(0, 2, 1)
        trace = np.einsum("bkk->b", system)
        system += (1e-9 * trace + 1e-300)[:, None, None] * np.eye(system.shape[-1])
        slope = self._flatten(_turn_by(self._held, self._slope))
        force: Array = np.linalg.solve(system, held @ slope[..., None])[..., 0].T
        return force

    def _shut(self, is_shut: Flags) -> None:
        """Shut edges: hold turns across them, and find the turns (n, 3, B) that lead onto them."""
        self._is_shut, held, self._onto = is_shut, self._free, np.zeros_like(self._slope)
        for edge in np.flatnonzero(is_shut.any(axis=(0, 2))):
            normal = self._edges.normals[:, edge]
            way = _turn_by(held, normal)
            size = dot(way, normal)
            leads = is_shut[:, edge] & (size > NO_WAY)
            rooms = self._rooms[:, edge] - dot(self._onto, normal)
            self._onto += way * (np.where(leads, rooms, 0.0) / np.where(leads, size, 1.0))[:, None]
            held = limit_edges.block_normals(held, normal, is_shut[:, edge])
        self._held, jacobian = held, self._jacobian
        self._is_held = bool(is_shut.any()) or not self._is_plain
        if self._is_held:
            jacobian = np.einsum("nkab,nacb->nkcb", jacobian, held)
        flat = jacobian.transpose(3, 1, 0, 2).reshape(
            jacobian.shape[-1], jacobian.shape[1], 3 * len(jacobian)
        )
        self._held_jacobian = flat[:, :, self._axes]

    def _build(self) -> None:
        """Build the system, for the axes about which joints turn."""
        size, rows = self._axes.size, self._jacobian.shape[1]
        curved = self._hold_curvature()
        self._turning = curved[:, self._axes[:, None], self._axes]
        self._turning += self._floor[:, None, None] * np.eye(size)
        whole = np.zeros((len(curved), size + rows, size + rows))
        whole[:, :size, :size] = self._turning
        whole[:, size:, :size] = self._held_jacobian * self._unit[:, None, None]
        whole[:, :size, size:] = whole[:, size:, :size].transpose(0, 2, 1)
        give = np.arange(size, size + rows)
        whole[:, give, give] = -1e-12 * self.scale[:, None]
        self._whole = whole

    def _hold_curvature(self) -> Array:
        """Return the curvature along held turns, (B, 3 n, 3 n)."""
        curved = self._curvature
        if not self._is_held:
            return curved
        held = np.ascontiguousarray(self._held.transpose(3, 0, 1, 2))
        if self._edge_curvature is not None:
            curved = curved.copy()
            add_blocks(curved, np.einsum("neijb,neb->nijb", self._edge_curvature, self._is_shut))

        def hold(matrix: Array) -> Array:
            blocks: Array = held @ matrix.reshape(*held.shape[:2], 3, -1)
            return blocks.reshape(matrix.shape)

        # Symmetric: what is held on one side is held on the other one once it is turned about.
        return hold(hold(curved).transpose(0, 2, 1))

    def solve(self, error: Array) -> tuple[Array, Array, Array]:
        """Return turns (n, 3, B), the force (k, B), and how the energy curves along, (B,).

        Args:
            error: What is left to the outputs that are held, shape (k, B).
        """
        for _ in range(MOST_PASSES):
            found, force = self._solve(error)
            move = self._onto + self._turn_along(found)
            if not self._has_edges:
                break
            torque = _turn_by(self._free, self._find_left_torque(force) - self._bend(move))
            is_shut = self._edges.find_pressed(self._is_shut, torque, move, self._rooms)
            if (is_shut == self._is_shut).all():
                break
            self._shut(is_shut)
            self._build()
        return move, force, np.einsum("bi,bij,bj->b", found, self._turning, found)

    def _solve(self, error: Array) -> tuple[Array, Array]:
        slope, size = self._slope, self._axes.size
        if self._onto.any():
            slope = slope + self._bend(self._onto)
            error = error - np.einsum("nkab,nab->kb", self._jacobian, self._onto)
        right = np.empty(self._whole.shape[:2])
        right[:, :size] = -self._flatten(_turn_by(self._held, slope))
        right[:, size:] = (error * self._unit).T
        found = np.linalg.solve(self._whole, right[..., None])[..., 0]
        return found[:, :size], -(found[:, size:].T) * self._unit

    def find_way_down(self, largest_turn: Array) -> tuple[Array, Flags]:
        """Return moves (n, 3, B) along which the energy curves down most, and where it does.

        No joint turns farther than the largest turns (B,).
        """
        size = self._axes.size
        pulls = self._whole[:, size:, :size]
        # What is left of turns that leave the effector where it is; aims that are not there pull
        # with nothing.
        inverse = np.linalg.pinv(pulls @ pulls.transpose(0, 2, 1), hermitian=True)
        moving = pulls.transpose(0, 2, 1) @ inverse @ pulls
        resting = np.eye(size) - moving
        curved = resting @ self._turning @ resting + self.scale[:, None, None] * moving
        values, ways = np.linalg.eigh(curved)
        # Of two ways down that mirror each other always the same, not as rounding has it.
        side = np.sign(ways[:, :, 0] @ np.arange(1.0, size + 1.0))
        move = self._turn_along(side[:, None] * ways[:, :, 0])
        largest = norm(move).max(axis=0)
        move = move * (largest_turn / np.where(largest > 0.0, largest, 1.0))
        return move, (values[:, 0] < LEADS_DOWN * self.scale) & (largest > 0.0)

    def _bend(self, move: Array) -> Array:
        """Return how a move (n, 3, B) changes the slopes, shape (n, 3, B)."""
        changed = np.einsum("bij,jb->ib", self._curvature, move.reshape(-1, move.shape[-1]))
        bend: Array = changed.reshape(move.shape)
        return bend

    def _flatten(self, turn: Array) -> Array:
        """Return turns of all joints (n, 3, B) as those about the axes, (B, m)."""
        return turn.reshape(-1, turn.shape[-1])[self._axes].T

    def _turn_along(self, found: Array) -> Array:
        """Return what turns about the axes (B, m) make of all joints as held, (n, 3, B)."""
        turn = np.zeros(self._slope.shape)
        turn.reshape(-1, len(found))[self._axes] = found.T
        return _turn_by(self._held, turn) if self._is_held else turn


def _turn_by(mobility: Array, torque: Array) -> Array:
    """Return the turns (n, 3, B) that mobilities (n, 3, 3, B) make of torques."""
    turn: Array = np.einsum("nacb,ncb->nab", mobility, torque)
    return turn


def add_blocks(matrix: Array, blocks: Array) -> None:
    """Add blocks (n, 3, 3, B), one a joint, to the diagonals of matrices (B, 3 n, 3 n)."""
    count = len(blocks)
    bones = np.arange(count)
    matrix.reshape(-1, count, 3, count, 3)[:, bones, :, bones] += blocks.transpose(0, 3, 1, 2)


def curve_work(posed: Posed, pulls: Array, moved: Array, turning: Flags) -> Array:
    """Return the second derivatives of the work of pulls, less than zero, shape (B, 3 n, 3 n).

    Of what a turn about joint j moves, a turn about a joint i that turns j turns the way: for
    frames F, of a pull f on what moves by C_j with the turns of j, the derivative is
    -[F_i^T f] F_i^-1 C_j; for one joint alone the symmetric half of that.

    Args:
        posed: Where bones are.
        pulls: Shape (p, 3, B).
        moved: How what is pulled moves with turns of the joints, shape (n, 3 p, 3, B).
        turning: As ``Topology.turns``.

    Source: derived for this project, and tested against differences in
    tests/core/equilibrium/test_potential_energy.py.
    """
    count, _, _, chains = moved.shape
    local = np.einsum("nikb,pib->pnkb", posed.frames, pulls)
    turned = np.einsum("pnijb,njkb->bnipk", skew(local), posed.inverse_frames)
    right = moved.transpose(3, 1, 0, 2).reshape(chains, -1, 3 * count)
    pairs = (turned.reshape(chains, 3 * count, -1) @ right).reshape(chains, count, 3, count, 3)
    pairs *= (turning + 0.5 * np.eye(count))[:, None, :, None]
    half = pairs.reshape(chains, 3 * count, 3 * count)
    whole: Array = half + half.transpose(0, 2, 1)
    return whole
