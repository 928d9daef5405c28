"""The outcomes of solves: of one by name, of many as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .algebra.arithmetic import Arithmetic, Condition, Number
from .chain import Status

STATUSES = tuple(Status)
"""What the numbers in ``Solutions.status_codes`` mean."""
Codes = npt.NDArray[np.int8]
REACHED, BLENDED, LIMITED, EXTENDED, FOLDED, SOFTENED, ITERATIONS_USED_UP = (
    np.int8(STATUSES.index(status))
    for status in (
        Status.REACHED,
        Status.BLENDED,
        Status.LIMITED,
        Status.EXTENDED,
        Status.FOLDED,
        Status.SOFTENED,
        Status.ITERATIONS_USED_UP,
    )
)


def name_outcome(
    m: Arithmetic,
    residual: Number,
    accepted: Number,
    is_too_far: Condition,
    is_too_near: Condition,
    short: Number | None,
) -> Number:
    """Return the status code of a chain without joints.

    Args:
        m: Arithmetic of the numbers.
        residual: To the target as it stands.
        accepted: Distance that counts as reached.
        is_too_far: Whether the target is.
        is_too_near: Whether the target is.
        short: How far the soft distance has moved the target, or None.
    """
    code = m.where(is_too_far, EXTENDED, m.where(is_too_near, FOLDED, ITERATIONS_USED_UP))
    code = m.where(residual <= accepted, REACHED, code)
    return code if short is None else soften_outcome(m, code, residual, short, accepted)


def soften_outcome(
    m: Arithmetic, code: Number, residual: Number, short: Number, accepted: Number
) -> Number:
    """Return a status code that knows of a target moved by the soft distance.

    Args:
        m: Arithmetic of the numbers.
        code: As it is without.
        residual: To the target as it stands.
        short: How far that was moved.
        accepted: Distance that counts as reached.
    """
    is_moved = (short > 0.0) & (code != REACHED)
    is_at_moved = residual <= short + accepted
    is_open = (code == ITERATIONS_USED_UP) | (code == LIMITED)
    code = m.where(is_moved & is_open & is_at_moved, SOFTENED, code)
    is_stuck = is_moved & m.negate(is_at_moved) & (code == EXTENDED)
    return m.where(is_stuck, ITERATIONS_USED_UP, code)
