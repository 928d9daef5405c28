"""How solves end: by name for people, as numbers for many chains."""

from __future__ import annotations

import enum

import numpy as np

from ..algebra.arithmetic import Arithmetic, Condition, Number


class Status(enum.StrEnum):
    """How a solve ended."""

    REACHED = "REACHED"
    """The residual is within the tolerance."""
    EXTENDED = "EXTENDED"
    """The target is too far, so the chain is straight toward it, its closest pose."""
    FOLDED = "FOLDED"
    """The target is too near, so the chain is folded, its closest pose."""
    ITERATIONS_USED_UP = "ITERATIONS_USED_UP"
    """The cap on iterations came first; the best pose found is returned."""
    BLENDED = "BLENDED"
    """A share of the pose, or time too short, leaves the effector on its way to the target."""
    LIMITED = "LIMITED"
    """The joints lead no nearer, by their limits or locks; the pose is the nearest found."""
    SOFTENED = "SOFTENED"
    """The soft distance keeps the chain from stretching to a target that it could reach."""
    OUTWEIGHED = "OUTWEIGHED"
    """In a tree other effectors pull the shared bones away; the weights settle by how much."""


STATUSES = tuple(Status)
"""What status codes mean: they are indices into it."""
REACHED, EXTENDED, FOLDED, ITERATIONS_USED_UP, BLENDED, LIMITED, SOFTENED, OUTWEIGHED = (
    np.int8(code) for code in range(len(STATUSES))
)


def name_outcome(
    m: Arithmetic,
    residual: Number,
    accepted: Number,
    is_too_far: Condition,
    is_too_near: Condition,
    *,
    is_limited: Condition | None = None,
    short: Number | None = None,
) -> Number:
    """Return the status code of a chain.

    Args:
        m: Arithmetic of the numbers.
        residual: To the target as it stands.
        accepted: Distance that counts as reached.
        is_too_far: Whether the target is.
        is_too_near: Whether the target is, and no limit keeps the chain from folding.
        is_limited: Whether the joints lead no nearer; None for chains without joints.
        short: How far the soft distance has moved the target; None where none does.
    """
    code = m.where(is_too_far, EXTENDED, ITERATIONS_USED_UP)
    if is_limited is not None:
        code = m.where(is_limited, LIMITED, code)
    code = m.where(is_too_near, FOLDED, code)
    code = m.where(residual <= accepted, REACHED, code)
    if short is None:
        return code
    is_moved = (short > 0.0) & (code != REACHED)
    is_at_moved = residual <= short + accepted
    is_open = (code == ITERATIONS_USED_UP) | (code == LIMITED)
    code = m.where(is_moved & is_open & is_at_moved, SOFTENED, code)
    is_stuck = is_moved & m.negate(is_at_moved) & (code == EXTENDED)
    return m.where(is_stuck, ITERATIONS_USED_UP, code)
