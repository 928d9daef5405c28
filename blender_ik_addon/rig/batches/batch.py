"""The base class of batches: similar chains or trees of any number of armature objects."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Array, Indices
from ...core.model.message import Message
from ...core.model.status import STATUSES
from ..frames.places import Places, in_armatures
from ..posing.outcome import Outcome, outcome_of
from ..posing.solved import Solved
from ..reading.refusals import Refused
from ..trees.driven import Driven
from .batch_rigs import BatchRigs, Members
from .followed_anchors import Anchors

# Least growth of a bone's scale that counts as stretch: Blender's float32 rounds by less.
MIN_GROWTH = 1e-6
POSED_ELSEWHERE = Message(
    "Not solved here: another scene or window has posed these bones at a different frame. Move"
    " this chain's target, or change the frame."
)


class SolveSummary(NamedTuple):
    """The short result of a chain's last solve, cheap enough to read at every redraw.

    Attributes:
        status: Status of the chain.
        residual: Distance from effector to target in scene units.
        is_stretched: Whether bones have grown.
        has_locks: Whether locked rotation channels kept bones from following.
        only_turns: Whether the chain is one bone, which no solve brings closer to its target.
    """

    status: Status
    residual: float
    is_stretched: bool
    has_locks: bool
    only_turns: bool


class Batch:
    """B similar live chains, or trees of E chains, in one dependency graph.

    Attributes:
        driven: The chains or trees.
        live_chains: All their chains, tree by tree.
        states: The armature object of each chain or tree.
        uids: Session uids of the chains' armature objects.
        errors: Error message of a chain, by row.
        is_even: Whether the chains or trees are rigid and their bases keep their shape.
        depends_on_time: Whether the chains start from their last pose.
    """

    _rigs: BatchRigs[Any]

    def __init__(self, members: Members, *, is_even: bool) -> None:
        """Collect chains or trees that have the same key."""
        self.is_even = is_even
        self.driven = [tree for _, trees in members for _, tree in trees]
        self.live_chains = [chain for tree in self.driven for chain in tree.live_chains]
        self.uids = [state.uid for state, trees in members for _, tree in trees for _ in tree.specs]
        self.errors: dict[int, Message] = {}
        self._failed: dict[int, Message] = {}
        self.states = [state for state, trees in members for _ in trees]
        self._members = members
        specs = [spec for tree in self.driven for spec in tree.specs]
        self.depends_on_time = specs[0].depends_on_time
        self._targets = Anchors([spec.target for spec in specs if spec.target], "target")
        self._solved: Solved | None = None
        self._summaries: list[SolveSummary] | None = None

    def is_compiled_from(self, members: Members, *, is_even: bool) -> bool:
        """Return whether this batch was compiled from these chains, in these rows of their rigs."""
        # When another chain of a rig is added or removed, the same chains have other rows.
        rows = [[row for row, _ in trees] for _, trees in members]
        driven = [tree for _, trees in members for _, tree in trees]
        return (
            is_even == self.is_even
            and rows == [[row for row, _ in trees] for _, trees in self._members]
            and driven == self.driven
        )

    def request_solve(self, uids: Collection[int]) -> None:
        """Make the next update solve the chains of armature objects, as if targets had moved."""
        self._targets.matrices[[uid in uids for uid in self.uids]] = np.nan

    def _find_places(self) -> Places:
        poses = [state.pose for state in self.states]
        return in_armatures(self.driven, poses, [state.unmirrored for state in self.states])

    def _store(self, rows: Indices, solved: Solved) -> None:
        """Store the solution of some of the chains or trees."""
        self._summaries = None
        if len(rows) == len(self.driven):
            self._solved = solved
        else:
            first_rows = np.zeros(len(self.driven), dtype=np.int64)
            self._solved = (self._solved or solved.take(first_rows)).put(rows, solved)

    def _weights(self, _row: int) -> Array | None:
        """Return the weights of a tree's effectors, shape (E,); None for a chain alone."""
        return None

    def _with_restored(self, outcome: Outcome, _row: int) -> Outcome:
        """Return an outcome with the bones that the user has posed since the last solve."""
        return outcome

    def outcome(self, row: int) -> Outcome | Refused | None:
        """Return the outcome of a chain's last solve, or its error; None without a solve."""
        if row in self.errors:
            return Refused(self.errors[row])
        if self.uids[row] in self._rigs.left:
            return Refused(POSED_ELSEWHERE)
        if self._solved is None:
            return None
        tree, chain = self._place(row)
        driven, weights = self.driven[tree], self._weights(tree)
        return self._with_restored(outcome_of(self._solved, driven, tree, chain, weights), row)

    def summary(self, row: int) -> SolveSummary | None:
        """Return the short result of a chain's last solve; None without one, or if it failed."""
        if self._solved is None or row in self.errors or self.uids[row] in self._rigs.left:
            return None
        if self._summaries is None:
            # Compute all chains at once, once per solve: drawing reads every chain.
            solved = self._solved
            statuses = [STATUSES[code] for code in solved.status_codes.ravel().tolist()]
            residuals, rows = solved.residuals.ravel().tolist(), range(len(statuses))
            stretched = locked = [False] * len(statuses)
            if solved.scale is not None:
                stretched = [self._is_stretched(row, solved.scale) for row in rows]
            if solved.is_held_by_lock.any():
                locked = [bool(solved.is_held_by_lock[self._bones(row)].any()) for row in rows]
            is_alone = len(self.live_chains) == len(self.driven)
            turns = [is_alone and live_chain.only_turns for live_chain in self.live_chains]
            self._summaries = list(map(SolveSummary, statuses, residuals, stretched, locked, turns))
        return self._summaries[row]

    def _is_stretched(self, row: int, scale: Array) -> bool:
        live_chain = self.live_chains[row]
        if live_chain.stretch is None:
            return False
        grown = scale[self._bones(row)][:, 1] - live_chain.stretch.scale[:, 1]
        return bool((grown > MIN_GROWTH).any())

    def driven_of(self, row: int) -> Driven:
        """Return the bones that a chain drives, alone or with other chains."""
        return self.driven[self._place(row)[0]]

    def _place(self, row: int) -> tuple[int, int]:
        """Return the number of a chain's tree, and of the chain in that tree."""
        return divmod(row, len(self.driven[0].live_chains))

    def _bones(self, row: int) -> tuple[int, list[int]]:
        """Return the index of a chain's bones in arrays of shape (B, k, ...)."""
        tree, chain = self._place(row)
        return tree, list(self.driven[tree].hanging.rows[chain])
