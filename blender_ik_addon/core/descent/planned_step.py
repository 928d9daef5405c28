"""A step of ``feasible_newton``, and what it counts with."""

from __future__ import annotations

from typing import NamedTuple

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import measure
from .constrained_step import ConstrainedStep
from .near_edges import NearEdges

# How near outputs are brought back, as a share of the reach; so much more after a step of a radian.
RETURNED, RETURNED_BY_STEP = 1e-11, 1e-3


class PlannedStep(NamedTuple):
    """A step from poses, and what it counts with, (B,).

    Attributes:
        step: As the quadratic program has it.
        move: Turns (B, n, 3), no farther than the largest one.
        size: How far it is to go, in radians, whatever the shift.
        rests: Which trees have nowhere to go.
        planned: Where outputs shall be, shape (B, k).
        edges: Those near to the poses.
    """

    step: ConstrainedStep
    move: Array
    size: Array
    rests: Flags
    planned: Array
    edges: NearEdges | None

    def find_near(self, reach: Array) -> Array:
        """Return how near outputs are brought back after it, of trees with a reach (B,)."""
        by_step = RETURNED_BY_STEP * measure(self.move).max(axis=1) ** 2
        near: Array = (RETURNED + by_step) * reach
        return near
