"""Outcomes of solves: names for one chain, numbers for many."""

from __future__ import annotations

import enum

import numpy as np
import numpy.typing as npt

from ..algebra.arithmetic import Arithmetic, Condition, Number


class Status(enum.StrEnum):
    """The outcome of a solve."""

    REACHED = "REACHED"
    """The residual is within the tolerance."""
    EXTENDED = "EXTENDED"
    """The target is too far, so the chain is straight toward it, its closest pose.

    Limits and locks may keep it from that by up to a hundredth of the residual.
    """
    FOLDED = "FOLDED"
    """The target is too near, so the chain is folded, its closest pose."""
    ITERATIONS_USED_UP = "ITERATIONS_USED_UP"
    """The cap on iterations ended the solve; the result is the best pose so far."""
    BLENDED = "BLENDED"
    """A partial influence, or too little time, leaves the effector on its way to the target."""
    LIMITED = "LIMITED"
    """Limits or locks of joints keep the effector from the target; the pose is the nearest one."""
    SOFTENED = "SOFTENED"
    """The soft distance keeps the chain from stretching to a target that it could reach."""
    OUTWEIGHED = "OUTWEIGHED"
    """In a tree, other effectors pull shared bones away; the weights decide how far."""


STATUSES = tuple(Status)
"""The outcomes; status codes are indices into this tuple."""
Codes = npt.NDArray[np.int8]
REACHED, EXTENDED, FOLDED, ITERATIONS_USED_UP, BLENDED, LIMITED, SOFTENED, OUTWEIGHED = (
    np.int8(code) for code in range(len(STATUSES))
)


def name_outcome(
    m: Arithmetic,
    residual: Number,
    tolerance: Number,
    is_too_far: Condition,
    is_too_near: Condition,
    *,
    is_limited: Condition | None = None,
    short: Number | None = None,
) -> Number:
    """Return the status code of a chain.

    Args:
        m: Arithmetic of the numbers.
        residual: Distance from the effector to the target, which is not softened.
        tolerance: Distance that counts as reached.
        is_too_far: Whether the target is too far.
        is_too_near: Whether the target is too near, and no limit keeps the chain from folding.
        is_limited: Whether joints keep the effector from the target; None without joints.
        short: Distance by which the soft distance moves the target; None without soft distances.
    """
    code = m.where(is_too_far, EXTENDED, ITERATIONS_USED_UP)
    if is_limited is not None:
        code = m.where(is_limited, LIMITED, code)
    code = m.where(is_too_near, FOLDED, code)
    code = m.where(residual <= tolerance, REACHED, code)
    if short is None:
        return code
    is_moved = (short > 0.0) & (code != REACHED)
    is_at_moved = residual <= short + tolerance
    is_open = (code == ITERATIONS_USED_UP) | (code == LIMITED)
    code = m.where(is_moved & is_open & is_at_moved, SOFTENED, code)
    is_stuck = is_moved & m.negate(is_at_moved) & (code == EXTENDED)
    return m.where(is_stuck, ITERATIONS_USED_UP, code)
