"""The last steps of trees whose goals cannot all be met: to where the weighted errors are least.

Gauss-Newton takes what the effectors' paths curve for nothing, which holds only where errors
vanish. Where some remain it swings from side to side of the best pose; with the curvature it lands.
"""

from __future__ import annotations

import numpy as np

from .branched import TURN, Branched, PosedTree
from .jointed import turned_outside
from .limited_newton import MOST_PASSES, pressed, shut
from .newton import DAMPING_DECAY, DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION, MOST_DAMPING
from .tree_newton import turned
from .vectors import Array, norm

# Where no joint turns farther than this, in radians, the pose is the best one: the steps converge
# quadratically.
STILL = 1e-9
# Of the mean of the diagonal: turns that move nothing would else be rounding's to choose.
LEAST_DAMPING = 1e-10


def step(state: Array, tree: Branched, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    Args:
        state: As ``branched`` tells, shape (n + 1, C, B).
        tree: The trees.
        target: Of the effectors, times the roots of their weights, shape (3 E, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration; endless where the pose is settled.

    Source: Newton's method in a trust region (Nocedal and Wright, "Numerical Optimization", 2006,
    section 10.3); the second derivative of an effector by the turns of two joints, a x (b x r) with
    r from the lower of them, is that of rigid bodies. Tested in tests/core/test_tree_compromise.py.
    """
    rows = len(target)
    error = target - state[-1, :rows]
    turn = state[:-1, :TURN]
    posed = tree.posed(turn)
    move = _move(tree, posed, turn, error, damping)
    moved = tree.state(turned(tree, turn, move))
    is_better = norm(target - moved[-1, :rows]) < norm(error)
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    next_damping = np.where(is_better, damping * DAMPING_DECAY, grown)
    next_damping = np.where(norm(move).max(axis=0) < STILL, MOST_DAMPING, next_damping)
    return np.where(is_better, moved, state), next_damping


def _move(tree: Branched, posed: PosedTree, turn: Array, error: Array, damping: Array) -> Array:
    """Return turns (n, 3, B) toward the least errors, along edges of ranges that press."""
    answers = tree.answers(posed)[:, : len(error)]
    count, _, _, trees = answers.shape
    force = np.einsum("nkcb,kb->bnc", answers, error).reshape(trees, 3 * count)
    curvature = _curvature(tree, posed, answers, error)
    move: Array
    if tree.is_free:
        move = _solved(curvature, force, damping).reshape(trees, count, 3).transpose(1, 2, 0)
        return move
    edges = tree.bones.edges(turn)
    mobility = free = tree.bones.mobilities(turn, edges)
    is_on = edges.is_on & ~edges.is_held
    is_shut = np.zeros_like(is_on)
    for _ in range(MOST_PASSES):
        by_tree = mobility.transpose(3, 0, 1, 2)
        allowed = _allowed(by_tree, curvature)
        pulled = np.einsum("bnij,bnj->bni", by_tree, force.reshape(trees, count, 3))
        found = _solved(allowed, pulled.reshape(trees, -1), damping).reshape(trees, count, 3)
        move = np.einsum("bnij,bnj->nib", by_tree, found)
        if not is_on.any():
            break
        flat = move.transpose(2, 0, 1).reshape(trees, -1)
        left = force - np.einsum("bij,bj->bi", curvature, flat)
        torque = left.reshape(trees, count, 3).transpose(1, 2, 0)
        pull = np.einsum("nacb,nab->ncb", free, torque)
        now_shut = is_on & pressed(edges, is_shut, move, pull)
        if (now_shut == is_shut).all():
            break
        is_shut, mobility = now_shut, shut(free, edges, now_shut)
    return move


def _curvature(tree: Branched, posed: PosedTree, answers: Array, error: Array) -> Array:
    """Return the second derivatives of half the squared errors by turns, (B, 3 n, 3 n)."""
    count, rows, _, trees = answers.shape
    flat = answers.transpose(3, 1, 0, 2).reshape(trees, rows, 3 * count)
    # What effectors below each joint ask for, times their levers: the sum of r e^T.
    lever = (posed.tips[None] - posed.heads[:, None]) * tree.pull[:, None]
    lever = lever * tree.branches.moves[:, :, None, None]
    asked = np.einsum("neib,ejb->bnij", lever, error.reshape(len(tree.ends), 3, trees))
    trace = np.einsum("bnii->bn", asked)[..., None, None]
    bent = trace * np.eye(3) - asked
    axes = turned_outside(posed.frames).transpose(3, 0, 1, 2)
    by_lower = (bent @ axes).transpose(0, 2, 1, 3).reshape(trees, 3, 3 * count)
    outer = axes.transpose(0, 1, 3, 2).reshape(trees, 3 * count, 3)
    pairs = (outer @ by_lower).reshape(trees, count, 3, count, 3)
    upper = pairs * tree.branches.is_above[None, :, None, :, None]
    own = 0.5 * pairs * np.eye(count)[None, :, None, :, None]
    half = (upper + own).reshape(trees, 3 * count, 3 * count)
    whole: Array = flat.transpose(0, 2, 1) @ flat + half + half.transpose(0, 2, 1)
    return whole


def _allowed(mobility: Array, curvature: Array) -> Array:
    """Return curvatures (B, 3 n, 3 n) along what mobilities (B, n, 3, 3) leave free."""
    trees, count = mobility.shape[:2]
    cells = curvature.reshape(trees, count, 3, count, 3)
    allowed = np.einsum("bnij,bnjmk->bnimk", mobility, cells)
    allowed = np.einsum("bnimk,bmkl->bniml", allowed, mobility)
    whole: Array = allowed.reshape(trees, 3 * count, 3 * count)
    return whole


def _solved(curvature: Array, force: Array, damping: Array) -> Array:
    """Return the steps (B, m) of damped systems (B, m, m)."""
    size = np.abs(np.einsum("bii->bi", curvature)).mean(axis=1)
    floor = size * np.maximum(damping, LEAST_DAMPING) + np.finfo(float).tiny
    system = curvature + floor[:, None, None] * np.eye(curvature.shape[1])
    found: Array = np.linalg.solve(system, force[..., None])[..., 0]
    return found
