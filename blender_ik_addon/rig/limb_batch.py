"""Live chains alike, of any number of armature objects, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core.model.status import STATUSES
from .batch_rigs import BatchRigs, Part
from .changes import Change
from .channels import matrices_of
from .followed import Followed
from .members import Members, are_compiled, limbs_of, uids_of
from .moment import Moment
from .outcome import Outcome
from .reasons import reasons_of, turns_tip_first
from .rig_state import RigState
from .rigid_solve import RigidSolve
from .solving import holding
from .world import WorldMatrices

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Channels = npt.NDArray[np.float32]

# A chain that starts from its own last pose reads it back as float32: differences of that size
# are no movement.
CURRENT_NOISE = 1e-6


class LimbBatch:
    """B live chains alike in one dependency graph.

    Attributes:
        limbs: The chains.
        uids: Session uids of their armature objects.
        errors: What is wrong with a chain, by row.
    """

    def __init__(self, members: Members) -> None:
        """Compile chains: armature objects, and the rows of their limbs."""
        self.limbs, self.uids = limbs_of(members), uids_of(members)
        self.errors: dict[int, str] = {}
        self._members = members
        self._solve = RigidSolve(self.limbs)
        specs = [limb.job.spec for limb in self.limbs]
        self._targets = Followed([spec.target for spec in specs if spec.target], "target")
        poles = [spec.pole for spec in specs if spec.pole]
        self._poles = Followed(poles, "pole") if poles else None
        parts = [
            Part(state, rows, [state.limbs[row].job.plan.written for row in rows])
            for state, rows in members
        ]
        self._rigs = BatchRigs(parts, self._solve.modes)
        count, written = len(self.limbs), len(self._solve.modes)
        self._wanted: Channels = np.full((count, written, 4), np.nan, dtype=np.float32)
        self._residuals = np.full(count, np.nan)
        self._iterations = np.zeros(count, dtype=np.int64)
        self._codes = np.zeros(count, dtype=np.int8)
        self._has_locks = np.zeros(count, dtype=np.bool_)
        self._starts: Channels = np.full_like(self._wanted, np.nan)
        self._holds: dict[int, npt.NDArray[np.bool_]] = {}
        self._tip_gaps = np.zeros(count)

    def is_of(self, members: Members) -> bool:
        """Tell whether this batch is compiled of just these chains, in these rows of their rigs."""
        return are_compiled(members, self._members, self.limbs)

    def changes(
        self, world: WorldMatrices, _moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[Change]:
        """Solve the chains whose input has changed; return what is not as it should be.

        Args:
            world: Where targets and poles are.
            is_foreign: Whether an armature object stands as another window's graph wrote it:
                answering that would go back and forth for ever.
        """
        self.errors = {}
        has_changed = self._targets.read(world, self.errors)
        if self._poles is not None:
            has_changed |= self._poles.read(world, self.errors)
        has_new_poses = self._rigs.read(has_changed)
        if self._solve.is_current:
            has_changed |= (self._rigs.present != self._starts).any(axis=(1, 2))
        if self.errors:
            has_changed[list(self.errors)] = False
        rows = np.flatnonzero(has_changed)
        if rows.size:
            self._solve_rows(rows)
        elif not has_new_poses:
            return []
        wanted = self._wanted
        if self.errors:
            # A chain that cannot be solved keeps its pose.
            wanted = wanted.copy()
            wanted[list(self.errors)] = self._rigs.present[list(self.errors)]
        noise = CURRENT_NOISE if self._solve.is_current else 0.0
        return self._rigs.changes(wanted, has_changed, is_foreign, noise)

    def _solve_rows(self, rows: Rows) -> None:
        is_all = len(rows) == len(self.limbs)
        pick = slice(None) if is_all else rows
        poles = None if self._poles is None else self._poles.matrices[pick, :3, 3]
        present = self._rigs.present[pick]
        self._starts[pick] = present
        solved = self._solve.solved(
            rows, self._rigs.bases, self._targets.matrices[pick], poles, present.astype(np.float64)
        )
        self._wanted[pick] = solved.channels
        self._residuals[pick] = solved.residuals
        self._iterations[pick] = solved.iterations
        self._codes[pick], self._has_locks[pick] = solved.status_codes, solved.has_locks
        self._tip_gaps[pick] = solved.tip_gaps
        if solved.holds is not None:
            self._holds.update(zip(rows.tolist(), solved.holds, strict=True))

    def outcome(self, row: int) -> Outcome | str:
        """Return what the last solve of a chain did, or what is wrong with it."""
        if row in self.errors:
            return self.errors[row]
        limb, job = self.limbs[row], self.limbs[row].job
        channels, tip_gap = self._wanted[row].astype(np.float64), float(self._tip_gaps[row])
        return Outcome(
            channels=channels,
            status=STATUSES[int(self._codes[row])],
            residual=float(self._residuals[row]),
            iterations=int(self._iterations[row]),
            has_locks=bool(self._has_locks[row]),
            held_by=holding(job.skeleton, job.plan, self._holds.get(row)),
            tip_gap=tip_gap,
            why=reasons_of(
                job.spec.options,
                limb.joints,
                matrices_of(channels, limb.modes),
                len(job.plan.segments),
                tip_gap,
                is_tip_beyond=not job.plan.ends_at_tail,
                turns_tip_first=turns_tip_first(job.spec),
            ),
        )
