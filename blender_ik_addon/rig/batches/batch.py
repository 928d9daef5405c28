"""Chains or trees alike, of any number of armature objects: what all batches of them know."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Array, Indices
from ...core.model.status import STATUSES
from ..frames.places import Places, in_armatures
from ..posing.outcome import Outcome, outcome_of
from ..posing.solved import Solved
from ..reading.refusals import Refused
from ..trees.driven import Driven
from .batch_rigs import BatchRigs, Members
from .followed import Followed

# Scales that differ by less are the same, in the float32 of Blender.
SAME_SCALE = 1e-6
POSED_ELSEWHERE = (
    "Not solved here: another scene or window has posed these bones at its own frame."
    " Move this chain's target, or change the frame."
)


class Ending(NamedTuple):
    """How the last solve of a chain ended, at the least cost.

    Attributes:
        status: Its status.
        residual: From effector to target in scene units.
        is_stretched: Whether bones have grown for it.
        has_locks: Whether locked rotation channels kept bones from following.
        only_turns: Whether it is one bone alone, which no solve brings nearer to its target.
    """

    status: Status
    residual: float
    is_stretched: bool
    has_locks: bool
    only_turns: bool


class Batch:
    """B live chains, or trees of E chains, alike in one dependency graph.

    Attributes:
        driven: The chains or trees.
        live_chains: Their chains, those of one tree after those of the one before.
        states: The armature object of each.
        uids: Session uids of the chains' armature objects.
        errors: What is wrong with a chain, by row.
        is_even: Whether they are rigid, and hang in spaces that keep their shape.
        goes_on: Whether they go on from their last pose.
        most_again: How often what starts from what stands there, and has not arrived, is solved
            again from its own results.
    """

    most_again = 16
    _rigs: BatchRigs[Any]

    def __init__(self, members: Members, *, is_even: bool) -> None:
        """Take chains or trees that have the same key."""
        self.is_even = is_even
        self.driven = [each for _, own in members for _, each in own]
        self.live_chains = [chain for each in self.driven for chain in each.live_chains]
        self.uids = [state.uid for state, own in members for _, each in own for _ in each.specs]
        self.errors: dict[int, str] = {}
        self._failed: dict[int, str] = {}
        self.states = [state for state, own in members for _ in own]
        self._members = members
        specs = [spec for each in self.driven for spec in each.specs]
        self.goes_on = specs[0].goes_on
        self._targets = Followed([spec.target for spec in specs if spec.target], "target")
        self._solved: Solved | None = None
        self._endings: list[Ending] | None = None

    def is_of(self, members: Members, *, is_even: bool) -> bool:
        """Tell whether this batch is compiled of just these, in these rows of their rigs."""
        # When another chain of a rig has come or gone, the same chains stand in other rows.
        rows = [[row for row, _ in own] for _, own in members]
        driven = [each for _, own in members for _, each in own]
        return (
            is_even == self.is_even
            and rows == [[row for row, _ in own] for _, own in self._members]
            and driven == self.driven
        )

    def ask_anew(self, uids: Collection[int]) -> None:
        """Have the next update solve those of some armature objects, as if targets had moved."""
        self._targets.matrices[[uid in uids for uid in self.uids]] = np.nan

    def _find_places(self) -> Places:
        poses = [state.pose for state in self.states]
        return in_armatures(self.driven, poses, [state.unmirrored for state in self.states])

    def _keep(self, rows: Indices, solved: Solved) -> None:
        """Keep what a solve did to some of the chains or trees."""
        self._endings = None
        if len(rows) == len(self.driven):
            self._solved = solved
        else:
            every = np.zeros(len(self.driven), dtype=np.int64)
            self._solved = (self._solved or solved.take(every)).put(rows, solved)

    def _weights(self, _row: int) -> Array | None:
        """Return what effectors of a tree count, shape (E,); None for a chain alone."""
        return None

    def _with_put_back(self, outcome: Outcome, _row: int) -> Outcome:
        """Return an outcome with the bones that somebody has posed since it was solved last."""
        return outcome

    def outcome(self, row: int) -> Outcome | Refused | None:
        """Return what the last solve of a chain did, or what is wrong with it."""
        if row in self.errors:
            return Refused(self.errors[row])
        if self.uids[row] in self._rigs.left:
            return Refused(POSED_ELSEWHERE)
        if self._solved is None:
            return None
        tree, chain = self._place(row)
        driven, weights = self.driven[tree], self._weights(tree)
        return self._with_put_back(outcome_of(self._solved, driven, tree, chain, weights), row)

    def ending(self, row: int) -> Ending | None:
        """Return how the last solve of a chain ended; None without one, or where it failed."""
        if self._solved is None or row in self.errors or self.uids[row] in self._rigs.left:
            return None
        if self._endings is None:
            # All at once, once a solve: whoever draws asks for every chain.
            solved = self._solved
            statuses = [STATUSES[code] for code in solved.status_codes.ravel().tolist()]
            residuals, rows = solved.residuals.ravel().tolist(), range(len(statuses))
            stretched = locked = [False] * len(statuses)
            if solved.scale is not None:
                stretched = [self._is_stretched(row, solved.scale) for row in rows]
            if solved.is_kept.any():
                locked = [bool(solved.is_kept[self._bones(row)].any()) for row in rows]
            is_alone = len(self.live_chains) == len(self.driven)
            turns = [is_alone and each.only_turns for each in self.live_chains]
            self._endings = list(map(Ending, statuses, residuals, stretched, locked, turns))
        return self._endings[row]

    def _is_stretched(self, row: int, scale: Array) -> bool:
        live_chain = self.live_chains[row]
        if live_chain.stretch is None:
            return False
        grown = scale[self._bones(row)][:, 1] - live_chain.stretch.scale[:, 1]
        return bool((grown > SAME_SCALE).any())

    def driven_of(self, row: int) -> Driven:
        """Return what a chain drives, alone or with others."""
        return self.driven[self._place(row)[0]]

    def _place(self, row: int) -> tuple[int, int]:
        """Return the number of a chain's tree, and its own there."""
        return divmod(row, len(self.driven[0].live_chains))

    def _bones(self, row: int) -> tuple[int, list[int]]:
        """Return the index of a chain's bones in what is solved."""
        tree, chain = self._place(row)
        return tree, list(self.driven[tree].hanging.rows[chain])
