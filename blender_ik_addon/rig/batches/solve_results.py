"""The last results of chains or trees that are solved side by side, as panels show them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core import Status
from ...core.algebra.arithmetic import Array, Indices
from ...core.model.status import STATUSES
from ..posing.solved import Solved
from ..trees.driven import Driven
from .changes import ChannelKind

# Least growth of a bone's scale that counts as stretch: Blender's float32 rounds by less.
MIN_GROWTH = 1e-6


class SolveSummary(NamedTuple):
    """The short result of a chain's last solve, cheap enough to read at every redraw.

    Its fields are as in ``Outcome``; ``is_stretched`` tells whether bones have grown.
    """

    status: Status
    residual: float
    is_stretched: bool
    has_locks: bool
    only_turns: bool


class SolveResults:
    """The last results of B similar chains, or trees of E chains.

    Attributes:
        solved: The results; None without a solve.
    """

    def __init__(self, driven: Sequence[Driven]) -> None:
        """Prepare chains or trees without results."""
        self._driven = driven
        self._live_chains = [chain for tree in driven for chain in tree.live_chains]
        self.solved: Solved | None = None
        self._summaries: list[SolveSummary] | None = None

    def store(self, rows: Indices, solved: Solved) -> None:
        """Store the results of some of the chains or trees."""
        self._summaries = None
        if len(rows) == len(self._driven):
            self.solved = solved
        else:
            first_rows = np.zeros(len(self._driven), dtype=np.int64)
            self.solved = (self.solved or solved.take(first_rows)).put(rows, solved)

    @property
    def others(self) -> dict[ChannelKind, Array]:
        """The solved scale and location channels, by kind."""
        if self.solved is None:
            return {}
        channels: dict[ChannelKind, Array | None]
        channels = {"scale": self.solved.scale, "location": self.solved.location}
        return {kind: values for kind, values in channels.items() if values is not None}

    def summary(self, row: int) -> SolveSummary | None:
        """Return the short result of a chain's last solve; None without a solve."""
        if self.solved is None:
            return None
        if self._summaries is None:
            # Compute all chains at once, once per solve: drawing reads every chain.
            solved = self.solved
            statuses = [STATUSES[code] for code in solved.status_codes.ravel().tolist()]
            residuals, rows = solved.residuals.ravel().tolist(), range(len(statuses))
            stretched = locked = [False] * len(statuses)
            if solved.scale is not None:
                stretched = [self._is_stretched(row, solved.scale) for row in rows]
            if solved.is_held_by_lock.any():
                locked = [bool(solved.is_held_by_lock[self._bones(row)].any()) for row in rows]
            is_alone = len(self._live_chains) == len(self._driven)
            turns = [is_alone and live_chain.only_turns for live_chain in self._live_chains]
            self._summaries = list(map(SolveSummary, statuses, residuals, stretched, locked, turns))
        return self._summaries[row]

    def place(self, row: int) -> tuple[int, int]:
        """Return the number of a chain's tree, and of the chain in that tree."""
        return divmod(row, len(self._driven[0].live_chains))

    def _is_stretched(self, row: int, scale: Array) -> bool:
        live_chain = self._live_chains[row]
        if live_chain.stretch is None:
            return False
        grown = scale[self._bones(row)][:, 1] - live_chain.stretch.scale[:, 1]
        return bool((grown > MIN_GROWTH).any())

    def _bones(self, row: int) -> tuple[int, list[int]]:
        """Return the index of a chain's bones in arrays of shape (B, k, ...)."""
        tree, chain = self.place(row)
        return tree, list(self._driven[tree].hanging.rows[chain])
