"""What one solve did to each chain of a tree: its channels, its gap, and what keeps it away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...core import Status
from ..planning.tree_plan import TreePlan
from ..reading.channels import matrices_of
from .outcome import Outcome
from .reasons import reasons_of

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

NO_WEIGHT = "No chain of this tree has a weight above zero: raise one."
# Chains that pull less than this share of the hardest pull are not named, and one that weighs less
# than this share of another gives way to it.
HARDLY = 0.01


@dataclass(frozen=True)
class TreeEnd:
    """How a solve of one tree of k bones and E chains ended.

    Attributes:
        channels: Rotation channels, shape (k, 4).
        is_kept: Which bones locked channels keep from following, shape (k,).
        statuses: Of the chains.
        residuals: In scene units, shape (E,).
        iterations: Used for all of them together.
        holds: As ``core.Solution``.
        tip_gaps: Radians that are left to the wanted orientations of tips, shape (E,).
        weights: Of the effectors, shape (E,).
    """

    channels: Array
    is_kept: Flags
    statuses: Sequence[Status]
    residuals: Array
    iterations: int
    holds: Flags
    tip_gaps: Array
    weights: Array

    def outcome(self, plan: TreePlan, chain: int) -> Outcome:
        """Return what the solve did to a chain."""
        rows, status = list(plan.hanging.rows[chain]), self.statuses[chain]
        indices = [live_chain.job.index for live_chain in plan.live_chains]
        joints = None if plan.joints is None else plan.joints.take(np.array(rows))
        tip_gap = float(self.tip_gaps[chain])
        return Outcome(
            self.channels[rows],
            status,
            float(self.residuals[chain]),
            self.iterations,
            bool(self.is_kept[rows].any()),
            held_by=_holding(plan, chain, self.holds) if status is Status.LIMITED else (),
            tip_gap=tip_gap,
            why=reasons_of(
                plan.options,
                joints,
                lambda: matrices_of(self.channels[rows], plan.modes[rows]),
                sum(row < plan.hanging.count for row in rows),
                tip_gap,
                is_tip_beyond=plan.hanging.turns_afterwards(chain),
            ),
            tree=tuple(index for index in indices if index != indices[chain]),
            outweighed_by=self._outweighing(plan, chain),
        )

    def _outweighing(self, plan: TreePlan, chain: int) -> tuple[str, ...]:
        """Return the names of the chains that pull at bones of a chain, the hardest first.

        One that has arrived pulls only if it is so much heavier that the rest is within tolerance.
        """
        own, pulls = set(plan.hanging.rows[chain]), self.weights * self.residuals
        others = [
            other
            for other in np.argsort(-pulls, kind="stable").tolist()
            if other != chain
            and self.weights[other] > 0.0
            and not own.isdisjoint(plan.hanging.rows[other])
            and (
                self.statuses[other] is not Status.REACHED
                or self.weights[chain] < HARDLY * self.weights[other]
            )
        ]
        hardest = max((pulls[other] for other in others), default=0.0)
        return tuple(
            plan.live_chains[other].job.spec.name
            for other in others
            if pulls[other] >= HARDLY * hardest
        )


def _holding(plan: TreePlan, chain: int, holds: Flags) -> tuple[str, ...]:
    """Return the bones and axes of a chain whose limits hold it back, in words, root first."""
    rows = [row for row in plan.hanging.rows[chain] if row < plan.hanging.count]
    return tuple(
        f"{plan.skeleton.names[plan.bones[rows[bone]]]} {'XYZ'[axis]}"
        for bone, axis in np.argwhere(holds[rows]).tolist()
    )
