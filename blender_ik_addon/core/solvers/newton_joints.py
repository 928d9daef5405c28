"""NEWTON on joints: damped Gauss-Newton on the turns of all joints, edges of ranges held."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Array, Flags
from ..algebra.arrays import norm
from ..algebra.chains_first import apply, chains_last
from ..algebra.nested import Nested
from ..descent.near_edges import NearEdges
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.limit_edges import LEAST_LEAVING, ON_EDGE
from ..kinematics.posed import State
from .newton_directions import next_damping

# The linear model of a step says little beyond this turn, in radians. Larger steps arrive as soon,
# but poses for targets close by part.
LARGEST_TURN = 0.45
# A joint that its edge has stopped may send another over its own, or call one back from it: that
# is looked at anew so often.
MOST_PASSES = 6
# What no joint can do, compared with what all can: a system without would divide by rounding.
LEAST_SYSTEM = 1e-12
# And compared with the square of a chain's length.
NOTHING = 1e-14
# Aims that a pose cannot give would else be asked of rounding.
LEAST_WITH_AIMS = 1e-9


def step(state: State, tree: KinematicTree, target: Array, damping: Array) -> tuple[State, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    The least turns of the joints that cancel the errors of all effectors to first order solve a
    system as large as the output, three equations a position, whatever the number of bones. Roots
    of weights rule where not all can be met. A joint that stands on an edge of its range and would
    leave it keeps to the edge, until a pull leads back from it; the system is solved again with
    what the others can do. Steps are brought back inside the ranges, and taken if the error falls.

    Args:
        state: Of the joints.
        tree: Chains or trees.
        target: Of the first rows of the output, shape (k, B).
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
    move, slide, is_kept = _find_least_step(tree, state, error, damping * error_norm / tree.reach)
    largest = norm(move).max(axis=0)
    share: Array = LARGEST_TURN / np.maximum(largest, LARGEST_TURN)
    turn = turns.turn_by(state.turn, move * share)
    slide = state.slide if slide is None else state.slide + slide * share
    moved = tree.clamp_state(turn, slide, is_kept)
    is_better = norm(target - moved.output[:rows]) < error_norm
    following = next_damping(ARRAYS, damping, is_better)
    return moved.choose(is_better, state), following


class _Limits(NamedTuple):
    """Edges that joints stand on, and which of them they keep to, (B, n, 3 edges)."""

    edges: NearEdges
    is_kept: Flags

    def find_pressed(self, pull: Array, move: Array) -> Flags:
        """Return the edges to keep to, (B, n, 3 edges): an active set, one pass on.

        Of those kept to the ones that pulls (B, n, 3) press on; of the others those that turns
        (B, n, 3) cross.
        """
        presses = apply(self.edges.normals, pull) > -LEAST_LEAVING
        crosses = apply(self.edges.normals, move) > LEAST_LEAVING
        pressed: Flags = self.edges.is_near & np.where(self.is_kept, presses, crosses)
        return pressed


class _Slides(NamedTuple):
    """Bones whose heads move along their slide axes: how effectors follow, which of them may.

    Shape (n, 3, B), and (n, B) of the others.
    """

    effects: Array
    is_free: Flags
    is_at_low: Flags
    is_at_high: Flags


def _find_least_step(
    tree: KinematicTree, state: State, error: Array, damping: Array
) -> tuple[Array, Array | None, Flags | None]:
    """Return turns (n, 3, B) and slides (n, B) that cancel errors (k, B) to first order.

    And the edges kept to, as states have them. None for slides and edges where there are none.
    """
    if state.linear is None:
        state.linear = _linearize(tree, state, len(error))
    jacobian, free, limits, slides = state.linear
    found: tuple[Array, Array | None, Flags | None] = _solve_pass(
        tree, (jacobian, free, error, damping), limits, slides, MOST_PASSES
    )
    return found


def _linearize(
    tree: KinematicTree, state: State, rows: int
) -> tuple[Array, Array, _Limits | None, _Slides | None]:
    """Return the Jacobian of the first rows of the output, as ``_solve_pass`` takes it."""
    joints, limits, slides = tree.joints, None, None
    free = jacobian = tree.find_jacobian(state.posed)[:, :rows]
    if joints.has_edges:
        edges = NearEdges(joints.rows, state.turn.transpose(2, 0, 1), ON_EDGE)
        edges.store_chains_last()
        if joints.has_stiffness or edges.has_locks:
            free = _turn_joints(jacobian, edges.free)
        if edges.has_any:
            limits = _Limits(edges, edges.is_near & state.is_kept.transpose(2, 0, 1))
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
    given: tuple[Array, Array, Array, Array],
    limits: _Limits | None,
    slides: _Slides | None,
    passes: int,
) -> Nested:
    """Return turns, slides and the edges kept to; if any of those has changed, of further passes.

    Given are the Jacobian (n, k, 3, B), how its pulls turn the joints but for their edges, the
    errors and the dampings.
    """
    jacobian, free, error, damping = given
    turned, slide = free, None
    if limits is not None and limits.is_kept.any():
        turned = _turn_joints(jacobian, limits.edges.hold(limits.is_kept))
    system = np.einsum("nkcb,nlcb->klb", turned, jacobian)
    if slides is not None:
        sliding = slides.effects * slides.is_free[:, None]
        system[:3, :3] += np.einsum("nib,njb->ijb", sliding, slides.effects)
    multiplier = _solve_damped(tree, system, error, damping)
    move = np.einsum("nkcb,kb->ncb", turned, multiplier)
    is_kept, has_changed = None, False
    if limits is not None:
        pull = np.einsum("nkcb,kb->ncb", free, multiplier).transpose(2, 0, 1)
        is_kept, is_pressed = limits.is_kept, limits.find_pressed(pull, move.transpose(2, 0, 1))
        has_changed = not np.array_equal(is_pressed, is_kept)
        limits = limits._replace(is_kept=is_pressed)
    if slides is not None:
        # Slides that would leave their ranges stay.
        slide = np.einsum("nib,ib->nb", sliding, multiplier[:3])
        leaves = ((slide < 0.0) & slides.is_at_low) | ((slide > 0.0) & slides.is_at_high)
        has_changed |= bool(leaves.any())
        slides = slides._replace(is_free=slides.is_free & ~leaves)
    if passes == 1 or not has_changed:
        return move, slide, None if is_kept is None else is_kept.transpose(1, 2, 0)
    return _solve_pass(tree, given, limits, slides, passes - 1)


def _turn_joints(pulls: Array, mobility: Array) -> Array:
    """Return how pulls (n, k, 3, B) turn joints of mobilities (B, n, 3, 3), (n, k, 3, B)."""
    turned: Array = np.einsum("nkab,nacb->nkcb", pulls, chains_last(mobility))
    return turned


def _weigh_axes(pulls: Array, turn: Array, mobility: Array) -> Array:
    """Return how pulls (n, k, 3, B) turn joints that turn less readily about some axes, likewise.

    As ``JointRows.weigh_axes``, of joints without edges.
    """
    axes = turns.to_matrices(turn)
    about = np.einsum("nkab,nacb->nkcb", pulls, axes) * mobility[:, None]
    turned: Array = np.einsum("nkcb,nacb->nkab", about, axes)
    return turned


def _solve_damped(tree: KinematicTree, system: Array, error: Array, damping: Array) -> Array:
    """Return the multipliers (k, B) of damped systems (k, k, B).

    The rows of positions are damped alike, and those of each turn of a tip: else what comes out
    would depend on the axes of vectors. Each of the others is damped by itself: what weighs little
    would be damped away beside what weighs much.
    """
    added, alike = np.einsum("kkb->kb", system), 3 * len(tree.ends)
    has_aims = len(system) > alike
    share = LEAST_WITH_AIMS if has_aims else LEAST_SYSTEM
    # Where edges stop every joint the system is rounding, of either sign.
    diagonal = np.maximum(added, 0.0)
    least = share * diagonal.sum(axis=0) + NOTHING
    diagonal[:alike] = diagonal[:alike].sum(axis=0) / alike
    if has_aims and tree.aims is not None and tree.aims.tips is not None:
        threes = len(tree.aims.tips.bones)
        means = diagonal[-3 * threes :].reshape(threes, 3, -1).mean(axis=1)
        diagonal[-3 * threes :] = np.repeat(means, 3, axis=0)
    added += np.maximum(diagonal * damping, least)
    multiplier: Array = np.linalg.solve(system.transpose(2, 0, 1), error.T[..., None])[..., 0].T
    return multiplier
