"""Live chains alike, of any number of armature objects, compared and solved as arrays."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..core import STATUSES, IKError
from .bases import Bases, stacked
from .changes import Change
from .outcome import Outcome
from .rig_state import RigState
from .rigid_solve import RigidSolve
from .solving import holding
from .spec import Anchor
from .world import Order, WorldMatrices

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Channels = npt.NDArray[np.float32]


class _Followed:
    """The targets or the poles of B chains, found again in bulk.

    Attributes:
        matrices: World matrices as read last, shape (B, 4, 4); NaN for what cannot be followed.
    """

    def __init__(self, anchors: list[Anchor], word: str) -> None:
        self._anchors, self._word = anchors, word
        self._on_bones = [i for i, anchor in enumerate(anchors) if anchor.bone]
        self._order: Order | None = None
        self._rows: Rows = np.empty(0, dtype=np.int64)
        self.matrices: Array = np.full((len(anchors), 4, 4), np.nan)

    def read(self, world: WorldMatrices, errors: dict[int, str]) -> Flags:
        """Read the matrices; return which have changed, and note what cannot be followed."""
        if world.order is not self._order:
            self._order, row_of = world.order, world.order.row_of
            rows = [row_of.get(anchor.object.session_uid, -1) for anchor in self._anchors]
            self._rows = np.array(rows)
        matrices = world.matrices(self._rows)
        for i in self._on_bones:
            try:
                matrices[i] = matrices[i] @ world.bone_matrix(self._anchors[i])
            except IKError:
                matrices[i] = np.nan
        # One call instead of a look at every number: a sum is finite if all are.
        if not math.isfinite(matrices.sum()):
            self._read_one_by_one(matrices, world, errors)
        count = len(matrices)
        changed: Flags = matrices.reshape(count, 16) != self.matrices.reshape(count, 16)
        self.matrices = matrices
        return changed.any(axis=1)

    def _read_one_by_one(
        self, matrices: Array, world: WorldMatrices, errors: dict[int, str]
    ) -> None:
        """Look at what is not visible, or not finite, and say what is wrong with it."""
        is_finite = np.isfinite(matrices).all(axis=(1, 2))
        for i in np.flatnonzero(~is_finite).tolist():
            try:
                matrices[i] = world.matrix(self._anchors[i], self._word)
            except IKError as error:
                matrices[i] = np.nan
                errors[i] = str(error)


class LimbBatch:
    """B live chains alike in one dependency graph.

    Attributes:
        limbs: The chains.
        uids: Session uids of their armature objects.
        errors: What is wrong with a chain, by row.
    """

    def __init__(self, members: list[tuple[RigState, list[int]]]) -> None:
        """Compile chains: armature objects, and the rows of their limbs."""
        self.limbs = [state.limbs[row] for state, rows in members for row in rows]
        self.uids = [state.uid for state, rows in members for _ in rows]
        self.errors: dict[int, str] = {}
        self._members = members
        self._solve = RigidSolve(self.limbs)
        specs = [limb.job.spec for limb in self.limbs]
        self._targets = _Followed([spec.target for spec in specs if spec.target], "target")
        poles = [spec.pole for spec in specs if spec.pole]
        self._poles = _Followed(poles, "pole") if poles else None
        self._bones = [
            np.concatenate([state.limbs[row].job.plan.written for row in rows])
            for state, rows in members
        ]
        self._modes = [np.tile(self._solve.bones.modes, len(rows)) for _, rows in members]
        ends = np.cumsum([len(rows) for _, rows in members])
        self._first = ends - [len(rows) for _, rows in members]
        self._slices = [
            slice(*edges) for edges in zip(self._first.tolist(), ends.tolist(), strict=True)
        ]
        bones = len(self._solve.bones.modes)
        self._bone_rows = [slice(own.start * bones, own.stop * bones) for own in self._slices]
        self._versions: list[int] = []
        self._bases: Bases | None = None
        count, written = self._solve.bones.local.shape[:2]
        self._present: Channels = np.empty((count, written, 4), dtype=np.float32)
        self._wanted: Channels = np.full((count, written, 4), np.nan, dtype=np.float32)
        self._residuals = np.full(count, np.nan)
        self._iterations = np.zeros(count, dtype=np.int64)
        self._codes = np.zeros(count, dtype=np.int8)
        self._holds: dict[int, npt.NDArray[np.bool_]] = {}
        self._tip_gaps = np.zeros(count)

    def is_of(self, members: list[tuple[RigState, list[int]]]) -> bool:
        """Tell whether this batch is compiled of just these chains, in these rows of their rigs."""
        if [rows for _, rows in members] != [rows for _, rows in self._members]:
            # Another chain of a rig has come or gone: the same chains stand in other rows.
            return False
        limbs = [state.limbs[row] for state, rows in members for row in rows]
        return len(limbs) == len(self.limbs) and all(
            one is other for one, other in zip(limbs, self.limbs, strict=True)
        )

    def changes(self, world: WorldMatrices, is_foreign: Callable[[RigState], bool]) -> list[Change]:
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
        has_new_poses = self._read_rigs(has_changed)
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
            wanted[list(self.errors)] = self._present[list(self.errors)]
        return self._changes(wanted, has_changed, is_foreign)

    def _read_rigs(self, has_changed: Flags) -> bool:
        """Take over bases and poses that have been read anew; mark chains whose bases have changed.

        Returns:
            Whether any pose has been read anew.
        """
        versions = [state.version for state, _ in self._members]
        if versions == self._versions:
            return False
        self._versions = versions
        bases = stacked([_bases_of(state).rows(rows) for state, rows in self._members])
        former, self._bases = self._bases, bases
        rotations = [
            _channels_of(state)[bones]
            for (state, _), bones in zip(self._members, self._bones, strict=True)
        ]
        self._present = np.concatenate(rotations).reshape(self._wanted.shape)
        if former is None:
            has_changed[:] = True
        else:
            has_changed |= (former.from_world != bases.from_world).any(axis=(1, 2))
            has_changed |= former.tolerance != bases.tolerance
            has_changed |= former.soft_distance != bases.soft_distance
        return True

    def _solve_rows(self, rows: Rows) -> None:
        assert self._bases is not None
        is_all = len(rows) == len(self.limbs)
        pick = slice(None) if is_all else rows
        poles = None if self._poles is None else self._poles.matrices[pick, :3, 3]
        solved = self._solve.solved(rows, self._bases, self._targets.matrices[pick], poles)
        self._wanted[pick] = solved.channels
        self._residuals[pick] = solved.residuals
        self._iterations[pick] = solved.iterations
        self._codes[pick] = solved.status_codes
        if solved.holds is not None and solved.tip_gaps is not None:
            self._tip_gaps[pick] = solved.tip_gaps
            self._holds.update(zip(rows.tolist(), solved.holds, strict=True))

    def _changes(
        self,
        wanted: Channels,
        has_changed: Flags,
        is_foreign: Callable[[RigState], bool],
    ) -> list[Change]:
        """Return what differs from what stands there, one change an armature object."""
        count = len(wanted)
        differs: Flags = (wanted != self._present).reshape(count, -1).any(axis=1)
        differs = np.logical_or.reduceat(differs, self._first)
        has_changed = np.logical_or.reduceat(has_changed, self._first)
        rows = wanted.reshape(-1, 4)
        found, written = [], []
        for i in np.flatnonzero(differs).tolist():
            state = self._members[i][0]
            if has_changed[i] or not is_foreign(state):
                # Chains of the same object that stand right are written with the others.
                found.append(
                    Change(state, self._bones[i], self._modes[i], rows[self._bone_rows[i]])
                )
                written.append(self._slices[i])
        if len(written) == len(self._members):
            self._present[:] = wanted
        else:
            for own in written:
                self._present[own] = wanted[own]
        return found

    def outcome(self, row: int) -> Outcome | str:
        """Return what the last solve of a chain did, or what is wrong with it."""
        if row in self.errors:
            return self.errors[row]
        job = self.limbs[row].job
        return Outcome(
            channels=self._wanted[row].astype(np.float64),
            status=STATUSES[int(self._codes[row])],
            residual=float(self._residuals[row]),
            iterations=int(self._iterations[row]),
            has_locks=False,
            held_by=holding(job.skeleton, job.plan, self._holds.get(row)),
            tip_gap=float(self._tip_gaps[row]),
        )


def _bases_of(state: RigState) -> Bases:
    assert state.bases is not None
    return state.bases


def _channels_of(state: RigState) -> Channels:
    assert state.pose is not None
    return state.pose.channels
