"""NEWTON for jointed chains: damped Gauss-Newton on the turns of all joints, edges held."""

from __future__ import annotations

import numpy as np

from . import swings, turns
from .active_limits import LEAST_LEAVING, ActiveLimits, Block, Slides
from .jointed import Jointed
from .positive import solve_positive
from .solvers.newton_directions import DAMPING_DECAY, DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION
from .vectors import Array, Flags, norm, not_alone, taken

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


def step(state: Array, chain: Jointed, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the state after one iteration: a better one, or the same with more damping.

    The least turns of the joints that cancel the error to first order solve a system as large as
    the output, three equations for a position, whatever the number of bones. A joint that stands on
    an edge of its range and would leave it keeps to the edge, until a pull leads back from it; the
    system is solved again with what the others can do. Steps are brought back inside the ranges,
    and taken if the error falls.

    Args:
        state: As ``jointed`` tells, shape (n + 1, 7, B).
        chain: The chains.
        target: Of the first rows of the output, shape (k, B).
        damping: Shape (B,).

    Returns:
        The new state, and the damping for the next iteration.

    Source: projected Gauss-Newton with an active set (Nocedal and Wright, "Numerical Optimization",
    2006, chapters 10 and 16); the edges as rank-one blocks of joint mobilities are derived for this
    project and tested in tests/core/test_swings.py and test_limited_reach.py.
    """
    rows = len(target)
    error = target - state[-1, :rows]
    error_norm = norm(error)
    move, slide, active = _least_step(chain, state, error, damping * error_norm / chain.reach)
    shrink = LARGEST_TURN / np.maximum(norm(move).max(axis=0), LARGEST_TURN)
    turn = turns.normalised(turns.multiply(turns.by_vectors(move * shrink), state[:-1, :4]))
    slide = state[:-1, 4] if slide is None else state[:-1, 4] + slide * shrink
    moved = chain.clamped_state(turn, slide, active)
    is_better = norm(target - moved[-1, :rows]) < HEADWAY * error_norm
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    next_damping = np.where(is_better, damping * DAMPING_DECAY, grown)
    return chain.chosen(is_better, moved, state), next_damping


def _least_step(
    chain: Jointed, state: Array, error: Array, damping: Array
) -> tuple[Array, Array | None, Array | None]:
    """Return turns (n, 3, B) and slides (n, B) that cancel errors (k, B) to first order.

    And the edges kept to, as states have them. None for slides and edges where there are none.
    """
    posed, edges = chain.posed(state), chain.standing_edges(state)
    jacobian = chain.answers(posed)
    turned = chain.turned_by(state[:-1, :4], edges)
    weighted = turned(jacobian)
    system = np.einsum("nkcb,nlcb->klb", weighted, jacobian)
    blocks: list[Block] = []
    if chain.has_slides:
        ends = chain.slide_low, chain.slide_high
        blocks.append(Slides(chain.slid(posed), state[:-1, 4], *ends, len(error)))
    slides, limits = blocks[0] if blocks else None, None
    if edges is not None and edges.is_on.any():
        limits = ActiveLimits(edges, turned(edges.normals), jacobian, state[:-1, 6])
        blocks.append(limits)
    multiplier = _multipliers(system, error, damping, blocks)
    move = np.einsum("nkcb,kb->ncb", weighted, multiplier)
    slide = slides.slide if isinstance(slides, Slides) else None
    return (move, slide, None) if limits is None else (limits.held(move), slide, limits.active)


def _multipliers(system: Array, error: Array, damping: Array, blocks: list[Block]) -> Array:
    """Return the multipliers (k, B) under which no joint leaves its range.

    Chains of which nothing is held or released any more leave the arrays.
    """
    found, live = np.empty_like(error), np.arange(error.shape[-1])
    for _ in range(MOST_PASSES):
        whole = system
        for block in blocks:
            whole = whole + block.system()
        multiplier = solved(whole, error, damping)
        found[:, live] = multiplier
        is_changed = np.zeros(len(live), dtype=np.bool_)
        for block in blocks:
            is_changed |= block.update(multiplier)
        rest = not_alone(np.flatnonzero(is_changed), len(live))
        if not len(rest):
            break
        if len(rest) <= COMPACT * len(live):
            live, damping = live[rest], damping[rest]
            system, error = taken(system, rest), taken(error, rest)
            for block in blocks:
                block.take(rest)
    return found


def pressed(edges: swings.Edges, is_shut: Flags, move: Array, pull: Array) -> Flags:
    """Return the edges to hold: those that a move leaves by, and those that a pull presses on."""
    leaving = np.einsum("neib,nib->neb", edges.normals, move) > LEAST_LEAVING
    pressing = np.einsum("neib,nib->neb", edges.normals, pull) > -LEAST_LEAVING
    is_pressed: Flags = np.where(is_shut, pressing, leaving)
    return is_pressed


def shut(free: Array, edges: swings.Edges, is_shut: Flags) -> Array:
    """Return mobilities without turns across shut edges."""
    mobility = free
    for edge in range(3):
        if is_shut[:, edge].any():
            mobility = swings.blocked(mobility, edges.normals[:, edge], is_shut[:, edge])
    return mobility


def solved(system: Array, error: Array, damping: Array, alike: int = 3, threes: int = 0) -> Array:
    """Return the multipliers (k, B) of damped systems (k, k, B).

    Args:
        system: Of which the first rows belong to positions.
        error: Shape (k, B).
        damping: Shape (B,).
        alike: How many rows of positions there are.
        threes: How many vectors the last rows are, damped alike in all directions: else what
            comes out would hang on the axes that the vectors are told in.
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
