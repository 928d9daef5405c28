"""Which bones of chains and trees hang on which: indices only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np

from ...core import Topology
from ...core.algebra.arithmetic import Array, Indices
from ..reading.chain_plan import ChainPlan

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


Hung = tuple[Indices, Hanging]
"""Bones, every one after its parent, and how they hang."""


def hanging_of(plans: Sequence[ChainPlan]) -> Hung:
    """Return the bones that chains write together, the same records for the same plans."""
    key, kept = tuple([id(plan) for plan in plans]), plans[0].skeleton.hangings
    known: tuple[Hung, Sequence[ChainPlan]] | None = kept.get(key)
    if known is None:
        # The plans are kept as well: of those that are gone others may have the numbers.
        known = kept[key] = _hanging_of(plans), plans
    return known[0]


def _hanging_of(plans: Sequence[ChainPlan]) -> Hung:
    skeleton, (bones, count) = plans[0].skeleton, _ordered(plans)
    row_of = {bone: row for row, bone in enumerate(bones)}
    rows = [[row_of[bone] for bone in plan.written.tolist()] for plan in plans]
    tips = [own[plan.tip_row] for own, plan in zip(rows, plans, strict=True)]
    turns = skeleton.frames.use_inherit_rotation[bones[1:count]]
    return np.array(bones), Hanging(
        parents=tuple(row_of.get(int(skeleton.parents[bone]), -1) for bone in bones),
        count=count,
        carriers=tuple(
            # A head is carried by its parent; by the bone itself where that turns to the target as
            # well and other chains go on from it, so that all of them are told of its turn.
            tip if plan.turns_beyond and tip < count else row_of[int(plan.segments[-1])]
            for plan, tip in zip(plans, tips, strict=True)
        ),
        rows=tuple(tuple(own) for own in rows),
        tips=tuple(tips),
        unturned=tuple((1 + np.flatnonzero(~turns)).tolist()),
        floats=plans[0].body_root >= 0,
    )


def _ordered(plans: Sequence[ChainPlan]) -> tuple[list[int], int]:
    """Return the bones, parents first and those that turn afterwards last, and how many do not.

    Of these, tips beyond effectors come before twist bones, which stay in the order of the chains.
    """
    written = [bone for plan in plans for bone in plan.written.tolist()]
    last = {plan.tip: 1 for plan in plans if plan.turns_beyond and written.count(plan.tip) == 1}
    twisted = {bone for plan in plans for bone in plan.limb[plan.tip_row + 1 :].tolist()}
    limbs = {bone for plan in plans for bone in plan.limb[: plan.tip_row + 1].tolist()}
    last |= dict.fromkeys(twisted - limbs, 2)

    def place(bone: int) -> tuple[int, ...]:
        late = last.get(bone, 0)
        return (late,) if late == 2 else (late, len(plans[0].skeleton.ancestors(bone)), bone)

    bones = sorted(dict.fromkeys(written), key=place)
    return bones, len(bones) - len(last)


def lying(
    plans: Sequence[ChainPlan], hung: Hung, location: Callable[[Indices], Array]
) -> tuple[Array, Array]:
    """Return where heads and effectors of chains that hang so lie in the spaces of posed bones.

    Args:
        plans: The chains.
        hung: Of these.
        location: Returns the location channels (..., m, 3) of bones (m,).

    Returns:
        From the parent's head to each bone's in the space of the parent, shape (..., k, 3), and
        effectors in the spaces of the bones that carry them, shape (..., E, 3).
    """
    skeleton, (bones, hanging) = plans[0].skeleton, hung
    ways = skeleton.heads(bones, location(bones))
    ends = np.zeros((*ways.shape[:-2], len(plans), 3))
    for chain, carrier in enumerate(bones[list(hanging.carriers)].tolist()):
        plan = plans[chain]
        if plan.ends_at_tail:
            ends[..., chain, 1] = skeleton.lengths[plan.tip]
        elif carrier != plan.tip:
            tip = np.array([plan.tip])
            ends[..., chain, :] = skeleton.heads(tip, location(tip))[..., 0, :]
    return ways, ends
