"""The poses that solves of trees return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .model.status import STATUSES, Status
from .vectors import Array, Counts, Flags


@dataclass(frozen=True)
class TreeSolution:
    """The pose that a solve of a tree returns.

    Attributes:
        head_positions: The bones' heads, shape (n, 3), armature space.
        effector_positions: Shape (E, 3).
        local_rotations_wxyz: The local rotation of each bone, within its range, shape (n, 4): as
            ``Joints`` tells, M_i = M_parent A_i R_i.
        residuals: Distances from the effectors to their targets, shape (E,).
        statuses: How the solve ended for each effector.
        iterations: Sweeps used, for all effectors together.
        holds: Which turns about X, Y and Z stand on limits that keep effectors from their targets,
            shape (n, 3).
        tip_gaps: Radians that are left to the wanted tip rotations, shape (E,).
    """

    head_positions: Array
    effector_positions: Array
    local_rotations_wxyz: Array
    residuals: Array
    statuses: tuple[Status, ...]
    iterations: int
    holds: Flags
    tip_gaps: Array

    @property
    def is_converged(self) -> bool:
        """Whether all residuals are within the tolerance."""
        return all(status is Status.REACHED for status in self.statuses)

    @property
    def losers(self) -> tuple[int, ...]:
        """The effectors that are not at their targets, the one farthest off first."""
        lost = [e for e, status in enumerate(self.statuses) if status is not Status.REACHED]
        return tuple(sorted(lost, key=lambda e: -float(self.residuals[e])))


@dataclass(frozen=True)
class TreeSolutions(Sequence[TreeSolution]):
    """The poses that a solve of B trees returns; as ``TreeSolution``, one a row.

    Attributes:
        head_positions: Shape (B, n, 3).
        effector_positions: Shape (B, E, 3).
        local_rotations_wxyz: Shape (B, n, 4).
        residuals: Shape (B, E).
        status_codes: Indices into ``STATUSES``, shape (B, E).
        iterations: Shape (B,).
        holds: Shape (B, n, 3).
        tip_gaps: Shape (B, E).
    """

    head_positions: Array
    effector_positions: Array
    local_rotations_wxyz: Array
    residuals: Array
    status_codes: npt.NDArray[np.int8]
    iterations: Counts
    holds: Flags
    tip_gaps: Array

    def __len__(self) -> int:
        """Return the number of trees."""
        return len(self.head_positions)

    def __getitem__(self, index: int) -> TreeSolution:  # type: ignore[override]
        """Return the solution of one tree."""
        return TreeSolution(
            head_positions=self.head_positions[index],
            effector_positions=self.effector_positions[index],
            local_rotations_wxyz=self.local_rotations_wxyz[index],
            residuals=self.residuals[index],
            statuses=tuple(STATUSES[int(code)] for code in self.status_codes[index]),
            iterations=int(self.iterations[index]),
            holds=self.holds[index],
            tip_gaps=self.tip_gaps[index],
        )
