"""Which bones of chains and trees hang on which: indices only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from ...core import Topology
from ...core.algebra.arithmetic import Array, Indices
from ..reading.chain_plan import ChainPlan
from ..reading.skeleton import Skeleton

Generations = tuple[tuple[slice, Indices | slice | None], ...]
"""Rows of bones, and those of their parents; None for the root."""


@dataclass(frozen=True)
class Hanging:
    """The k bones that E chains write, every bone after its parent; one chain is a tree with E = 1.

    Attributes:
        parents: Rows of their parents, -1 for the one root.
        count: How many bones, the first, are solved together. The others turn afterwards: tips
            beyond their effectors that no other chain drives, and twist bones after these.
        carriers: Rows of the bones that carry the effectors.
        rows: Of each chain, the rows of the bones that it writes, root first.
        tips: Of each chain, the row of the last bone of its limb.
        unturned: The bones solved together that do not inherit their parents' rotation.
        floats: Whether the root moves as well as it turns.
    """

    parents: tuple[int, ...]
    count: int
    carriers: tuple[int, ...]
    rows: tuple[tuple[int, ...], ...]
    tips: tuple[int, ...]
    unturned: tuple[int, ...] = ()
    floats: bool = False

    @classmethod
    def of_chain(cls, skeleton: Skeleton, plan: ChainPlan) -> Hanging:
        """Return how the bones of a chain hang: each on the one before it, but for twist bones."""
        written, segments = len(plan.limb), len(plan.segments)
        turns = skeleton.frames.use_inherit_rotation[plan.segments[1:]]
        unturned = tuple((1 + np.flatnonzero(~turns)).tolist())
        row_of = {int(bone): row for row, bone in enumerate(plan.limb)}
        parents = [row_of[int(skeleton.parents[bone])] for bone in plan.limb[1:]]
        bones, carrier = tuple(range(written)), segments - 1
        return cls((-1, *parents), segments, (carrier,), (bones,), (plan.tip_row,), unturned)

    @cached_property
    def generations(self) -> Generations:
        """The root, the bones below it, those below these; tips beyond effectors; twist bones."""
        return tuple(self._generations())

    def _generations(self) -> Iterator[tuple[slice, Indices | slice | None]]:
        depth: list[int] = []
        for row, above in enumerate(self.parents):
            depth.append(depth[above] + 1 if above >= 0 else 0)
            if row >= self.count:
                depth[row] = len(self.parents) + (row not in self.tips)
        for _, group in groupby(range(len(depth)), lambda row: depth[row]):
            rows = list(group)
            above = self.parents[rows[0]]
            if above < 0:
                yield slice(rows[0], rows[0] + 1), None
            elif len(rows) == 1:
                yield slice(rows[0], rows[0] + 1), slice(above, above + 1)
            else:
                yield slice(rows[0], rows[-1] + 1), np.array([self.parents[row] for row in rows])

    @cached_property
    def topology(self) -> Topology | None:
        """The bones that are solved together, as the core takes a tree; None for a chain.

        What floats comes first there, a bone that moves and does not turn.
        """
        if self.floats:
            return Topology(
                (-1, *(above + 1 for above in self.parents[: self.count])),
                [carrier + 1 for carrier in self.carriers],
            )
        if len(self.carriers) == 1:
            return None
        return Topology(self.parents[: self.count], self.carriers)

    @cached_property
    def above(self) -> list[int]:
        """Which joint is before each one: heads of the bones solved together, then effectors."""
        return [0, *self.parents[1 : self.count], *self.carriers]

    @cached_property
    def on_ways(self) -> Array:
        """One for the joints on the way to each effector, else zero, shape (n + E, E)."""
        found = np.zeros((len(self.above), len(self.carriers)))
        for chain, carrier in enumerate(self.carriers):
            found[[*self.path(carrier), self.count + chain], chain] = 1.0
        return found

    def turns_afterwards(self, chain: int) -> bool:
        """Tell whether a chain's tip is turned after all else."""
        return self.tips[chain] >= self.count

    def path(self, row: int) -> list[int]:
        """Return a bone's row and those of all bones above it, the bone first."""
        found = []
        while row >= 0:
            found.append(row)
            row = self.parents[row]
        return found

    def limb_root(self, chain: int) -> int:
        """Return the row of the bone that turns the limb of a chain toward its pole.

        As the core has it: the first of the bones that move its effector and else only what goes
        on from there, or of all that move it where those are fewer than two.
        """
        carrier = self.carriers[chain]
        paths = [self.path(each) for each in self.carriers]
        others = {row for path in paths if carrier not in path for row in path}
        own = [row for row in self.path(carrier) if row not in others]
        return own[-1] if len(own) > 1 else 0
