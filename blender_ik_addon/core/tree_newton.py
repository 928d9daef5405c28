"""NEWTON for trees: damped Gauss-Newton on the turns of all joints, for all effectors at once."""

from __future__ import annotations

import numpy as np

from . import turns
from .branched import TURN, Branched, PosedTree
from .limited_newton import HEADWAY, LARGEST_TURN, MOST_PASSES, pressed, shut, solved
from .solvers.newton_directions import DAMPING_DECAY, DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION
from .vectors import Array, norm


def step(state: Array, tree: Branched, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    The least turns of the joints that cancel the errors of all effectors to first order solve one
    system of three equations an effector, whatever the number of bones; a bone counts in the
    equations of the effectors that it moves. Effectors are weighted by the roots of their weights,
    which rule where not all can be met. Edges of ranges are minded as for chains.

    Args:
        state: As ``branched`` tells, shape (n + 1, C, B).
        tree: The trees.
        target: Of the first rows of the output, shape (k, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration.

    Source: as ``limited_newton.step``, with one multiplier an effector; that a tree of one effector
    is solved as a chain is tested in tests/core/test_tree_chain.py.
    """
    rows = len(target)
    error = target - state[-1, :rows]
    error_norm = norm(error)
    turn = state[:-1, :TURN]
    move = _least_step(
        tree, tree.posed_state(state), turn, error, damping * error_norm / tree.reach
    )
    moved = tree.state(turned(tree, turn, shrunk(move)))
    is_better = norm(target - moved[-1, :rows]) < HEADWAY * error_norm
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    next_damping = np.where(is_better, damping * DAMPING_DECAY, grown)
    if not is_better.all():
        moved = np.where(is_better, moved, state)
    return moved, next_damping


def shrunk(move: Array) -> Array:
    """Return moves (n, 3, B) that turn no joint farther than the linear model holds."""
    size = norm(move).max(axis=0)
    short: Array = move * np.minimum(1.0, LARGEST_TURN / np.maximum(size, LARGEST_TURN))
    return short


def turned(tree: Branched, turn: Array, move: Array) -> Array:
    """Return turns (n, 4, B) moved by vectors (n, 3, B), inside their ranges."""
    return tree.clamped(turns.normalised(turns.multiply(turns.by_vectors(move), turn)))


def _least_step(
    tree: Branched, posed: PosedTree, turn: Array, error: Array, damping: Array
) -> Array:
    """Return turns (n, 3, B) that cancel errors (k, B) to first order."""
    answers = tree.answers(posed)[:, : len(error)]
    alike = 3 * len(tree.ends)
    tips = tree.aims.tips if tree.aims is not None and len(error) > alike else None
    threes = 0 if tips is None else len(tips.bones)
    if tree.is_free:
        multiplier = solved(_system(answers, answers), error, damping, alike, threes)
        least: Array = np.einsum("nkcb,kb->ncb", answers, multiplier)
        return least
    edges = tree.bones.edges(turn)
    mobility = free = tree.bones.mobilities(turn, edges)
    is_on = edges.is_on & ~edges.is_held
    has_edges = bool(is_on.any())
    is_shut = np.zeros_like(is_on)
    for _ in range(MOST_PASSES):
        weighted = np.einsum("nkab,nacb->nkcb", answers, mobility)
        multiplier = solved(_system(weighted, answers), error, damping, alike, threes)
        move: Array = np.einsum("nkcb,kb->ncb", weighted, multiplier)
        if not has_edges:
            break
        torque = np.einsum("nkab,kb->nab", answers, multiplier)
        pull = np.einsum("nacb,nab->ncb", free, torque)
        now_shut = is_on & pressed(edges, is_shut, move, pull)
        if (now_shut == is_shut).all():
            break
        is_shut, mobility = now_shut, shut(free, edges, now_shut)
    return move


def _system(weighted: Array, answers: Array) -> Array:
    """Return the products (k, k, B) of two sets of answers (n, k, 3, B) over joints and axes."""
    by_tree = (rows.transpose(3, 1, 0, 2) for rows in (weighted, answers))
    left, right = (rows.reshape(*rows.shape[:2], -1) for rows in by_tree)
    system: Array = left @ right.transpose(0, 2, 1)
    return system.transpose(1, 2, 0)
