"""NEWTON on joints: damped Gauss-Newton on the turns of all joints, edges of ranges held."""

from __future__ import annotations

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Array
from ..algebra.arrays import norm, solve_positive
from ..algebra.nested import repeat_single, take_rows
from ..kinematics.kinematic_tree import TURN, KinematicTree
from .active_limits import ActiveLimits, Block, Slides
from .newton_directions import next_damping

# The linear model of a step says little beyond this turn, in radians. Larger steps arrive as soon,
# but poses for targets close by part.
LARGEST_TURN = 0.45
# A joint that its edge has stopped may send another over its own, or call one back from it: that
# is looked at anew so often.
MOST_PASSES = 6
# Chains of which nothing changes go along while they are fewer than these others.
COMPACT = 0.7
# A step that leaves more of the error than this share is none: where no turn leads nearer, rounding
# would choose the way.
HEADWAY = 1.0 - 1e-6
# What no joint can do, compared with what all can: a system without would divide by rounding.
LEAST_SYSTEM = 1e-12
# And compared with the square of a chain's length.
NOTHING = 1e-14
# Aims that a pose cannot give would else be asked of rounding.
LEAST_WITH_AIMS = 1e-9


def step(state: Array, tree: KinematicTree, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    The least turns of the joints that cancel the errors of all effectors to first order solve a
    system as large as the output, three equations a position, whatever the number of bones. Roots
    of weights rule where not all can be met. A joint that stands on an edge of its range and would
    leave it keeps to the edge, until a pull leads back from it; the system is solved again with
    what the others can do. Steps are brought back inside the ranges, and taken if the error falls.

    Args:
        state: As ``kinematic_tree`` describes, shape (n + 1, C, B).
        tree: Chains or trees.
        target: Of the first rows of the output, shape (k, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration.

    Source: projected Gauss-Newton with an active set (Nocedal and Wright, "Numerical Optimization",
    2006, chapters 10 and 16); the edges as rank-one blocks of joint mobilities are derived for this
    project and tested in tests/core/kinematics/test_limit_edges.py, test_limited_reach.py and
    test_tree_reach.py.
    """
    rows = len(target)
    error = target - state[-1, :rows]
    error_norm = norm(error)
    move, slide, active = _find_least_step(tree, state, error, damping * error_norm / tree.reach)
    share = shrink(move)
    turn = turns.turn_by(state[:-1, :TURN], move * share)
    slide = state[:-1, TURN] if slide is None else state[:-1, TURN] + slide * share
    moved = tree.clamp_state(turn, slide, active)
    is_better = norm(target - moved[-1, :rows]) < HEADWAY * error_norm
    following = next_damping(ARRAYS, damping, is_better)
    return tree.choose_states(is_better, moved, state), following


def shrink(move: Array, largest: float = LARGEST_TURN) -> Array:
    """Return the shares (B,) of moves (n, 3, B) that turn no joint farther than the largest."""
    share: Array = largest / np.maximum(norm(move).max(axis=0), largest)
    return share


def _find_least_step(
    tree: KinematicTree, state: Array, error: Array, damping: Array
) -> tuple[Array, Array | None, Array | None]:
    """Return turns (n, 3, B) and slides (n, B) that cancel errors (k, B) to first order.

    And the edges kept to, as states have them. None for slides and edges where there are none.
    """
    posed, joints, turn = tree.posed(state), tree.joints, state[:-1, :TURN]
    edges = joints.standing_edges(turn, state[:-1, 5] > 0.0)
    jacobian = tree.find_jacobian(posed)[:, : len(error)]
    turned = joints.turned_by(turn, edges)
    weighted = turned(jacobian)
    system = np.einsum("nkcb,nlcb->klb", weighted, jacobian)
    blocks: list[Block] = []
    if tree.slide_axes is not None:
        ends = joints.slide_low, joints.slide_high
        blocks.append(Slides(tree.slide_effects(posed), state[:-1, TURN], *ends, len(error)))
    slides, limits = blocks[0] if blocks else None, None
    if edges is not None and edges.is_on.any():
        limits = ActiveLimits(edges, turned(edges.normals), jacobian, state[:-1, 6])
        blocks.append(limits)
    alike = 3 * len(tree.ends)
    tips = None if tree.aims is None or len(error) == alike else tree.aims.tips
    threes = 0 if tips is None else len(tips.bones)
    multiplier = _find_multipliers(system, error, damping, blocks, (alike, threes))
    move = np.einsum("nkcb,kb->ncb", weighted, multiplier)
    slide = slides.slide if isinstance(slides, Slides) else None
    return (move, slide, None) if limits is None else (limits.held(move), slide, limits.active)


def _find_multipliers(
    system: Array, error: Array, damping: Array, blocks: list[Block], rows: tuple[int, int]
) -> Array:
    """Return the multipliers (k, B) under which no joint leaves its range.

    Chains of which nothing is held or released any more leave the arrays.
    """
    found, live = np.empty_like(error), np.arange(error.shape[-1])
    for _ in range(MOST_PASSES):
        whole = system
        for block in blocks:
            whole = whole + block.system()
        multiplier = _solve_damped(whole, error, damping, *rows)
        found[:, live] = multiplier
        is_changed = np.zeros(len(live), dtype=np.bool_)
        for block in blocks:
            is_changed |= block.update(multiplier)
        rest = repeat_single(np.flatnonzero(is_changed), len(live))
        if not len(rest):
            break
        if len(rest) <= COMPACT * len(live):
            live, damping = live[rest], damping[rest]
            system, error = take_rows(system, rest), take_rows(error, rest)
            for block in blocks:
                block.take(rest)
    return found


def _solve_damped(system: Array, error: Array, damping: Array, alike: int, threes: int) -> Array:
    """Return the multipliers (k, B) of damped systems (k, k, B).

    Args:
        system: Of which the first rows belong to positions.
        error: Shape (k, B).
        damping: Shape (B,).
        alike: How many rows of positions there are.
        threes: How many vectors the last rows are, damped alike in all directions: else what
            comes out would depend on the axes of the vectors.
    """
    # Those are damped alike, each of the others by itself: what weighs little would be damped away
    # beside what weighs much.
    diagonal = np.einsum("kkb->kb", system)
    share = LEAST_WITH_AIMS if len(system) > alike else LEAST_SYSTEM
    # Where edges stop every joint the system is rounding, of either sign.
    least = np.maximum(share * diagonal.sum(axis=0), 0.0) + NOTHING
    diagonal = np.maximum(diagonal, 0.0)
    diagonal[:alike] = diagonal[:alike].sum(axis=0) / alike
    if threes:
        means = diagonal[-3 * threes :].reshape(threes, 3, -1).mean(axis=1)
        diagonal[-3 * threes :] = np.repeat(means, 3, axis=0)
    floor = np.maximum(diagonal * damping, least)
    system = system.copy()
    np.einsum("kkb->kb", system)[...] += floor
    return solve_positive(system, error)
