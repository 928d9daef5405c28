"""The KKT system of one step to equilibrium: turns of all joints, and the force on the effector.

Layout as in ``arrays``; turns of joints act before their own, as everywhere in
``kinematic_tree``. The system itself has the chains first, as NumPy solves stacks of matrices.
"""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.arrays import dot, norm, skew
from ..kinematics import limit_edges
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed
from ..solvers.active_limits import LEAST_LEAVING
from ..solvers.newton_joints import MOST_PASSES
from .near_edges import NearEdges, find_near_edges
from .potential_energy import EnergyAt, PotentialEnergy, Sides

# Passes in which a spring that a move leads away from is left out again.
GIVING_WAY = 2
# The curvature at a pose says little beyond this turn, in radians.
LARGEST_TURN = 1.2
# Damping that is always there, compared with the stiffest joint: some joints resist nothing.
LEAST_STIFFNESS = 1e-5
# Less energy than this is none.
NO_ENERGY = 1e-30
# A joint that turns less readily than this across an edge does not cross it.
NO_WAY = 1e-12
# A way leads down if the energy curves so much, compared with the stiffest joint.
LEADS_DOWN = -1e-7


class KktSystem:
    """The equations of one step, and which edges and springs they count with.

    Edges that joints press on, or that a step would cross, are shut: turns lead along them only.
    """

    def __init__(
        self,
        chain: KinematicTree,
        energy: PotentialEnergy,
        posed: Posed,
        turn: Array,
        damping: Array,
    ) -> None:
        """Take chains at poses with turns (n, 4, B), and dampings (B,)."""
        self.at = energy.at(posed, turn)
        self._energy, self._turn, self._axes = energy, turn, chain.joints.free_axes
        self._edges = NearEdges(chain.joints.ranges, turn, chain.joints.no_edges)
        if chain.joints.has_edges:
            self._edges = find_near_edges(chain.joints.ranges, turn)
        self._free = chain.joints.mobilities(turn, self._edges.edges)
        self._is_plain = not chain.joints.held_bones.size
        self._jacobian = chain.find_jacobian(posed)
        self._sides, self._weight = self.at.sides, self.at.weight_torques
        resisting, self._resisting = self.at.bend_springs(self._sides)
        self._slope = resisting - self._weight
        is_on = self._edges.is_on
        self._shut(np.zeros_like(is_on))
        force = self._balancing_force()
        if is_on.any():
            press = self._along_normals(_turn_by(self._free, self._left_torque(force)))
            self._shut(is_on & (press > 0.0))
            force = self._balancing_force()
        self._curvature = curve_energy(self.at, posed, self._jacobian, force, self._resisting)
        diagonal = np.abs(np.einsum("bkk->bk", self._curvature)).max(axis=1)
        largest = np.maximum(diagonal, norm(self._slope).max(axis=0))
        # Of joints that cannot turn nothing is known.
        self.scale = np.where(largest > NO_ENERGY, largest, 1.0)
        self._floor = np.maximum(LEAST_STIFFNESS + damping, 0.0) * self.scale
        # A force in units of the stiffest joint keeps the system well scaled.
        self._unit = self.scale / chain.reach
        self._edge_curvature: Array | None = None
        if self._edges.is_near.any():
            press = np.maximum(self._along_normals(self._left_torque(force)), 0.0)
            self._edge_curvature = self._edges.measure_curvatures() * press[:, :, None, None]
        self._build()

    @property
    def rows(self) -> int:
        """How many outputs are held."""
        return int(self._jacobian.shape[1])

    def _left_torque(self, force: Array) -> Array:
        """Return the torques (n, 3, B) that a force (k, B) and the slopes leave to edges."""
        torque: Array = np.einsum("nkcb,kb->ncb", self._jacobian, force) - self._slope
        return torque

    def _along_normals(self, vector: Array) -> Array:
        along: Array = np.einsum("neib,nib->neb", self._edges.normals, vector)
        return along

    def _balancing_force(self) -> Array:
        """Return the force on the effector that best balances the slopes, shape (k, B)."""
        system = self._held_jacobian @ self._held_jacobian.transpose(0, 2, 1)
        trace = np.einsum("bkk->b", system)
        system += (1e-9 * trace + 1e-300)[:, None, None] * np.eye(system.shape[-1])
        slope = self._flat(_turn_by(self._held, self._slope))
        right = self._held_jacobian @ slope[..., None]
        force: Array = np.linalg.solve(system, right)[..., 0].T
        return force

    def _shut(self, is_shut: Flags) -> None:
        """Shut edges: hold turns across them, and find the turns (n, 3, B) that lead onto them."""
        self._is_shut = is_shut
        held, self._onto = self._free, np.zeros_like(self._slope)
        for edge in np.flatnonzero(is_shut.any(axis=(0, 2))):
            normal = self._edges.normals[:, edge]
            way = _turn_by(held, normal)
            size = dot(way, normal)
            leads = is_shut[:, edge] & (size > NO_WAY)
            rooms = self._edges.rooms[:, edge] - dot(self._onto, normal)
            self._onto += way * (np.where(leads, rooms, 0.0) / np.where(leads, size, 1.0))[:, None]
            held = limit_edges.block_normals(held, normal, is_shut[:, edge])
        self._held = held
        jacobian = self._jacobian
        if not self._is_plain or is_shut.any():
            jacobian = np.einsum("nkab,nacb->nkcb", jacobian, held)
        flat = jacobian.transpose(3, 1, 0, 2).reshape(jacobian.shape[-1], self.rows, -1)
        self._held_jacobian = flat[:, :, self._axes]

    def _build(self) -> None:
        """Build the system, for the axes about which joints turn."""
        size = self._axes.size
        curved, stopped = self._hold_curvature()
        self._turning = curved[:, self._axes[:, None], self._axes]
        self._turning += self._floor[:, None, None] * np.eye(size)
        whole = np.zeros((len(curved), size + self.rows, size + self.rows))
        whole[:, :size, :size] = self._turning
        if stopped is not None:
            whole[:, :size, :size] += stopped[:, self._axes[:, None], self._axes]
        whole[:, size:, :size] = self._held_jacobian * self._unit[:, None, None]
        whole[:, :size, size:] = whole[:, size:, :size].transpose(0, 2, 1)
        give = np.arange(size, size + self.rows)
        whole[:, give, give] = -1e-12 * self.scale[:, None]
        self._whole = whole

    def _hold_curvature(self) -> tuple[Array, Array | None]:
        """Return the curvature along held turns, and what fills in for those that are not free."""
        curved, is_shut = self._curvature, self._is_shut
        if self._is_plain and not is_shut.any():
            return curved, None
        held = np.ascontiguousarray(self._held.transpose(3, 0, 1, 2))
        if self._edge_curvature is not None:
            curved = curved.copy()
            added = np.einsum("neijb,neb->nijb", self._edge_curvature, is_shut)
            _add_blocks(curved, added)
        # Symmetric: what is held on one side is held on the other one once it is turned about.
        curved = _held_back(held, _held_back(held, curved).transpose(0, 2, 1))
        stopped = np.zeros_like(curved)
        _add_blocks(stopped, (np.eye(3)[:, :, None] - self._held) * self.scale)
        return curved, stopped

    def solve(self, error: Array) -> tuple[Array, Array, Array]:
        """Return turns (n, 3, B), the force (k, B), and how the energy curves along, (B,).

        Args:
            error: What is left to the outputs that are held, shape (k, B).
        """
        has_edges = bool(self._edges.is_near.any())
        for number in range(MOST_PASSES):
            move, force = self._solve(error)
            is_changed, is_shut = self._meet_springs(move, number < GIVING_WAY), self._is_shut
            if has_edges:
                is_shut = self._pressed_edges(move, force)
            if not is_changed and (is_shut == self._is_shut).all():
                break
            self._shut(is_shut)
            self._build()
        flat = self._flat(move - self._onto)
        curve = np.einsum("bi,bij,bj->b", flat, self._turning, flat)
        return move, force, curve

    def _solve(self, error: Array) -> tuple[Array, Array]:
        slope, size = self._slope, self._axes.size
        if self._onto.any():
            slope = slope + self._bend(self._onto)
            error = error - np.einsum("nkab,nab->kb", self._jacobian, self._onto)
        right = np.empty(self._whole.shape[:2])
        right[:, :size] = -self._flat(_turn_by(self._held, slope))
        right[:, size:] = (error * self._unit).T
        found = np.linalg.solve(self._whole, right[..., None])[..., 0]
        return self._onto + self._moves(found[:, :size]), -(found[:, size:].T) * self._unit

    def _pressed_edges(self, move: Array, force: Array) -> Flags:
        """Return the edges to shut: those that a move would cross, or that stay pressed on."""
        torque = self._left_torque(force) - self._bend(move)
        presses = self._along_normals(_turn_by(self._free, torque)) > -LEAST_LEAVING
        crosses = self._along_normals(move) > self._edges.rooms + LEAST_LEAVING
        pressed: Flags = self._edges.is_near & np.where(self._is_shut, presses, crosses)
        return pressed

    def _meet_springs(self, move: Array, may_give_way: bool) -> bool:
        """Count with the springs that act where a move leads; tell whether they are others.

        In the first passes springs may also be left; then not, else it would go round.
        """
        has_slack = self._energy.has_slack
        if not has_slack.any():
            return False
        after = turns.multiply(turns.from_vectors(shorten(move)), self._turn)
        sides = self._energy.sides(self._energy.bent(after))
        if not may_give_way:
            sides = np.where(sides == 0, self._sides, sides)
        is_other = (sides != self._sides) & has_slack
        if not is_other.any():
            return False
        self._count_with(np.where(is_other, sides, self._sides))
        return True

    def _count_with(self, sides: Sides) -> None:
        """Take the springs to act on these sides of their slack."""
        resisting, bent = self.at.bend_springs(sides)
        _add_blocks(self._curvature, bent - self._resisting)
        self._sides, self._resisting = sides, bent
        self._slope = resisting - self._weight

    def find_way_down(self, largest_turn: Array) -> tuple[Array, Flags]:
        """Return moves (n, 3, B) along which the energy curves down most, and where it does.

        Springs that are just met are left out: from there a way may lead back and down.
        """
        if (is_met := self.at.is_at_slack).any():
            self._count_with(np.where(is_met, np.int8(0), self._sides))
            self._build()
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
        move = _turn_by(self._held, self._moves(side[:, None] * ways[:, :, 0]))
        largest = norm(move).max(axis=0)
        move = move * (largest_turn / np.where(largest > 0.0, largest, 1.0))
        return move, (values[:, 0] < LEADS_DOWN * self.scale) & (largest > 0.0)

    def _bend(self, move: Array) -> Array:
        """Return how a move (n, 3, B) changes the slopes, shape (n, 3, B)."""
        changed = np.einsum("bij,jb->ib", self._curvature, move.reshape(-1, move.shape[-1]))
        bend: Array = changed.reshape(move.shape)
        return bend

    def _flat(self, turn: Array) -> Array:
        """Return turns of all joints (n, 3, B) as those about the axes, (B, m)."""
        return turn.reshape(-1, turn.shape[-1])[self._axes].T

    def _moves(self, found: Array) -> Array:
        """Return turns about the axes (B, m) as those of all joints, (n, 3, B)."""
        turn = np.zeros(self._slope.shape)
        turn.reshape(-1, len(found))[self._axes] = found.T
        return turn


def _turn_by(mobility: Array, torque: Array) -> Array:
    """Return the turns (n, 3, B) that mobilities (n, 3, 3, B) make of torques."""
    turn: Array = np.einsum("nacb,ncb->nab", mobility, torque)
    return turn


def _add_blocks(matrix: Array, blocks: Array) -> None:
    """Add blocks (n, 3, 3, B), one a joint, to the diagonals of matrices (B, 3 n, 3 n)."""
    count = len(blocks)
    bones = np.arange(count)
    matrix.reshape(-1, count, 3, count, 3)[:, bones, :, bones] += blocks.transpose(0, 3, 1, 2)


def _held_back(held: Array, matrix: Array) -> Array:
    """Return matrices (B, 3 n, 3 n), every three rows of them through matrices (B, n, 3, 3)."""
    back: Array = (held @ matrix.reshape(*held.shape[:2], 3, -1)).reshape(matrix.shape)
    return back


def curve_energy(at: EnergyAt, posed: Posed, jacobian: Array, force: Array, bent: Array) -> Array:
    """Return the second derivatives of energy less the work of a force, shape (B, 3 n, 3 n).

    Of what a turn about joint j moves, a turn about an earlier joint i turns the way: for frames F,
    of a pull f on what moves by C_j with the turns of j, the derivative is -[F_i^T f] F_i^-1 C_j;
    for one joint alone, with lever r in its frame and w = F^T f, (w r^T + r w^T)/2 - (w . r) 1.

    Args:
        at: The energy, at the same poses.
        posed: Where bones are.
        jacobian: Of the outputs, shape (n, k, 3, B).
        force: On the outputs, shape (k, B).
        bent: How springs resist, as ``EnergyAt.bend_springs`` returns it, shape (n, 3, 3, B).
    """
    count, chains = len(bent), bent.shape[-1]
    pulls = np.stack((at.gravity, force[:3]))
    levers = np.stack((at.mass_levers, posed.find_levers(posed.tips)[:, 0]))
    moved = np.concatenate((at.mass_jacobian, jacobian[:, :3]), axis=1)
    local = np.einsum("nikb,pib->pnkb", posed.frames, pulls)
    turned = np.einsum("pnijb,njkb->bnipk", skew(local), posed.inverse_frames)
    left = turned.reshape(chains, 3 * count, 6)
    right = moved.transpose(3, 1, 0, 2).reshape(chains, 6, 3 * count)
    is_later = np.kron(np.tri(count, k=-1).T, np.ones((3, 3)))
    whole: Array = (left @ right) * is_later
    whole += whole.transpose(0, 2, 1)
    product = np.einsum("pnib,pnjb->nijb", local, levers)
    own = bent - 0.5 * (product + product.swapaxes(1, 2))
    own += np.einsum("niib->nb", product)[:, None, None] * np.eye(3)[:, :, None]
    _add_blocks(whole, own)
    return whole


def shorten(move: Array) -> Array:
    """Return moves (n, 3, B) without turns beyond which the curvature says little."""
    size = norm(move).max(axis=0)
    shortened: Array = move * np.minimum(1.0, LARGEST_TURN / np.maximum(size, LARGEST_TURN))
    return shortened
