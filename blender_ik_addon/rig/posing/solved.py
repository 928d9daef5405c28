"""What is asked of chains and trees that are solved side by side, and what was done to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core import Status
from ...core.algebra.arithmetic import Array, Flags, Indices
from ...core.algebra.nested import are_all
from ...core.model.status import BLENDED, STATUSES
from ..reading.rows import Alike
from .eased_poses import Step

Codes = npt.NDArray[np.int8]

REACHED, USED_UP = (
    np.int8(STATUSES.index(each)) for each in (Status.REACHED, Status.ITERATIONS_USED_UP)
)


class Asked(NamedTuple):
    """What is asked of some of B chains, or trees of E chains, b of them.

    Attributes:
        rows: Which ones, shape (b,).
        targets: World matrices of the targets, shape (b, E, 4, 4).
        poles: World positions of the poles of the chains that have any, shape (b, P, 3); None
            where none has.
        present: Rotation channels as they stand on the bones, shape (b, k, 4).
        is_followed: Which chains have all that they follow, shape (E,).
        location: Location channels, shape (b, k, 3); None where nothing slides.
        steps: How far chains that ease go; None where none does.
        is_known: Which of these go to the same pose as at their last step, shape (b,).
        goes_on: Whether all bones start from what stands there, whatever they start from else.
        whole: Local rotations wxyz of the last solutions of which bones show a share, shape
            (b, k, 4); NaN where these are forgotten, None where all are.
        floors: World matrices of the floors of bodies, shape (b, 4, 4); None without.
    """

    rows: Indices
    targets: Array
    poles: Array | None
    present: Array
    is_followed: Flags
    location: Array | None = None
    steps: Sequence[Step] | None = None
    is_known: Flags | None = None
    goes_on: bool = False
    whole: Array | None = None
    floors: Array | None = None

    def take(self, rows: Indices) -> Asked:
        """Return what is asked of some of these, whatever steps they make and were solved last."""
        if are_all(rows, len(self.rows)):
            return self._replace(steps=None, is_known=None, goes_on=False, whole=None)
        return Asked(
            self.rows[rows],
            self.targets[rows],
            None if self.poles is None else self.poles[rows],
            self.present[rows],
            self.is_followed,
            None if self.location is None else self.location[rows],
            floors=None if self.floors is None else self.floors[rows],
        )


@dataclass(frozen=True)
class Solved(Alike):
    """What a solve of b chains, or trees of E chains, with k written bones did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        is_kept: Which bones locked channels have kept from following, shape (b, k).
        residuals: From effectors to targets in scene units, shape (b, E).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b, E).
        tip_gaps: Radians that are left to wanted orientations, shape (b, E).
        forces: As there, shape (b, E + 1); None but for bodies.
        holds: As ``core.Solutions``, shape (b, n, 3); None for chains without joints.
        slide_holds: As there, shape (b, n); None where nothing slides.
        scale: Scale channels, shape (b, k, 3); None where nothing stretches.
        location: Location channels, shape (b, k, 3), of chains that are dragged of their roots,
            (b, 1, 3); None where nothing slides.
        whole: The solution of which channels are a share, local rotations wxyz, shape (b, k, 4);
            None of chains that are dragged.
    """

    channels: Array
    is_kept: Flags
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


def name_ending(codes: Codes, has_arrived: Flags, is_blended: Flags, is_moved: Flags) -> Codes:
    """Return status codes of what stands on the bones.

    Args:
        codes: Of the solve.
        has_arrived: Whose effectors are at their targets all the same.
        is_blended: Which take only a share of the way.
        is_moved: Which stand elsewhere than they were solved.
    """
    unmet = np.where(is_moved & (codes == REACHED), USED_UP, codes)
    return np.where(has_arrived, REACHED, np.where(is_blended, BLENDED, unmet))
