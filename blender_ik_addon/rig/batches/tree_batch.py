"""Live trees alike, of any number of armature objects, compared and solved as arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from ...core.model.status import STATUSES
from ..frames.chain_poses import take_rows
from ..frames.places import find_places
from ..frames.tree_places import TreePlaces, in_armatures, in_bases
from ..planning.live_chain import LiveChain
from ..planning.tree_plan import TreePlan
from ..posing.outcome import Outcome
from ..posing.tree_outcome import NO_WEIGHT, TreeEnd
from ..posing.tree_solve import SolvedTrees, TreesAsked, TreeSolve
from ..reading.moment import Moment
from ..reading.world import WorldMatrices
from .batch_rigs import BatchRigs, Part, bases_of, pose_of
from .chain_batch import CURRENT_NOISE
from .changes import Change
from .followed import Followed
from .isolating import solve_again
from .rig_state import RigState

Array = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
TreeMembers = list[tuple[RigState, list[TreePlan]]]
"""Trees by armature object."""


class TreeBatch:
    """B live trees alike of E chains and k bones in one dependency graph.

    Attributes:
        trees: The trees.
        live_chains: Their chains, those of one tree after those of the one before.
        uids: Session uids of the chains' armature objects.
        errors: What is wrong with a chain, by row.
    """

    def __init__(self, members: TreeMembers, *, is_even: bool) -> None:
        """Compile trees that have the same ``batch_key``.

        Args:
            members: The trees.
            is_even: Whether all of them hang in spaces that keep their shape.
        """
        self.trees = [plan for _, plans in members for plan in plans]
        self.live_chains = [live_chain for plan in self.trees for live_chain in plan.live_chains]
        self.errors: dict[int, str] = {}
        self._failed: dict[int, str] = {}
        self._states = [state for state, plans in members for _ in plans]
        self.uids = [
            state.uid
            for state, plan in zip(self._states, self.trees, strict=True)
            for _ in plan.live_chains
        ]
        poses = [pose_of(state) for state in self._states]
        self._solve = TreeSolve(self.trees, poses, is_even=is_even)
        self._is_even, self._base_rows = is_even, _base_rows(members)
        self._parts = [
            Part(state, rows, [plan.bones for plan in plans])
            for (state, plans), rows in zip(members, self._base_rows, strict=True)
        ]
        first = self.trees[0]
        self._rigs = BatchRigs(self._parts, first.modes, self._find_places, TreePlaces.differ)
        self._weights = np.array([plan.weights for plan in self.trees])
        self._drives = np.zeros((len(first.live_chains), len(first.bones)), dtype=np.bool_)
        for chain, own in enumerate(first.hanging.rows):
            self._drives[chain, own] = True
        specs = [live_chain.job.spec for live_chain in self.live_chains]
        self._targets = Followed([spec.target for spec in specs if spec.target], "target")
        self._poled = np.array([i for i, spec in enumerate(specs) if spec.pole], dtype=np.int64)
        poles = [spec.pole for spec in specs if spec.pole]
        self._poles = Followed(poles, "pole") if poles else None
        count, bones = len(self.trees), len(first.bones)
        self._is_followed = np.zeros(self._weights.shape, dtype=np.bool_)
        self._starts: npt.NDArray[np.float32] | None = None
        self._wanted = np.full((count, bones, 4), np.nan, dtype=np.float32)
        self._solved: SolvedTrees | None = None

    def _find_places(self) -> TreePlaces:
        chains = self._weights.shape[1]
        if self._is_even:
            return in_bases(bases_of(self._parts), chains)
        states = [state for state in self._states for _ in range(chains)]
        places = find_places(
            self.live_chains,
            [pose_of(state) for state in states],
            [state.unmirrored for state in states],
        )
        return in_armatures(places, chains, self.trees[0].root_chain)

    def is_of(self, members: TreeMembers, *, is_even: bool) -> bool:
        """Tell whether this batch is compiled of just these trees, in these rows of their rigs."""
        trees = [plan for _, plans in members for plan in plans]
        return (
            is_even == self._is_even
            and len(trees) == len(self.trees)
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
        is_current = self.trees[0].is_current
        if is_current.any():
            present, known = self._rigs.present, self._starts
            differs = True if known is None else (present != known)[:, is_current].any(axis=(1, 2))
            has_changed |= differs
        # What could not be solved is tried again.
        has_changed[list(self._failed)] = True
        has_pull = (self._weights * is_followed).any(axis=1)
        self._tell(~has_pull, NO_WEIGHT)
        rows = np.flatnonzero(has_changed & has_pull)
        if rows.size:
            self._solve_rows(rows)
        elif not has_new_poses and not has_changed.any():
            return []
        wanted = self._wanted
        if self.errors:
            # What only chains drive that cannot be solved stays as it stands.
            is_sound = has_pull.copy()
            is_sound[list(self._failed)] = False
            drives = (is_followed & is_sound[:, None]).astype(np.int64) @ self._drives
            wanted = np.where(drives[:, :, None] > 0, wanted, self._rigs.present)
        noise = np.where(is_current, CURRENT_NOISE, 0.0)
        is_near = np.abs(wanted - self._rigs.present) <= noise[:, None]
        wanted = np.where(is_near, self._rigs.present, wanted)
        return self._rigs.changes(wanted, has_changed, is_foreign)

    def _tell(self, rows: Flags, text: str) -> None:
        """Note what is wrong with all chains of trees that have no other error."""
        for row in np.flatnonzero(np.repeat(rows, self._weights.shape[1])).tolist():
            self.errors.setdefault(row, text)

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
        for pattern in followed[:1] if followed.all() else np.unique(followed, axis=0):
            alike = rows[(followed == pattern).all(axis=1)]
            solve = partial(self._solve_together, pattern)
            self._failed = solve_again(alike, solve, self._failed)
        for row, text in self._failed.items():
            self._tell(np.arange(len(self.trees)) == row, text)

    def _solve_together(self, is_followed: Flags, rows: Rows) -> None:
        (count, chains), present = self._weights.shape, self._rigs.present
        poles = np.zeros((count, 0, 3))
        if self._poles is not None:
            poles = self._poles.matrices[:, :3, 3].reshape(count, -1, 3)
        if self._starts is None:
            self._starts = np.full_like(present, np.nan)
        self._starts[rows] = present[rows]
        solved = self._solve.solved(
            TreesAsked(
                rows,
                self._rigs.places.take(rows),
                self._targets.matrices.reshape(count, chains, 4, 4)[rows],
                poles[rows],
                self._weights[rows] * is_followed,
                is_followed,
                present[rows].astype(np.float64),
            )
        )
        self._wanted[rows] = solved.channels
        every = np.zeros(count, dtype=np.int64)
        self._solved = (self._solved or take_rows(solved, every)).put(rows, solved)

    def outcome(self, row: int) -> Outcome | str:
        """Return what the last solve of a chain did, or what is wrong with it."""
        if row in self.errors:
            return self.errors[row]
        (tree, chain), solved = divmod(row, self._weights.shape[1]), self._solved
        assert solved is not None
        end = TreeEnd(
            channels=self._wanted[tree].astype(np.float64),
            is_kept=solved.is_kept[tree],
            statuses=[STATUSES[int(code)] for code in solved.status_codes[tree]],
            residuals=solved.residuals[tree],
            iterations=int(solved.iterations[tree]),
            holds=solved.holds[tree],
            tip_gaps=solved.tip_gaps[tree],
            weights=self._weights[tree] * self._is_followed[tree],
        )
        return end.outcome(self.trees[tree], chain)


def _base_rows(members: TreeMembers) -> list[list[int]]:
    """Return the rows of the chains in whose bases trees are solved: those of their root bones."""
    return [[_row_of_root(state.live_chains, plan) for plan in plans] for state, plans in members]


def _row_of_root(live_chains: Sequence[LiveChain], plan: TreePlan) -> int:
    owner = plan.live_chains[plan.root_chain]
    return next(row for row, live_chain in enumerate(live_chains) if live_chain is owner)
