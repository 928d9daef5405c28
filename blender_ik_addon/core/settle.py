"""How a chain settles where it makes least effort, its effector staying where it is.

The states are those of ``jointed`` with one more column; its last entry is the *unrest*, by how
much the joints still had to turn before the last iteration, times the reach, so that the one loop
of ``iterate`` stops when a chain rests.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import limited_newton, turns
from .effort import Effort
from .jointed import STATE_COLUMNS, Jointed, Posed
from .laying import inverses_of
from .limited_newton import MOST_PASSES, pressed, shut
from .newton import DAMPING_DECAY, DAMPING_GROWTH, FIRST_DAMPING, LEAST_DAMPING_AFTER_REJECTION
from .vectors import Array, Counts, Flags, cross, dot, norm

# A chain rests when no joint has to turn by more than this, in radians.
RESTS = 1e-6
# A damped step is shorter than what is left to go; by so much of the damping it counts for more.
DAMPED = 1e3
# The curvature at a pose says little beyond this turn, in radians.
LARGEST_TURN = 1.2
# Damping that is always there, compared with the stiffest joint: some joints resist nothing.
LEAST_STIFFNESS = 1e-5
# Less than this is no effort.
NO_EFFORT = 1e-30
# What rounding leaves of a comparison of efforts, as a share of them.
ROUNDING = 1e-13
# Turns that bring the effector back to its target after each step.
RETURNS = 2
# Ways that are tried for one that leads down from where a chain rests, and how far it then goes.
PROBES, ESCAPE = 8, 0.2
# A way leads down if the effort curves so much, compared with the stiffest joint.
LEADS_DOWN = -1e-7
PROBE_FLOOR, SAME_WAY = 1e-3, 1e-10
SEED = 16180339


@dataclass(frozen=True)
class Strained:
    """Jointed chains and what acts on them."""

    chain: Jointed
    effort: Effort

    def take(self, chains: Counts | Flags) -> Strained:
        """Return some of the chains."""
        return Strained(self.chain.take(chains), self.effort.take(chains))


def begun(state: Array) -> Array:
    """Return states (n + 1, 7, B) with a column for the unrest, which is endless at first."""
    wide = np.concatenate((state, np.zeros((len(state), 1, state.shape[-1]))), axis=1)
    wide[-1, STATE_COLUMNS] = np.inf
    return wide


def step(state: Array, strained: Strained, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: one of less effort, or the same with more damping.

    A step of Newton's method on the effort, with the effector held to first order by a force; the
    force's own curvature is part of the system. Joints that stand on an edge of their range and
    are pressed against it keep to it. The effector is then brought back by NEWTON, so that every
    state is as near to the target as the first one was, and the step is taken if effort falls.
    Where a chain rests on a ridge, it is sent down to either side.

    Args:
        state: As ``begun`` begins it, shape (n + 1, 8, B).
        strained: The chains and what acts on them.
        target: Of the outputs, zero for the unrest, shape (8, B).
        damping: Shape (B,).

    Source: sequential quadratic programming with an active set (Nocedal and Wright, "Numerical
    Optimization", 2006, chapters 16 and 18); the curvature of chains of turns, the return to the
    target and the way down from ridges are derived for this project and tested against SciPy's
    SLSQP in tests/core/test_force_equilibrium.py.
    """
    chain, effort = strained.chain, strained.effort
    turn = state[:-1, :4]
    posed = chain.posed(state)
    system = _System(strained, posed, turn, damping)
    rows = len(system.answers)
    move, pull, curve = system.solved(target[:rows] - state[-1, :rows])
    size = norm(move).max(axis=0)
    unrest = chain.reach * size * (1.0 + DAMPED * damping)
    is_done = unrest <= RESTS * chain.reach
    if is_done.any():
        down, leads_down = system.down(ESCAPE / (1.0 + DAMPED * damping))
        leads_down &= is_done
        if leads_down.any():
            move = np.where(leads_down, down, move)
            size = np.where(leads_down, norm(down).max(axis=0), size)
            unrest = np.where(leads_down, chain.reach, unrest)
            curve = np.where(leads_down, 1.0, curve)
    move = move * np.minimum(1.0, LARGEST_TURN / np.maximum(size, LARGEST_TURN))
    moved = _returned(chain, state, move, target[:rows])
    strength = 2.0 * norm(pull)
    before = effort.total(posed, turn) + strength * norm(target[:rows] - state[-1, :rows])
    after = effort.total(chain.posed(moved), moved[:-1, :4])
    after = after + strength * norm(target[:rows] - moved[-1, :rows])
    slack = ROUNDING * (np.abs(before) + system.scale)
    is_better = (after <= before + slack) & (curve >= 0.0)
    result = state.copy()
    result[:, :STATE_COLUMNS] = np.where(is_better, moved, state[:, :STATE_COLUMNS])
    result[-1, STATE_COLUMNS] = unrest
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    return result, np.where(is_better, damping * DAMPING_DECAY, grown)


def _returned(chain: Jointed, state: Array, move: Array, target: Array) -> Array:
    """Return states with turns made and effectors brought back."""
    turned = turns.normalised(turns.multiply(turns.by_vectors(move), state[:-1, :4]))
    moved = chain.state(chain.clamped(turned), state[:-1, 4])
    damping = np.full(state.shape[-1], FIRST_DAMPING)
    for _ in range(RETURNS):
        moved, damping = limited_newton.step(moved, chain, target, damping)
    return moved


class _System:
    """The equations of one iteration: turns of all joints, and the force on the effector."""

    def __init__(self, strained: Strained, posed: Posed, turn: Array, damping: Array) -> None:
        chain, effort = strained.chain, strained.effort
        self._edges = chain.edges(turn)
        self._free = chain.mobilities(turn, self._edges)
        self._is_on = self._edges.is_on & ~self._edges.is_held
        answers = chain.answers(posed)
        self.answers = answers.transpose(1, 0, 2, 3)
        self._slope = effort.slope(posed, turn)
        self._reach = chain.reach
        springs = effort.spring_curvature(turn)
        force = self._force(answers)
        self._curvature = curvature(effort, posed, answers[:, :3], force[:3], springs)
        diagonal = np.einsum("bkk->bk", self._curvature)
        largest = np.maximum(np.abs(diagonal).max(axis=1), norm(self._slope).max(axis=0))
        # Of joints that cannot turn nothing can be told.
        self.scale = np.where(largest > NO_EFFORT, largest, 1.0)
        self._floor = np.maximum(LEAST_STIFFNESS + damping, 0.0) * self.scale
        balance = np.einsum("nkcb,kb->ncb", answers, force) - self._slope
        press = np.einsum("nacb,nab->ncb", self._free, balance)
        leaves = np.einsum("neib,nib->neb", self._edges.normals, press) > 0.0
        self._set(self._is_on & leaves)

    def _force(self, answers: Array) -> Array:
        """Return the force on the effector that best balances the slopes, shape (k, B)."""
        held = np.einsum("nkcb,ncdb->nkdb", answers, self._free)
        system = np.einsum("nkcb,nlcb->bkl", held, answers)
        trace = np.einsum("bkk->b", system)
        system = system + (1e-9 * trace + 1e-300)[:, None, None] * np.eye(system.shape[-1])
        right = np.einsum("nkcb,ncb->bk", held, self._slope)
        force: Array = np.linalg.solve(system, right[..., None])[..., 0].T
        return force

    def _set(self, is_shut: Flags) -> None:
        """Lay out the system with some of the edges shut."""
        count, chains = len(self._free), self._free.shape[-1]
        rows, size = len(self.answers), 3 * count
        self._is_shut = is_shut
        self._held = shut(self._free, self._edges, is_shut)
        held = self._held.transpose(3, 0, 1, 2)
        curved = self._curvature.reshape(chains, count, 3, count, 3)
        curved = np.einsum("bnac,bncmd->bnamd", held, curved)
        curved = np.einsum("bnamd,bmdc->bnamc", curved, held).reshape(chains, size, size)
        self._turning = curved + self._floor[:, None, None] * np.eye(size)
        whole = np.zeros((chains, size + rows, size + rows))
        whole[:, :size, :size] = self._turning
        blocks = whole[:, :size, :size].reshape(chains, count, 3, count, 3)
        stopped = (np.eye(3) - held) * self.scale[:, None, None, None]
        for i in range(count):
            blocks[:, i, :, i] += stopped[:, i]
        pulls = np.einsum("knab,nacb->bknc", self.answers, self._held).reshape(chains, rows, size)
        # A force in units of the stiffest joint keeps the system well scaled.
        self._unit = self.scale / self._reach
        whole[:, size:, :size] = pulls * self._unit[:, None, None]
        whole[:, :size, size:] = whole[:, size:, :size].transpose(0, 2, 1)
        give = np.arange(size, size + rows)
        whole[:, give, give] = -1e-12 * self.scale[:, None]
        self._whole = whole

    def solved(self, error: Array) -> tuple[Array, Array, Array]:
        """Return turns (n, 3, B), the force (k, B), and how the effort curves along, (B,)."""
        has_edges = bool(self._is_on.any())
        for _ in range(MOST_PASSES):
            move, force = self._solved(error)
            if not has_edges:
                break
            torque = np.einsum("knab,kb->nab", self.answers, force) - self._slope
            press = np.einsum("nacb,nab->ncb", self._free, torque)
            now_shut = self._is_on & pressed(self._edges, self._is_shut, move, press)
            if (now_shut == self._is_shut).all():
                break
            self._set(now_shut)
        flat = move.transpose(2, 0, 1).reshape(len(self._turning), -1)
        curve = np.einsum("bi,bij,bj->b", flat, self._turning, flat)
        return move, force, curve

    def _solved(self, error: Array) -> tuple[Array, Array]:
        count, chains = len(self._free), self._free.shape[-1]
        size = 3 * count
        held = np.einsum("nacb,ncb->nab", self._held, self._slope)
        right = np.empty((chains, size + len(error)))
        right[:, :size] = -held.transpose(2, 0, 1).reshape(chains, size)
        right[:, size:] = (error * self._unit).T
        found = np.linalg.solve(self._whole, right[..., None])[..., 0]
        move = found[:, :size].reshape(chains, count, 3).transpose(1, 2, 0)
        return np.ascontiguousarray(move), -(found[:, size:].T) * self._unit

    def down(self, largest_turn: Array) -> tuple[Array, Flags]:
        """Return moves (n, 3, B) along which the effort curves down, and where there is one.

        One inverse iteration of a few probes finds the ways along which it curves least.
        """
        chains, size = self._turning.shape[:2]
        right = np.zeros((chains, self._whole.shape[1], PROBES))
        right[:, :size] = np.random.default_rng(SEED).normal(size=(size, PROBES))
        whole = self._whole.copy()
        turning = np.arange(size)
        # What costs nothing at all would else drown what costs little.
        whole[:, turning, turning] += PROBE_FLOOR * self.scale[:, None]
        found = np.linalg.solve(whole, right)[:, :size]
        found = found / np.sqrt(np.einsum("bip,bip->bp", found, found))[:, None]
        sizes, mixes = np.linalg.eigh(found.transpose(0, 2, 1) @ found)
        is_real = sizes > SAME_WAY * sizes[:, -1:]
        mixes = (
            mixes * np.where(is_real, 1.0 / np.sqrt(np.where(is_real, sizes, 1.0)), 0.0)[:, None]
        )
        found = found @ mixes
        values, ways = np.linalg.eigh(found.transpose(0, 2, 1) @ self._turning @ found)
        way = np.einsum("bip,bp->bi", found, ways[:, :, 0])
        move = way.reshape(chains, -1, 3).transpose(1, 2, 0)
        move = np.einsum("nacb,ncb->nab", self._held, move)
        largest = norm(move).max(axis=0)
        # Either side leads down; what slope there is decides.
        side = np.where(np.einsum("ncb,ncb->b", move, self._slope) > 0.0, -1.0, 1.0)
        move = move * (side * largest_turn / np.where(largest > 0.0, largest, 1.0))
        return move, (values[:, 0] < LEADS_DOWN * self.scale) & (largest > 0.0)


def curvature(effort: Effort, posed: Posed, answers: Array, force: Array, springs: Array) -> Array:
    """Return the second derivatives of effort less the work of a force, shape (B, 3 n, 3 n).

    Of what a turn about joint j moves, a turn about an earlier joint i turns the way: for frames F,
    of a pull f on what moves by C_j with the turns of j, the derivative is -[F_i^T f] F_i^-1 C_j;
    for one joint alone, with lever r in its frame and w = F^T f, (w r^T + r w^T)/2 - (w . r) 1.
    """
    frames = posed.frames
    count, chains = len(frames), frames.shape[-1]
    pulls, moves, own = [], [], np.array(springs)
    back = inverses_of(frames)
    for pull, levers, moved in (
        (effort.gravity, effort.moments(posed), effort.lifts(posed)),
        (force, posed.levers, answers),
    ):
        local = np.einsum("nikb,ib->nkb", frames, pull)
        pulls.append(_crossed(local, back))
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
