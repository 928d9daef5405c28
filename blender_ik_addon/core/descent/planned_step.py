"""A step of ``feasible_newton``, and what it counts with."""

from __future__ import annotations

from typing import NamedTuple

from ..algebra.arithmetic import Array, Flags
from .constrained_step import ConstrainedStep
from .near_edges import NearEdges


class PlannedStep(NamedTuple):
    """A step from poses, and what it counts with, (B,).

    Attributes:
        step: As the quadratic program has it.
        move: Turns (B, n, 3), no farther than steps may go.
        share: Of what the step would be without that.
        way: How far it goes, in radians.
        size: How far it is to go, in radians, whatever the shift.
        rests: Which trees have nowhere to go.
        planned: Where outputs shall be: what is held, then what is led, shape (B, k + l).
        edges: Those near to the poses.
        near: How near outputs are brought back after it.
    """

    step: ConstrainedStep
    move: Array
    share: Array
    way: Array
    size: Array
    rests: Flags
    planned: Array
    edges: NearEdges | None
    near: Array
