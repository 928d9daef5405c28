"""Live trees alike, of any number of armature objects, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from ..core.model.status import STATUSES
from .bases import Bases
from .batch_rigs import BatchRigs, Part, bases_of
from .changes import Change
from .followed import Followed
from .limb import Limb
from .moment import Moment
from .outcome import Outcome
from .rig_state import RigState
from .rigid_tree import RigidTree
from .rigid_tree_solve import RigidTreeSolve, TreeSolve
from .tree_outcome import NO_WEIGHT, TreeEnd
from .world import WorldMatrices

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
TreeMembers = list[tuple[RigState, list[RigidTree]]]
"""Trees by armature object."""


class TreeBatch:
    """B live trees alike of E chains and k bones in one dependency graph.

    Attributes:
        trees: The trees.
        limbs: Their chains, those of one tree after those of the one before.
        uids: Session uids of the chains' armature objects.
        errors: What is wrong with a chain, by row.
    """

    def __init__(self, members: TreeMembers) -> None:
        """Compile trees that have the same ``likeness``."""
        self.trees = [tree for _, trees in members for tree in trees]
        self.limbs = [limb for tree in self.trees for limb in tree.plan.limbs]
        self.uids = [
            state.uid for state, trees in members for tree in trees for _ in tree.plan.limbs
        ]
        self.errors: dict[int, str] = {}
        self._solve, plans = RigidTreeSolve(self.trees), [tree.plan for tree in self.trees]
        self._members, self._base_rows = members, _base_rows(members)
        parts = [
            Part(state, rows, [tree.plan.bones for tree in trees])
            for (state, trees), rows in zip(members, self._base_rows, strict=True)
        ]
        self._rigs = BatchRigs(parts, plans[0].modes, lambda: bases_of(parts), Bases.differ)
        self._weights = np.array([plan.weights for plan in plans])
        self._drives = np.zeros((len(plans[0].rows), len(plans[0].bones)), dtype=np.bool_)
        for chain, rows in enumerate(plans[0].rows):
            self._drives[chain, rows] = True
        specs = [limb.job.spec for limb in self.limbs]
        self._targets = Followed([spec.target for spec in specs if spec.target], "target")
        self._poled = np.array([i for i, spec in enumerate(specs) if spec.pole], dtype=np.int64)
        poles = [spec.pole for spec in specs if spec.pole]
        self._poles = Followed(poles, "pole") if poles else None
        count, bones = len(self.trees), len(plans[0].bones)
        self._is_followed = np.zeros(self._weights.shape, dtype=np.bool_)
        self._wanted = np.full((count, bones, 4), np.nan, dtype=np.float32)
        self._residuals, self._tip_gaps = np.zeros((2, *self._weights.shape))
        self._codes = np.zeros(self._weights.shape, dtype=np.int8)
        self._iterations = np.zeros(count, dtype=np.int64)
        self._holds = np.zeros((count, plans[0].count, 3), dtype=np.bool_)

    def is_of(self, members: TreeMembers) -> bool:
        """Tell whether this batch is compiled of just these trees, in these rows of their rigs."""
        trees = [tree for _, trees in members for tree in trees]
        return (
            len(trees) == len(self.trees)
            and all(one is other for one, other in zip(trees, self.trees, strict=True))
            and _base_rows(members) == self._base_rows
        )

    def changes(
        self, world: WorldMatrices, _moment: Moment, is_foreign: Callable[[RigState], bool]
    ) -> list[Change]:
        """Solve the trees whose input has changed; return what is not as it should be.

        Args:
            world: Where targets and poles are.
            is_foreign: As for ``BatchRigs.changes``.
        """
        has_moved = self._read_followed(world)
        is_followed = np.ones(self._weights.shape, dtype=np.bool_)
        is_followed.flat[list(self.errors)] = False
        has_moved &= is_followed
        has_changed = (has_moved | (is_followed != self._is_followed)).any(axis=1)
        self._is_followed = is_followed
        has_new_poses = self._rigs.read(has_changed)
        has_pull = (self._weights * is_followed).any(axis=1)
        for row in np.flatnonzero(np.repeat(~has_pull, is_followed.shape[1])).tolist():
            self.errors.setdefault(row, NO_WEIGHT)
        rows = np.flatnonzero(has_changed & has_pull)
        if rows.size:
            self._solve_rows(rows)
        elif not has_new_poses and not has_changed.any():
            return []
        wanted = self._wanted
        if self.errors:
            # What only chains drive that cannot be solved stays as it stands.
            drives = (is_followed & has_pull[:, None]).astype(np.int64) @ self._drives
            wanted = np.where(drives[:, :, None] > 0, wanted, self._rigs.present)
        return self._rigs.changes(wanted, has_changed, is_foreign)

    def _read_followed(self, world: WorldMatrices) -> Flags:
        """Read targets and poles; note what is wrong, and tell which have moved, shape (B, E)."""
        self.errors = {}
        has_moved = self._targets.read(world, self.errors)
        if self._poles is not None:
            of_poles: dict[int, str] = {}
            has_moved[self._poled] |= self._poles.read(world, of_poles)
            for i, text in of_poles.items():
                self.errors.setdefault(int(self._poled[i]), text)
        return has_moved.reshape(self._weights.shape)

    def _solve_rows(self, rows: Rows) -> None:
        """Solve trees, those together of which the same chains can be followed."""
        followed = self._is_followed[rows]
        if followed.all():
            self._solve_alike(rows, followed[0])
            return
        for pattern in np.unique(followed, axis=0):
            self._solve_alike(rows[(followed == pattern).all(axis=1)], pattern)

    def _solve_alike(self, rows: Rows, is_followed: Flags) -> None:
        (count, chains), is_all = self._weights.shape, len(rows) == len(self.trees)
        pick = slice(None) if is_all else rows
        poles = np.zeros((count, 0, 3))
        if self._poles is not None:
            poles = self._poles.matrices[:, :3, 3].reshape(count, -1, 3)
        bases = self._rigs.places
        solved = self._solve.solved(
            TreeSolve(
                pick,
                bases if is_all else bases.rows(rows.tolist()),
                self._targets.matrices.reshape(count, chains, 4, 4)[pick],
                poles[pick],
                self._weights[pick] * is_followed,
                is_followed,
            )
        )
        self._wanted[pick] = solved.channels
        self._residuals[pick], self._tip_gaps[pick] = solved.residuals, solved.tip_gaps
        self._codes[pick], self._holds[pick] = solved.status_codes, solved.holds
        self._iterations[pick] = solved.iterations

    def outcome(self, row: int) -> Outcome | str:
        """Return what the last solve of a chain did, or what is wrong with it."""
        if row in self.errors:
            return self.errors[row]
        tree, chain = divmod(row, self._weights.shape[1])
        end = TreeEnd(
            channels=self._wanted[tree].astype(np.float64),
            is_kept=np.zeros(self._wanted.shape[1], dtype=np.bool_),
            statuses=[STATUSES[int(code)] for code in self._codes[tree]],
            residuals=self._residuals[tree],
            iterations=int(self._iterations[tree]),
            holds=self._holds[tree],
            tip_gaps=self._tip_gaps[tree],
            weights=self._weights[tree] * self._is_followed[tree],
        )
        return end.outcome(self.trees[tree].plan, chain)


def _base_rows(members: TreeMembers) -> list[list[int]]:
    """Return the rows of the limbs in whose bases trees are solved: those of their root bones."""
    return [[_row_of_root(state.limbs, tree) for tree in trees] for state, trees in members]


def _row_of_root(limbs: Sequence[Limb], tree: RigidTree) -> int:
    root = tree.plan.bones[0]
    owners = (limb for limb in tree.plan.limbs if limb.job.plan.segments[0] == root)
    owner = next(owners)
    return next(row for row, limb in enumerate(limbs) if limb is owner)
