"""Inputs and results of chains and trees that are solved side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from ...core import SolveOptions
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.algebra.nested import are_all
from ...core.model.status import BLENDED, ITERATIONS_USED_UP, REACHED, Codes
from ..frames.places import Places
from ..reading.batch_record import BatchRecord, take_rows
from .drag_state import DragState
from .eased_poses import Step

Place = TypeVar("Place")
"""Type of the spaces that chains are solved in."""


class SolveInputs(NamedTuple, Generic[Place]):
    """Inputs of one solve: b of the B chains, or trees of E chains, of a batch.

    Attributes:
        rows: Rows of the chains in the batch, shape (b,).
        places: The spaces that these chains are solved in.
        targets: World matrices of the targets, shape (b, E, 4, 4).
        poles: World positions of the poles of chains that have one, shape (b, P, 3), or None.
        present: Present rotation channels of the bones, shape (b, k, 4).
        is_followed: Whether each chain has everything that it follows, shape (E,).
        location: Location channels, shape (b, k, 3); None if nothing slides or is dragged.
        steps: The easing steps of the chains; None if they do not ease.
        is_known: Whether a chain goes to the same pose as at its last step, shape (b,).
        use_present: Whether all bones start from the present pose, whatever their own start.
        whole: Last solutions of bones that show only a share of them, local rotations wxyz, shape
            (b, k, 4); NaN where a solution is forgotten, None if all are.
        floors: World matrices of the floors of bodies, shape (b, 4, 4); None without floors.
        softness: Factors on the soft distances, shape (b, E); None for one.
        drag: The states that dragged chains continue from; None for other chains.
    """

    rows: Indices
    places: Place
    targets: Array
    poles: Array | None
    present: Array
    is_followed: Flags
    location: Array | None = None
    steps: Sequence[Step] | None = None
    is_known: Flags | None = None
    use_present: bool = False
    whole: Array | None = None
    floors: Array | None = None
    softness: Array | None = None
    drag: DragState | None = None

    def take(self, rows: Indices) -> SolveInputs[Place]:
        """Return the inputs of some of these chains, without easing steps and last solutions."""
        inputs = self._replace(steps=None, is_known=None, use_present=False, whole=None)
        if are_all(rows, len(self.rows)):
            return inputs
        names = ("rows", "places", "targets", "poles", "present", "location", "floors", "softness")
        return inputs._replace(**{name: take_rows(getattr(self, name), rows) for name in names})

    def softened(self, options: SolveOptions) -> SolveOptions:
        """Return the options of these chains with their part of the soft distances."""
        if self.softness is None:
            return options
        return replace(options, soft_distance=options.soft_distance * self.softness.min(axis=1))


PlacedInputs = SolveInputs[Places]
"""Inputs of chains or trees that are solved under any parents."""


@dataclass(frozen=True)
class Solved(BatchRecord):
    """Result of a solve of b chains, or trees of E chains, with k written bones.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        is_held_by_lock: Whether locked channels keep a bone from following, shape (b, k).
        residuals: Distances from effectors to targets in scene units, shape (b, E).
        iterations: Number of sweeps, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b, E).
        tip_gaps: Angles from the tips to the requested orientations, radians, shape (b, E).
        forces: As ``core.Solutions``, shape (b, E + 1); None except for bodies.
        holds: As ``core.Solutions``, shape (b, n, 3); None for chains without joints.
        slide_holds: As ``core.Solutions``, shape (b, n); None if nothing slides.
        scale: Scale channels, shape (b, k, 3); None if nothing stretches.
        location: Location channels, shape (b, k, 3); None if nothing slides or is dragged.
        whole: Solution at full influence, local wxyz, shape (b, k, 4); None for dragged chains.
    """

    channels: Array
    is_held_by_lock: Flags
    residuals: Array
    iterations: Indices
    status_codes: Codes
    tip_gaps: Array
    forces: Array | None = None
    holds: Flags | None = None
    slide_holds: Flags | None = None
    scale: Array | None = None
    location: Array | None = None
    whole: Array | None = None


def find_statuses(codes: Codes, has_arrived: Flags, is_blended: Flags, is_moved: Flags) -> Codes:
    """Return the status codes of the written pose.

    Args:
        codes: Status codes of the solve.
        has_arrived: Whether the effector of the written pose is at its target.
        is_blended: Whether influence applies only a share of the solution.
        is_moved: Whether the written pose differs from the solved one.
    """
    unmet = np.where(is_moved & (codes == REACHED), ITERATIONS_USED_UP, codes)
    return np.where(has_arrived, REACHED, np.where(is_blended, BLENDED, unmet))
