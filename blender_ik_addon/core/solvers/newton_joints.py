"""NEWTON on joints: damped Gauss-Newton on the turns of all joints, edges of ranges held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Array, Flags
from ..algebra.arrays import norm
from ..algebra.chains_first import apply, chains_last
from ..descent.near_edges import NearEdges
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.limit_edges import LEAST_LEAVING, ON_EDGE
from ..kinematics.posed import State
from .newton_directions import next_damping

# Largest turn of a joint in one step, in radians: the linear model is good for little more. Larger
# steps arrive as soon, but poses for neighbouring targets differ.
LARGEST_TURN = 0.45
# Passes of the active set in a step: a joint stopped by its edge may push another one over its own.
MAX_ACTIVE_SET_PASSES = 6
# Least damping of the diagonal, as a share of the trace: a row that no joint can change would
# otherwise divide by rounding.
MIN_SHARE = 1e-12
# The same, as a share of the square of a chain's length.
MIN_DIAGONAL = 1e-14
# The first share where there are aims, which a pose may be unable to change.
MIN_AIMED_SHARE = 1e-9


def step(state: State, tree: KinematicTree, target: Array, damping: Array) -> tuple[State, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    The least turns of the joints that cancel the errors of all effectors to first order solve a
    system as large as the output, three equations a position, whatever the number of bones. Where
    not all errors can be cancelled, the roots of the weights decide. A joint on an edge of its
    range that would leave it keeps to the edge, until a pull leads back; the system is solved again
    for the other joints. Steps are clamped to the ranges, and taken if the error falls.

    Args:
        state: Present state of the joints.
        tree: Chains or trees.
        target: Target of the first rows of the output, shape (k, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration.

    Source: projected Gauss-Newton with an active set (Nocedal and Wright, "Numerical Optimization",
    2006, chapters 10 and 16); the edges as rank-one blocks of joint mobilities are derived for this
    project and tested in tests/core/kinematics/test_limit_edges.py, test_reach.py and
    test_tree_reach.py.
    """
    rows = len(target)
    error = target - state.output[:rows]
    error_norm = norm(error)
    if state.linear is None:
        state.linear = _linearize(tree, state, rows)
    jacobian, free, limits, slides = state.linear
    inputs = jacobian, free, error, damping * error_norm / tree.reach
    move, slide, was_active = _solve_pass(tree, inputs, limits, slides, MAX_ACTIVE_SET_PASSES)
    largest = norm(move).max(axis=0)
    share: Array = LARGEST_TURN / np.maximum(largest, LARGEST_TURN)
    turn = turns.turn_by(state.turn, move * share)
    slide = state.slide if slide is None else state.slide + slide * share
    moved = tree.clamp_state(turn, slide, was_active)
    is_better = norm(target - moved.output[:rows]) < error_norm
    following = next_damping(ARRAYS, damping, is_better)
    return moved.choose(is_better, state), following


class _Limits(NamedTuple):
    """Edges near joints, and the active ones that joints keep to, (B, n, 3 edges)."""

    edges: NearEdges
    was_active: Flags

    def find_active(self, pull: Array, move: Array) -> Flags:
        """Return the active edges of the next pass, (B, n, 3 edges).

        An active edge stays active while pulls (B, n, 3) press on it. Another edge becomes active
        if turns (B, n, 3) cross it.
        """
        presses = apply(self.edges.normals, pull) > -LEAST_LEAVING
        crosses = apply(self.edges.normals, move) > LEAST_LEAVING
        active: Flags = self.edges.is_near & np.where(self.was_active, presses, crosses)
        return active


class _Slides(NamedTuple):
    """Bones whose heads slide along axes: how effectors follow, and which bones may slide.

    Shape (n, 3, B) of effects, and (n, B) of flags.
    """

    effects: Array
    is_free: Flags
    is_at_low: Flags
    is_at_high: Flags


def _linearize(
    tree: KinematicTree, state: State, rows: int
) -> tuple[Array, Array, _Limits | None, _Slides | None]:
    """Return the inputs of ``_solve_pass``: Jacobian, turns without edges, limits and slides."""
    joints, limits, slides = tree.joints, None, None
    free = jacobian = tree.find_jacobian(state.posed)[:, :rows]
    if joints.has_edges:
        edges = NearEdges(joints.rows, state.turn.transpose(2, 0, 1), ON_EDGE)
        edges.store_chains_last()
        if joints.has_stiffness or edges.has_locks:
            free = _turn_joints(jacobian, edges.free)
        if edges.has_any:
            limits = _Limits(edges, edges.is_near & state.was_active.transpose(2, 0, 1))
    elif joints.has_stiffness:
        free = _weigh_axes(jacobian, state.turn, joints.mobility)
    if free is jacobian and not joints.axis_shares.all():
        free = jacobian * joints.axis_shares[:, None]
    if tree.slide_axes is not None:
        slide, low, high = state.slide, joints.slide_low, joints.slide_high
        is_at_end = slide <= low + ON_EDGE, slide >= high - ON_EDGE
        slides = _Slides(tree.slide_effects(state.posed), high > low, *is_at_end)
    return jacobian, free, limits, slides


def _solve_pass(
    tree: KinematicTree,
    inputs: tuple[Array, Array, Array, Array],
    limits: _Limits | None,
    slides: _Slides | None,
    passes: int,
) -> tuple[Array, Array | None, Flags | None]:
    """Return turns (n, 3, B) and slides (n, B) that cancel errors to first order.

    Also return the active edges. Slides and edges are None where there are none; if they change,
    those of further passes are returned. Inputs are the Jacobian (n, k, 3, B), how its pulls turn
    joints without their edges, the errors (k, B) and the dampings.
    """
    jacobian, free, error, damping = inputs
    moves, slide = free, None
    if limits is not None and limits.was_active.any():
        moves = _turn_joints(jacobian, limits.edges.hold(limits.was_active))
    system = np.einsum("nkcb,nlcb->klb", moves, jacobian)
    if slides is not None:
        sliding = slides.effects * slides.is_free[:, None]
        system[:3, :3] += np.einsum("nib,njb->ijb", sliding, slides.effects)
    multiplier = _solve_damped(tree, system, error, damping)
    move = np.einsum("nkcb,kb->ncb", moves, multiplier)
    was_active, has_changed = None, False
    if limits is not None:
        pull = np.einsum("nkcb,kb->ncb", free, multiplier).transpose(2, 0, 1)
        was_active, is_active = limits.was_active, limits.find_active(pull, move.transpose(2, 0, 1))
        has_changed = not np.array_equal(is_active, was_active)
        limits = limits._replace(was_active=is_active)
    if slides is not None:
        # Slides that would leave their ranges stay.
        slide = np.einsum("nib,ib->nb", sliding, multiplier[:3])
        leaves = ((slide < 0.0) & slides.is_at_low) | ((slide > 0.0) & slides.is_at_high)
        has_changed |= bool(leaves.any())
        slides = slides._replace(is_free=slides.is_free & ~leaves)
    if passes == 1 or not has_changed:
        return move, slide, None if was_active is None else was_active.transpose(1, 2, 0)
    return _solve_pass(tree, inputs, limits, slides, passes - 1)


def _turn_joints(pulls: Array, mobility: Array) -> Array:
    """Return how pulls (n, k, 3, B) turn joints of mobilities (B, n, 3, 3), (n, k, 3, B)."""
    moves: Array = np.einsum("nkab,nacb->nkcb", pulls, chains_last(mobility))
    return moves


def _weigh_axes(pulls: Array, turn: Array, mobility: Array) -> Array:
    """Return how pulls (n, k, 3, B) turn joints that are stiffer about some axes, likewise.

    As ``JointRows.weigh_axes``, of joints without edges.
    """
    axes = turns.to_matrices(turn)
    about = np.einsum("nkab,nacb->nkcb", pulls, axes) * mobility[:, None]
    moves: Array = np.einsum("nkcb,nacb->nkab", about, axes)
    return moves


def _solve_damped(tree: KinematicTree, system: Array, error: Array, damping: Array) -> Array:
    """Return the multipliers (k, B) of damped systems (k, k, B).

    All rows of positions have the same damping, and so do the three rows of each turn of a tip:
    otherwise the result would depend on the axes of vectors. Each other row has its own damping:
    with a common one, rows of small weight would be damped away beside rows of large weight.
    """
    diagonal_view, position_rows = np.einsum("kkb->kb", system), 3 * len(tree.ends)
    has_aims = len(system) > position_rows
    share = MIN_AIMED_SHARE if has_aims else MIN_SHARE
    # If edges stop every joint, the system is rounding, of either sign.
    diagonal = np.maximum(diagonal_view, 0.0)
    minimum = share * diagonal.sum(axis=0) + MIN_DIAGONAL
    diagonal[:position_rows] = diagonal[:position_rows].sum(axis=0) / position_rows
    if has_aims and tree.aims is not None and tree.aims.tips is not None:
        tip_count = len(tree.aims.tips.bones)
        means = diagonal[-3 * tip_count :].reshape(tip_count, 3, -1).mean(axis=1)
        diagonal[-3 * tip_count :] = np.repeat(means, 3, axis=0)
    diagonal_view += np.maximum(diagonal * damping, minimum)
    multiplier: Array = np.linalg.solve(system.transpose(2, 0, 1), error.T[..., None])[..., 0].T
    return multiplier
