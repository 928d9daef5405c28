"""The outcomes of solves: of one by name, of many as numbers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .chain import Status
from .vectors import Array, Flags

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


def status_codes(
    residuals: Array, accepted: Array, is_too_far: Flags, is_too_near: Flags, short: Array | None
) -> Codes:
    """Return the status codes of chains without joints, shape (B,).

    Args:
        residuals: To the targets as they stand, shape (B,).
        accepted: Distances that count as reached, shape (B,).
        is_too_far: Shape (B,).
        is_too_near: Shape (B,).
        short: How far soft distances have moved the targets, shape (B,), or None.
    """
    codes = np.select(
        [residuals <= accepted, is_too_far, is_too_near],
        [REACHED, EXTENDED, FOLDED],
        ITERATIONS_USED_UP,
    )
    return codes if short is None else softened_codes(codes, residuals, short, accepted)


def status_alone(
    residual: float, accepted: float, *, is_too_far: bool, is_too_near: bool, short: float
) -> Status:
    """Return the status of one chain, as ``status_codes`` does for many; ``short`` may be 0."""
    if residual <= accepted:
        return Status.REACHED
    if short and residual > short + accepted:
        return Status.ITERATIONS_USED_UP
    if is_too_far:
        return Status.EXTENDED
    if is_too_near:
        return Status.FOLDED
    return Status.SOFTENED if short else Status.ITERATIONS_USED_UP


def softened_codes(codes: Codes, residuals: Array, short: Array, accepted: Array) -> Codes:
    """Return status codes that know of targets moved by soft distances.

    Args:
        codes: As they are without, shape (B,).
        residuals: To the targets as they stand, shape (B,).
        short: How far those were moved, shape (B,).
        accepted: Distances that count as reached, shape (B,).
    """
    is_moved = (short > 0.0) & (codes != REACHED)
    is_at_moved = residuals <= short + accepted
    is_open = (codes == ITERATIONS_USED_UP) | (codes == LIMITED)
    codes = np.where(is_moved & is_open & is_at_moved, SOFTENED, codes)
    is_stuck = is_moved & ~is_at_moved & (codes == EXTENDED)
    return np.where(is_stuck, ITERATIONS_USED_UP, codes)
