"""Goals that cannot all be met: Newton's method on the sum of weighted squared errors.

Gauss-Newton takes what the effectors' paths curve for nothing, which holds only where errors
vanish. Where some remain it swings from side to side of the best pose; with the curvature it lands.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.arrays import norm
from ..kinematics import limit_edges
from ..kinematics.kinematic_tree import TURN, KinematicTree
from ..kinematics.limit_edges import Edges
from ..kinematics.posed import Posed
from .active_limits import LEAST_LEAVING
from .newton_directions import (
    DAMPING_DECAY,
    DAMPING_GROWTH,
    LEAST_DAMPING_AFTER_REJECTION,
    MOST_DAMPING,
)
from .newton_joints import LARGEST_TURN, MOST_PASSES, shrink

# What the first step is damped by: errors far from their least tell little of where that is.
FIRST_DAMPING = 1.0
# Where no joint turns farther than this, in radians, the pose is the best one: the steps converge
# quadratically.
STILL = 1e-7
# Of the mean of the diagonal: turns that move nothing would else be rounding's to choose.
LEAST_DAMPING = 1e-10
# Ways that stiff effectors have strayed from the plan are taken back with this damping: where a
# limb is straight they cannot be.
LEAST_WAY_BACK = 1e-3
# How far joints are turned along edges to see how these bow, in radians.
BOW_STEP = 1e-4
# A turn that a range has cut by more than this, in radians.
CUT = 1e-9


def step(state: Array, tree: KinematicTree, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    Args:
        state: As ``kinematic_tree`` describes, shape (n + 1, C, B).
        tree: The trees.
        target: Of the effectors, times the roots of their weights, shape (3 E, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration; endless where the pose is settled.

    Source: Newton's method in a trust region (Nocedal and Wright, "Numerical Optimization", 2006,
    section 10.3), with a second-order correction (ibid., section 18.3) that brings effectors back
    to where the linear model has them, so that a step may go far along a curved valley. The second
    derivative of an effector by the turns of two joints, a x (b x r) with r from the lower of
    them, is that of rigid bodies. Tested in tests/core/solving/test_tree_compromise.py.
    """
    error = target - state[-1, : len(target)]
    turn = state[:-1, :TURN]
    slope = _find_slope(tree, tree.posed(state), turn, error)
    move = slope.move(damping * norm(error) / tree.reach)
    moved = slope.correct(tree.clamp_state(turns.turn_by(turn, move)), move, target)
    is_better = norm(target - moved[-1, : len(target)]) < norm(error)
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    size = norm(move).max(axis=0)
    # A step as large as the model holds has been cut: it asks for damping, whether it is good.
    is_modest = size < 0.999 * LARGEST_TURN
    next_damping = np.where(is_better & is_modest, damping * DAMPING_DECAY, grown)
    next_damping = np.where(size < STILL, MOST_DAMPING, next_damping)
    return tree.choose_states(is_better, moved, state), next_damping


@dataclass(frozen=True)
class _Slope:
    """Half the squared errors near a pose, by turns of the joints.

    Attributes:
        tree: The trees.
        turn: The pose, shape (n, 4, B).
        error: Shape (k, B).
        jacobian: Shape (n, k, 3, B).
        force: Against the first derivatives, shape (B, 3 n).
        curvature: The second ones, shape (B, 3 n, 3 n).
    """

    tree: KinematicTree
    turn: Array
    error: Array
    jacobian: Array
    force: Array
    curvature: Array

    def move(self, damping: Array) -> Array:
        """Return turns (n, 3, B) toward the least errors, along edges of ranges that press."""
        if self.tree.joints.is_free:
            return _shorten(_by_joint(_solve_damped(self.curvature, self.force, damping)))
        move, mobility, bow = self._along_edges(damping)
        move = _shorten(move)
        is_fixed = np.zeros((len(self.turn), move.shape[-1]), dtype=np.bool_)
        for _ in range(MOST_PASSES):
            # What a range cuts off of a turn the other joints have to know.
            made = self._made(move)
            is_cut = norm(made - move) > CUT
            if not (is_cut & ~is_fixed).any():
                break
            is_fixed |= is_cut
            given = np.where(is_fixed[:, None], made, 0.0)
            rest = np.where(is_fixed[:, None, None], 0.0, mobility)
            bent = np.einsum("bij,bj->bi", self.curvature, _by_tree(given))
            bow_rest = None if bow is None else np.where(is_fixed.T[:, :, None, None], 0.0, bow)
            found = self._solved_along(rest, self.force - bent, damping, bow_rest)
            move = _shorten(given + found)
        return move

    def _along_edges(self, damping: Array) -> tuple[Array, Array, Array | None]:
        """Return a move (n, 3, B) along the edges that it presses on, what is free, and the bow."""
        bones = self.tree.joints
        edges = bones.edges(self.turn)
        mobility = free = bones.mobilities(self.turn, edges)
        is_on: Flags = edges.is_on & ~edges.is_held
        is_shut = np.zeros_like(is_on)
        for _ in range(MOST_PASSES):
            move = self._solved_along(mobility, self.force, damping)
            if not is_on.any():
                break
            left = self.force - np.einsum("bij,bj->bi", self.curvature, _by_tree(move))
            pull = np.einsum("nacb,nab->ncb", free, _by_joint(left))
            now_shut = is_on & _find_pressed(edges, is_shut, move, pull)
            if (now_shut == is_shut).all():
                break
            is_shut, mobility = now_shut, _shut(free, edges, now_shut)
        if not is_shut.any():
            return move, mobility, None
        bow = self._bow(mobility) * is_shut.any(axis=1).T[:, :, None, None]
        return self._solved_along(mobility, self.force, damping, bow), mobility, bow

    def _bow(self, mobility: Array) -> Array:
        """Return what the bow of edges adds to curvatures along mobilities, (B, n, 3, 3).

        A turn along an edge is brought back onto it; the force that presses there feels how far.
        """
        force = _by_joint(self.force)

        def work(way: Array) -> Array:
            there_and_back = [self._made(sign * BOW_STEP * way) for sign in (1.0, -1.0)]
            found: Array = np.einsum("nib,nib->nb", force, sum(there_and_back)) / BOW_STEP**2
            return found

        axes = [mobility[:, :, k] for k in range(3)]
        own = [work(axis) for axis in axes]
        bow = np.empty((mobility.shape[-1], len(mobility), 3, 3))
        for i in range(3):
            bow[:, :, i, i] = -own[i].T
            for j in range(i):
                mixed = 0.5 * (work(axes[i] + axes[j]) - own[i] - own[j])
                bow[:, :, i, j] = bow[:, :, j, i] = -mixed.T
        return bow

    def _made(self, move: Array) -> Array:
        """Return the turns (n, 3, B) that are left of a move inside of the ranges."""
        turned = self.tree.joints.clamped(turns.turn_by(self.turn, move))
        made: Array = turns.to_vectors(turns.multiply(turned, turns.conjugate(self.turn)))
        return made

    def _solved_along(
        self, mobility: Array, force: Array, damping: Array, bow: Array | None = None
    ) -> Array:
        """Return the move (n, 3, B) that forces (B, 3 n) make along mobilities (n, 3, 3, B)."""
        by_tree = mobility.transpose(3, 0, 1, 2)
        trees, count = by_tree.shape[:2]
        cells = self.curvature.reshape(trees, count, 3, count, 3)
        allowed = np.einsum("bnij,bnjmk->bnimk", by_tree, cells)
        allowed = np.einsum("bnimk,bmkl->bniml", allowed, by_tree)
        if bow is not None:
            joints = np.arange(count)
            allowed[:, joints, :, joints] += bow.transpose(1, 0, 2, 3)
        pulled = np.einsum("bnij,bnj->bni", by_tree, force.reshape(trees, count, 3))
        flat = allowed.reshape(trees, 3 * count, 3 * count)
        found = _by_joint(_solve_damped(flat, pulled.reshape(trees, -1), damping))
        move: Array = np.einsum("nijb,njb->nib", mobility, found)
        return move

    def correct(self, moved: Array, move: Array, target: Array) -> Array:
        """Return moved states with the effectors nearer to where the move was to bring them."""
        rows = len(target)
        planned = self.error - np.einsum("nkcb,ncb->kb", self.jacobian, move)
        astray = target - moved[-1, :rows] - planned
        flat = _by_row(self.jacobian)
        system = flat @ flat.transpose(0, 2, 1)
        floor = LEAST_WAY_BACK * np.einsum("bii->b", system) + np.finfo(float).tiny
        system = system + floor[:, None, None] * np.eye(rows)
        multiplier = np.linalg.solve(system, astray.T[..., None])
        back = _by_joint((flat.transpose(0, 2, 1) @ multiplier)[..., 0])
        again = self.tree.clamp_state(turns.turn_by(moved[:-1, :TURN], _shorten(back)))
        is_better = norm(target - again[-1, :rows]) < norm(target - moved[-1, :rows])
        return self.tree.choose_states(is_better, again, moved)


def _find_slope(tree: KinematicTree, posed: Posed, turn: Array, error: Array) -> _Slope:
    jacobian = tree.find_jacobian(posed)[:, : len(error)]
    force = _by_tree(np.einsum("nkcb,kb->ncb", jacobian, error))
    curvature = _find_curvature(tree, posed, jacobian, error)
    return _Slope(tree, turn, error, jacobian, force, curvature)


def _shorten(move: Array) -> Array:
    """Return moves (n, 3, B) that turn no joint beyond what the model holds."""
    return move * shrink(move)


def _find_pressed(edges: Edges, is_shut: Flags, move: Array, pull: Array) -> Flags:
    """Return the edges to hold: those that a move leaves by, and those that a pull presses on."""
    leaving = np.einsum("neib,nib->neb", edges.normals, move) > LEAST_LEAVING
    pressing = np.einsum("neib,nib->neb", edges.normals, pull) > -LEAST_LEAVING
    is_pressed: Flags = np.where(is_shut, pressing, leaving)
    return is_pressed


def _shut(free: Array, edges: Edges, is_shut: Flags) -> Array:
    """Return mobilities without turns across shut edges."""
    mobility = free
    for edge in range(3):
        if is_shut[:, edge].any():
            mobility = limit_edges.block_normals(mobility, edges.normals[:, edge], is_shut[:, edge])
    return mobility


def _find_curvature(tree: KinematicTree, posed: Posed, jacobian: Array, error: Array) -> Array:
    """Return the second derivatives of half the squared errors by turns, (B, 3 n, 3 n)."""
    count, trees = len(jacobian), jacobian.shape[-1]
    flat = _by_row(jacobian)
    # What effectors below each joint ask for, times their levers: the sum of r e^T.
    lever = (posed.tips[None] - posed.heads[:, None]) * tree.topology.moves[:, :, None, None]
    pulls = tree.weigh(error.reshape(len(tree.ends), 3, trees)).reshape(len(tree.ends), 3, trees)
    asked = np.einsum("neib,ejb->bnij", lever, pulls)
    trace = np.einsum("bnii->bn", asked)[..., None, None]
    bent = trace * np.eye(3) - asked
    axes = posed.turn_axes.transpose(3, 0, 1, 2)
    by_lower = (bent @ axes).transpose(0, 2, 1, 3).reshape(trees, 3, 3 * count)
    outer = axes.transpose(0, 1, 3, 2).reshape(trees, 3 * count, 3)
    pairs = (outer @ by_lower).reshape(trees, count, 3, count, 3)
    upper = pairs * tree.topology.is_above[None, :, None, :, None]
    own = 0.5 * pairs * np.eye(count)[None, :, None, :, None]
    half = (upper + own).reshape(trees, 3 * count, 3 * count)
    whole: Array = flat.transpose(0, 2, 1) @ flat + half + half.transpose(0, 2, 1)
    return whole


def _solve_damped(curvature: Array, force: Array, damping: Array) -> Array:
    """Return the steps (B, m) of damped systems (B, m, m)."""
    size = np.abs(np.einsum("bii->bi", curvature)).mean(axis=1)
    floor = size * np.maximum(damping, LEAST_DAMPING) + np.finfo(float).tiny
    system = curvature + floor[:, None, None] * np.eye(curvature.shape[1])
    found: Array = np.linalg.solve(system, force[..., None])[..., 0]
    return found


def _by_row(jacobian: Array) -> Array:
    """Return a jacobian (n, k, 3, B) as matrices (B, k, 3 n)."""
    count, rows, _, trees = jacobian.shape
    return jacobian.transpose(3, 1, 0, 2).reshape(trees, rows, 3 * count)


def _by_tree(move: Array) -> Array:
    """Return what is by joint, (n, 3, B), by tree, (B, 3 n)."""
    return move.transpose(2, 0, 1).reshape(move.shape[-1], -1)


def _by_joint(flat: Array) -> Array:
    """Return what is by tree, (B, 3 n), by joint, (n, 3, B)."""
    return flat.reshape(len(flat), -1, 3).transpose(1, 2, 0)
