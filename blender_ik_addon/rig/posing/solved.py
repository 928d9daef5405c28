"""What is asked of chains that are solved side by side, and what was done to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core import Status
from ...core.model.status import BLENDED, STATUSES
from ..planning.live_chain import LiveChain
from ..reading.channels import matrices_of
from .eased_poses import Step, easing_of
from .outcome import Outcome
from .reasons import holding, reasons_of, turns_tip_first

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int8]
Flags = npt.NDArray[np.bool_]

REACHED, USED_UP = (
    np.int8(STATUSES.index(each)) for each in (Status.REACHED, Status.ITERATIONS_USED_UP)
)


class Asked(NamedTuple):
    """What is asked of some of B chains, b of them.

    Attributes:
        rows: Which chains, shape (b,).
        targets: World matrices of their targets, shape (b, 4, 4).
        poles: World positions of their poles, shape (b, 3); None if they have none.
        present: Rotation channels as they stand on the bones, shape (b, k, 4).
        location: Location channels, shape (b, k, 3); None where nothing slides.
        steps: How far chains that ease go; None where none does.
        is_known: Which of these go to the same pose as at their last step, shape (b,).
    """

    rows: Indices
    targets: Array
    poles: Array | None
    present: Array
    location: Array | None = None
    steps: Sequence[Step] | None = None
    is_known: Flags | None = None


@dataclass(frozen=True)
class Solved:
    """What a solve of b chains with k written bones did.

    Attributes:
        channels: Rotation channels, shape (b, k, 4).
        residuals: From effectors to targets in scene units, shape (b,).
        iterations: Sweeps used, shape (b,).
        status_codes: Indices into ``core.STATUSES``, shape (b,).
        has_locks: Which chains locked channels have kept from following, shape (b,).
        tip_gaps: Radians that are left to wanted orientations, shape (b,).
        holds: As ``core.Solutions``, shape (b, m, 3); None for chains without joints.
        slide_holds: As there, shape (b, m); None where nothing slides.
        scale: Scale channels, shape (b, k, 3); None where nothing stretches.
        location: Location channels, shape (b, k, 3), of chains that are dragged of their roots,
            (b, 1, 3); None where nothing slides.
    """

    channels: Array
    residuals: Array
    iterations: npt.NDArray[np.int64]
    status_codes: Codes
    has_locks: Flags
    tip_gaps: Array
    holds: Flags | None = None
    slide_holds: Flags | None = None
    scale: Array | None = None
    location: Array | None = None

    def put(self, rows: Indices, part: Solved) -> Solved:
        """Return this with what another solve did to some of the chains."""
        values = {}
        for field in fields(self):
            own, other = getattr(self, field.name), getattr(part, field.name)
            if own is not None:
                own[rows] = other
            values[field.name] = own
        return Solved(**values)

    def outcome(self, live_chain: LiveChain, row: int) -> Outcome:
        """Return what the solve did to the chain in a row."""
        job, slide, tip_gap = live_chain.job, live_chain.slide, float(self.tip_gaps[row])
        holds = None if self.holds is None else self.holds[row]
        slide_holds = None if self.slide_holds is None else self.slide_holds[row]
        others = {"scale": self.scale, "location": self.location}
        return Outcome(
            channels=self.channels[row],
            status=STATUSES[int(self.status_codes[row])],
            residual=float(self.residuals[row]),
            iterations=int(self.iterations[row]),
            has_locks=bool(self.has_locks[row]),
            held_by=holding(job.skeleton, job.plan, holds, slide_holds),
            tip_gap=tip_gap,
            why=reasons_of(
                job.spec.options,
                live_chain.joints,
                lambda: matrices_of(self.channels[row], live_chain.modes),
                len(job.plan.segments),
                tip_gap,
                is_tip_beyond=not job.plan.ends_at_tail,
                turns_tip_first=turns_tip_first(job.plan, job.spec),
            ),
            others={name: values[row] for name, values in others.items() if values is not None},
            lacks_stretch=live_chain.stretch is not None and not live_chain.stretch.may_grow,
            connected=() if slide is None else slide.connected,
            location_locked=() if slide is None else slide.locked,
            is_eased=easing_of(job.spec) is not None,
        )


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
