"""NEWTON for jointed chains: damped Gauss-Newton on the turns of all joints, edges held."""

from __future__ import annotations

import numpy as np

from . import swings, turns
from .jointed import Jointed
from .posed import Posed
from .solvers.newton_directions import DAMPING_DECAY, DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION
from .vectors import Array, Flags, norm

# The linear model of a step says little beyond this turn, in radians. Larger steps arrive as soon,
# but poses for targets close by part.
LARGEST_TURN = 0.45
# A joint that its edge has stopped may send another over its own, or call one back from it: that
# is looked at anew so often.
MOST_PASSES = 6
# A step that leaves more of the error than this share is none: where no turn leads nearer, rounding
# would choose the way.
HEADWAY = 1.0 - 1e-6
# A turn out of a range by less than this, in radians, is rounding.
LEAST_LEAVING = 1e-10
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
    posed = chain.posed(state)
    turn = state[:-1, :4]
    move, slide = _least_step(chain, posed, state, error, damping * error_norm / chain.reach)
    size = np.sqrt(np.einsum("nib,nib->nb", move, move)).max(axis=0)
    shrink = np.minimum(1.0, LARGEST_TURN / np.maximum(size, LARGEST_TURN))
    turned = chain.clamped(turns.normalised(turns.multiply(turns.by_vectors(move * shrink), turn)))
    slid = np.clip(state[:-1, 4] + slide * shrink, chain.slide_low, chain.slide_high)
    moved = chain.state(turned, slid)
    is_better = norm(target - moved[-1, :rows]) < HEADWAY * error_norm
    grown = np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    next_damping = np.where(is_better, damping * DAMPING_DECAY, grown)
    if not is_better.all():
        moved = np.where(is_better, moved, state)
    return moved, next_damping


def _least_step(
    chain: Jointed, posed: Posed, state: Array, error: Array, damping: Array
) -> tuple[Array, Array]:
    """Return turns (n, 3, B) and slides (n, B) that cancel errors (k, B) to first order."""
    turn = state[:-1, :4]
    answers = chain.answers(posed)[:, : len(error)]
    edges = chain.edges(turn)
    mobility = free = chain.mobilities(turn, edges)
    is_on = edges.is_on & ~edges.is_held
    has_edges = bool(is_on.any())
    is_shut = np.zeros_like(is_on)
    slides = _Slides(chain, posed, state)
    for _ in range(MOST_PASSES):
        weighted = np.einsum("nkab,nacb->nkcb", answers, mobility)
        system = np.einsum("nkcb,nlcb->klb", weighted, answers).transpose(2, 0, 1)
        multiplier = solved(system + slides.system(len(error)), error, damping)
        move = np.einsum("nkcb,kb->ncb", weighted, multiplier)
        slide = slides.step(multiplier)
        is_changed = slides.block(slide)
        if has_edges:
            torque = np.einsum("nkab,kb->nab", answers, multiplier)
            pull = np.einsum("nacb,nab->ncb", free, torque)
            now_shut = is_on & pressed(edges, is_shut, move, pull)
            if (now_shut != is_shut).any():
                is_shut, is_changed = now_shut, True
                mobility = shut(free, edges, is_shut)
        if not is_changed:
            break
    return move, slide


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


class _Slides:
    """The bones whose heads move along their slide axes; nothing where none does."""

    def __init__(self, chain: Jointed, posed: Posed, state: Array) -> None:
        self._chain, self._slide = chain, state[:-1, 4]
        self._answers: Array | None = None
        if chain.has_slides:
            self._answers = chain.slid(posed)
            self._mobility = np.where(chain.slide_high > chain.slide_low, 1.0, 0.0)

    def system(self, rows: int) -> Array | float:
        """Return what slides add to systems of so many rows, shape (B, rows, rows)."""
        if self._answers is None:
            return 0.0
        whole = np.zeros((self._slide.shape[-1], rows, rows))
        whole[:, :3, :3] = np.einsum(
            "nib,nb,njb->bij", self._answers, self._mobility, self._answers
        )
        return whole

    def step(self, multiplier: Array) -> Array:
        """Return the slides (n, B) that multipliers (k, B) make."""
        if self._answers is None:
            return np.zeros_like(self._slide)
        pull: Array = np.einsum("nib,ib->nb", self._answers, multiplier[:3])
        return self._mobility * pull

    def block(self, slide: Array) -> bool:
        """Hold the slides that would leave their ranges; tell if there are any."""
        if self._answers is None:
            return False
        chain = self._chain
        leaves: Flags = (slide > 0.0) & (self._slide >= chain.slide_high - swings.ON_EDGE)
        leaves |= (slide < 0.0) & (self._slide <= chain.slide_low + swings.ON_EDGE)
        leaves &= self._mobility > 0.0
        self._mobility = np.where(leaves, 0.0, self._mobility)
        return bool(leaves.any())


def solved(system: Array, error: Array, damping: Array, alike: int = 3, threes: int = 0) -> Array:
    """Return the multipliers (k, B) of damped systems (B, k, k).

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
    diagonal = np.einsum("bkk->bk", system).copy()
    has_aims = system.shape[-1] > alike
    least = (LEAST_WITH_AIMS if has_aims else LEAST_SYSTEM) * diagonal.sum(axis=1, keepdims=True)
    # Where edges stop every joint the system is rounding, of either sign.
    diagonal, least = np.maximum(diagonal, 0.0), np.maximum(least, 0.0) + NOTHING
    diagonal[:, :alike] = diagonal[:, :alike].mean(axis=1, keepdims=True)
    if threes:
        means = diagonal[:, -3 * threes :].reshape(len(diagonal), threes, 3).mean(axis=2)
        diagonal[:, -3 * threes :] = np.repeat(means, 3, axis=1)
    floor = np.maximum(diagonal * damping[:, None], least)
    system = system + floor[:, :, None] * np.eye(system.shape[-1])
    multiplier: Array = np.linalg.solve(system, error.T[:, :, None])[:, :, 0].T
    return multiplier
