"""The equations of one iteration in which strained chains settle: turns, and what holds them.

Layout as in ``vectors``; turns of joints are told before their own, as everywhere in ``jointed``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import near_edges, swings, turns
from .effort import Effort, Sides
from .kinematics.active_limits import LEAST_LEAVING
from .kinematics.kinematic_tree import KinematicTree
from .kinematics.posed import Posed
from .near_edges import NearEdges
from .solvers.newton_joints import MOST_PASSES
from .springs import Springs
from .vectors import Array, Counts, Flags, cross, dot, norm

# Passes in which a spring that a move leads away from is left out again.
GIVING_WAY = 2
# The curvature at a pose says little beyond this turn, in radians.
LARGEST_TURN = 1.2
# Damping that is always there, compared with the stiffest joint: some joints resist nothing.
LEAST_STIFFNESS = 1e-5
# Less than this is no effort.
NO_EFFORT = 1e-30
# A joint that turns less readily than this across an edge does not cross it.
NO_WAY = 1e-12
# A way leads down if the effort curves so much, compared with the stiffest joint.
LEADS_DOWN = -1e-7


@dataclass(frozen=True)
class Strained:
    """KinematicTree chains and what acts on them."""

    chain: KinematicTree
    effort: Effort

    def take(self, chains: Counts | Flags) -> Strained:
        """Return some of the chains."""
        return Strained(self.chain.take(chains), self.effort.take(chains))


class System:
    """The equations of one iteration: turns of all joints, and the force on the effector."""

    def __init__(self, strained: Strained, posed: Posed, turn: Array, damping: Array) -> None:
        chain, effort = strained.chain, strained.effort
        joints = chain.joints
        self._edges = near_edges.near(joints.ranges, turn) if joints.has_edges else _no_edges(chain)
        self._free = joints.mobilities(turn, self._edges.edges)
        self._axes, self._is_plain = joints.free_axes, not joints.held_bones.size
        answers = chain.find_jacobian(posed)
        self.answers = answers.transpose(1, 0, 2, 3)
        self._effort, self._turn, self._reach = effort, turn, chain.reach
        self._sides, self._lifting = effort.sides(turn), effort.lifting(posed)
        self._springs = Springs(effort, turn)
        self._slope = self._springs.slope(self._sides) - self._lifting
        self._resisting = self._springs.curvature(self._sides)
        force = self._hold(answers)
        self._curvature = curvature(effort, posed, answers[:, :3], force[:3], self._resisting)
        diagonal = np.einsum("bkk->bk", self._curvature)
        largest = np.maximum(np.abs(diagonal).max(axis=1), norm(self._slope).max(axis=0))
        # Of joints that cannot turn nothing can be told.
        self.scale = np.where(largest > NO_EFFORT, largest, 1.0)
        self._floor = np.maximum(LEAST_STIFFNESS + damping, 0.0) * self.scale
        self._curved = self._edge_curvature(chain, answers, force)
        self._set(self._is_shut)

    def _hold(self, answers: Array) -> Array:
        """Shut the edges that joints press on; return the force on the effector, (k, B)."""
        is_on = self._edges.is_on
        self._is_shut = np.zeros_like(is_on)
        force = self._force(answers, self._free)
        if not is_on.any():
            return force
        press = np.einsum("nacb,nab->ncb", self._free, self._balance(answers, force))
        self._is_shut = is_on & (self._along_normals(press) > 0.0)
        return self._force(answers, self._shut(self._is_shut)[0])

    def _edge_curvature(self, chain: KinematicTree, answers: Array, force: Array) -> Array | None:
        """Return what edges add to the curvature where joints press on them, (n, 3, 3, 3, B)."""
        if not self._edges.is_near.any():
            return None
        press = np.maximum(self._along_normals(self._balance(answers, force)), 0.0)
        curved = near_edges.curvatures(chain.joints.ranges, self._turn, self._edges)
        pressed_on: Array = curved * press[:, :, None, None]
        return pressed_on

    def _balance(self, answers: Array, force: Array) -> Array:
        """Return the torques (n, 3, B) that edges have to balance."""
        balance: Array = np.einsum("nkcb,kb->ncb", answers, force) - self._slope
        return balance

    def _along_normals(self, torque: Array) -> Array:
        along: Array = np.einsum("neib,nib->neb", self._edges.normals, torque)
        return along

    def _force(self, answers: Array, mobility: Array) -> Array:
        """Return the force on the effector that best balances the slopes, shape (k, B)."""
        held = np.einsum("nkcb,ncdb->nkdb", answers, mobility)
        system = np.einsum("nkcb,nlcb->bkl", held, answers)
        trace = np.einsum("bkk->b", system)
        system = system + (1e-9 * trace + 1e-300)[:, None, None] * np.eye(system.shape[-1])
        right = np.einsum("nkcb,ncb->bk", held, self._slope)
        force: Array = np.linalg.solve(system, right[..., None])[..., 0].T
        return force

    def _set(self, is_shut: Flags) -> None:
        """Lay out the system with some of the edges shut, for the axes about which joints turn."""
        self._is_shut = is_shut
        self._held, self._onto = self._shut(is_shut)
        axes, rows, size = self._axes, len(self.answers), self._axes.size
        pulls = np.einsum("knab,nacb->bknc", self.answers, self._held)
        pulls = pulls.reshape(*pulls.shape[:2], -1)[:, :, axes]
        curved, stopped = self._held_curvature(is_shut)
        curved = curved[:, axes[:, None], axes]
        self._turning = curved + self._floor[:, None, None] * np.eye(size)
        whole = np.zeros((len(curved), size + rows, size + rows))
        whole[:, :size, :size] = self._turning
        if stopped is not None:
            whole[:, :size, :size] += stopped[:, axes[:, None], axes]
        # A force in units of the stiffest joint keeps the system well scaled.
        self._unit = self.scale / self._reach
        whole[:, size:, :size] = pulls * self._unit[:, None, None]
        whole[:, :size, size:] = whole[:, size:, :size].transpose(0, 2, 1)
        give = np.arange(size, size + rows)
        whole[:, give, give] = -1e-12 * self.scale[:, None]
        self._whole = whole

    def _shut(self, is_shut: Flags) -> tuple[Array, Array]:
        """Return mobilities along shut edges, and the turns (n, 3, B) that lead onto them."""
        held, onto = self._free, np.zeros(self._turn[:, 1:].shape)
        normals, rooms = self._edges.normals, self._edges.rooms
        for edge in np.flatnonzero(is_shut.any(axis=(0, 2))):
            normal = normals[:, edge]
            way = np.einsum("nijb,njb->nib", held, normal)
            size = dot(way, normal)
            leads = is_shut[:, edge] & (size > NO_WAY)
            left = np.where(leads, rooms[:, edge] - dot(onto, normal), 0.0)
            onto += way * (left / np.where(leads, size, 1.0))[:, None]
            held = swings.blocked(held, normal, is_shut[:, edge])
        return held, onto

    def _held_curvature(self, is_shut: Flags) -> tuple[Array, Array | None]:
        """Return the curvature along held turns, and what stands for those that are not free."""
        curved = self._curvature
        if self._is_plain and not is_shut.any():
            return curved, None
        blocks, bones = (*self._held.shape[:1], 3) * 2, np.arange(len(self._held))
        held = np.ascontiguousarray(self._held.transpose(3, 0, 1, 2))
        if self._curved is not None:
            curved = curved.copy()
            added = np.einsum("neijb,neb->nbij", self._curved, is_shut)
            curved.reshape(-1, *blocks)[:, bones, :, bones] += added
        # Symmetric: what is held on one side is held on the other one once it is turned about.
        curved = _held_back(held, _held_back(held, curved).transpose(0, 2, 1))
        stopped = np.zeros_like(curved)
        stands = (np.eye(3) - held) * self.scale[:, None, None, None]
        stopped.reshape(-1, *blocks)[:, bones, :, bones] = stands.transpose(1, 0, 2, 3)
        return curved, stopped

    def solved(self, error: Array) -> tuple[Array, Array, Array]:
        """Return turns (n, 3, B), the force (k, B), and how the effort curves along, (B,)."""
        has_edges = bool(self._edges.is_near.any())
        for number in range(MOST_PASSES):
            move, force = self._solved(error)
            is_changed, now_shut = self._springs_met(move, number < GIVING_WAY), self._is_shut
            if has_edges:
                torque = np.einsum("knab,kb->nab", self.answers, force) - self._slope
                torque -= self._bend(move)
                press = np.einsum("nacb,nab->ncb", self._free, torque)
                now_shut = self._pressed(move, press)
            if not is_changed and (now_shut == self._is_shut).all():
                break
            self._set(now_shut)
        flat = (move - self._onto).reshape(-1, move.shape[-1])[self._axes].T
        curve = np.einsum("bi,bij,bj->b", flat, self._turning, flat)
        return move, force, curve

    def _pressed(self, move: Array, press: Array) -> Flags:
        """Return the edges to shut: those that a move would cross, or that stay pressed on."""
        crosses = self._along_normals(move) > self._edges.rooms + LEAST_LEAVING
        presses = self._along_normals(press) > -LEAST_LEAVING
        pressed: Flags = self._edges.is_near & np.where(self._is_shut, presses, crosses)
        return pressed

    def _springs_met(self, move: Array, may_give_way: bool) -> bool:
        """Take the springs to act that do where a move leads; tell whether they are others.

        In the first passes springs may also be left; then not, else it would go round.
        """
        effort, turn = self._effort, self._turn
        sides = effort.sides(turns.multiply(turns.by_vectors(shortened(move)), turn))
        if not may_give_way:
            sides = np.where(sides == 0, self._sides, sides)
        is_other = (sides != self._sides) & (effort.low < effort.high)
        if not is_other.any():
            return False
        self._take(np.where(is_other, sides, self._sides))
        return True

    def _give_way(self) -> None:
        """Take springs that are just met not to act: from there a way may lead back and down."""
        is_met = self._effort.is_at_comfort(self._turn)
        if is_met.any():
            self._take(np.where(is_met, np.int8(0), self._sides))
            self._set(self._is_shut)

    def _take(self, sides: Sides) -> None:
        """Take the springs to act on these sides of their comfort."""
        resisting, count = self._springs.curvature(sides), len(self._turn)
        blocks = self._curvature.reshape(-1, count, 3, count, 3)
        bones = np.arange(count)
        blocks[:, bones, :, bones] += (resisting - self._resisting).transpose(0, 3, 1, 2)
        self._sides, self._resisting = sides, resisting
        self._slope = self._springs.slope(sides) - self._lifting

    def _solved(self, error: Array) -> tuple[Array, Array]:
        slope = self._slope
        if self._onto.any():
            slope = slope + self._bend(self._onto)
            error = error - np.einsum("knab,nab->kb", self.answers, self._onto)
        held = np.einsum("nacb,ncb->bna", self._held, slope)
        size = self._axes.size
        right = np.empty(self._whole.shape[:2])
        right[:, :size] = -held.reshape(len(held), -1)[:, self._axes]
        right[:, size:] = (error * self._unit).T
        found = np.linalg.solve(self._whole, right[..., None])[..., 0]
        return self._onto + self._moves(found[:, :size]), -(found[:, size:].T) * self._unit

    def _bend(self, move: Array) -> Array:
        """Return how a move (n, 3, B) changes the slopes, shape (n, 3, B)."""
        changed = np.einsum("bij,jb->ib", self._curvature, move.reshape(-1, move.shape[-1]))
        bend: Array = changed.reshape(move.shape)
        return bend

    def _moves(self, found: Array) -> Array:
        """Return what is found for the axes (B, m) as turns of all joints (n, 3, B)."""
        count, chains = len(self._free), len(found)
        turn = np.zeros((3 * count, chains))
        turn[self._axes] = found.T
        return turn.reshape(count, 3, chains)

    def down(self, largest_turn: Array) -> tuple[Array, Flags]:
        """Return moves (n, 3, B) along which the effort curves down most, and where it does."""
        self._give_way()
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
        move = np.einsum("nacb,ncb->nab", self._held, self._moves(side[:, None] * ways[:, :, 0]))
        largest = norm(move).max(axis=0)
        move = move * (largest_turn / np.where(largest > 0.0, largest, 1.0))
        return move, (values[:, 0] < LEADS_DOWN * self.scale) & (largest > 0.0)


def _no_edges(chain: KinematicTree) -> NearEdges:
    none = chain.joints.no_edges
    return NearEdges(none, np.zeros(none.is_on.shape))


def _held_back(held: Array, matrix: Array) -> Array:
    """Return matrices (B, 3 n, 3 n), every three rows of them through matrices (B, n, 3, 3)."""
    back: Array = (held @ matrix.reshape(*held.shape[:2], 3, -1)).reshape(matrix.shape)
    return back


def curvature(effort: Effort, posed: Posed, answers: Array, force: Array, springs: Array) -> Array:
    """Return the second derivatives of effort less the work of a force, shape (B, 3 n, 3 n).

    Of what a turn about joint j moves, a turn about an earlier joint i turns the way: for frames F,
    of a pull f on what moves by C_j with the turns of j, the derivative is -[F_i^T f] F_i^-1 C_j;
    for one joint alone, with lever r in its frame and w = F^T f, (w r^T + r w^T)/2 - (w . r) 1.
    """
    frames = posed.frames
    count, chains = len(frames), frames.shape[-1]
    pulls, moves, own = [], [], np.array(springs)
    for pull, levers, moved in (
        (effort.gravity, effort.moments(posed), effort.lifts(posed)),
        (force, posed.find_levers(posed.tips)[:, 0], answers),
    ):
        local = np.einsum("nikb,ib->nkb", frames, pull)
        pulls.append(_crossed(local, posed.inverse_frames))
        moves.append(moved)
        product = local[:, :, None] * levers[:, None]
        own -= 0.5 * (product + product.transpose(0, 2, 1, 3))
        own += dot(local, levers)[:, None, None] * np.eye(3)[:, :, None]
    left = np.concatenate(pulls, axis=2).transpose(3, 0, 1, 2).reshape(chains, 3 * count, 6)
    right = np.concatenate(moves, axis=1).transpose(3, 1, 0, 2).reshape(chains, 6, 3 * count)
    later = np.arange(count)[:, None] < np.arange(count)
    whole = (left @ right) * np.repeat(np.repeat(later, 3, axis=0), 3, axis=1)
    whole = whole + whole.transpose(0, 2, 1)
    blocks = whole.reshape(chains, count, 3, count, 3)
    for i in range(count):
        blocks[:, i, :, i] = own[i].transpose(2, 0, 1)
    return whole


def _crossed(vector: Array, matrix: Array) -> Array:
    """Return [v] M of vectors (n, 3, B) and matrices (n, 3, 3, B)."""
    crossed: Array = np.stack([cross(vector, matrix[:, :, k]) for k in range(3)], axis=2)
    return crossed


def shortened(move: Array) -> Array:
    """Return moves (n, 3, B) without turns beyond which the curvature says little."""
    size = norm(move).max(axis=0)
    shortened: Array = move * np.minimum(1.0, LARGEST_TURN / np.maximum(size, LARGEST_TURN))
    return shortened
