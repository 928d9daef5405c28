"""A step of ``feasible_newton``, with its length and its prediction."""

from __future__ import annotations

from typing import NamedTuple

from ..algebra.arithmetic import Array, Flags
from .constrained_step import ConstrainedStep
from .near_edges import NearEdges


class PlannedStep(NamedTuple):
    """A step from B poses, bounded by the trust region.

    Attributes:
        step: The solution of the quadratic program.
        move: Turns of the joints within the trust region, shape (B, n, 3).
        share: Share of the solution that the move is, shape (B,).
        length: Largest turn of a joint in the move, in radians, shape (B,).
        size: Estimate of the largest turn left to the minimum, in radians, shape (B,).
        is_at_rest: Which trees need no further step, shape (B,).
        prediction: Outputs after the step, held ones before tracked ones, shape (B, k + l).
        edges: Edges of ranges near to the poses; None where joints have none.
        tolerance: Distance at which outputs are restored after the step, shape (B,).
    """

    step: ConstrainedStep
    move: Array
    share: Array
    length: Array
    size: Array
    is_at_rest: Flags
    prediction: Array
    edges: NearEdges | None
    tolerance: Array
