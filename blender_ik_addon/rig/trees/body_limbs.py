"""The limbs of a body: its chains, and those that share bones, in the order of solving."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Flags, Indices
from ..planning.live_chain import LiveChain
from .driven import Driven
from .shared_bones import sharing


@dataclass(frozen=True, eq=False)
class BodyLimb:
    """What is solved by itself before the body gives way: a chain, or chains that share bones.

    Attributes:
        driven: Of the bones that are the limb's own.
        chains: Numbers of the chains in the body.
        rows: Of the bones in the body, shape (k,).
        above: Row of the bone that carries it; -1 for the limb of the body's root.
    """

    driven: Driven
    chains: tuple[int, ...]
    rows: Indices
    above: int

    @property
    def batch_key(self) -> tuple[object, ...]:
        """What limbs of bodies alike must have in common."""
        return self.chains, tuple(self.rows.tolist()), self.above, *self.solve_key

    @property
    def bends_with_body(self) -> bool:
        """Whether it is a chain of two bones that bend, without joints, to a side of its own."""
        own = self.driven
        is_pair = not own.is_tree and own.hanging.count == 2 and own.joints is None
        return is_pair and own.specs[0].carries_side

    @property
    def tip_after(self) -> int:
        """Row of the tip that comes after the bones of a chain; -1 where none does."""
        hang = self.driven.hanging
        return int(self.rows[hang.tips[0]]) if hang.turns_afterwards(0) else -1

    @property
    def solve_key(self) -> tuple[object, ...]:
        """What limbs must have in common to be solved side by side."""
        return self.driven.keeps_shape, self.driven.batch_key


def body_limbs(
    live_chains: Sequence[LiveChain],
    bones: Indices,
    parents: Sequence[int],
    unite: Callable[[Sequence[LiveChain]], Driven],
) -> tuple[BodyLimb, ...]:
    """Return the limbs of a body, each after those that carry it.

    Args:
        live_chains: Its chains.
        bones: That it writes, every one after its parent.
        parents: Rows of their parents.
        unite: Makes one of chains that share bones.
    """
    row_of = {bone: row for row, bone in enumerate(bones.tolist())}
    alone = [live_chain.by_itself() for live_chain in live_chains]
    written = {number: each.plan.written.tolist() for number, each in enumerate(alone)}
    found = []
    for group in sharing(written):
        driven = unite([alone[i] for i in group])
        rows = np.array([row_of[bone] for bone in driven.bones.tolist()])
        found.append(BodyLimb(driven, group, rows, parents[int(rows[0])]))
    return tuple(sorted(found, key=lambda limb: len(list(rows_above(limb, parents)))))


def rows_above(limb: BodyLimb, parents: Sequence[int]) -> Iterator[int]:
    """Yield the rows of the bones above a limb, from that which carries it on."""
    row = limb.above
    while row >= 0:
        yield row
        row = parents[row]


def find_carried(limbs: Sequence[BodyLimb], parents: Sequence[int]) -> Flags:
    """Tell which chains the limb of each chain carries, shape (E, E)."""
    count = sum(len(limb.chains) for limb in limbs)
    found = np.zeros((count, count), dtype=np.bool_)
    for limb in limbs:
        above = set(rows_above(limb, parents))
        for other in limbs:
            if not above.isdisjoint(other.rows.tolist()):
                found[np.ix_(other.chains, limb.chains)] = True
    return found


def limbs_alike(
    bodies: Sequence[Sequence[BodyLimb]], parents: Sequence[int]
) -> list[list[tuple[BodyLimb, ...]]]:
    """Return limbs of bodies alike that are solved side by side, each after those that carry it.

    Each as one limb of all bodies, then the next one of all of them: left and right are alike, as
    far as they are single chains, of which no one carries the other.
    """
    groups: dict[tuple[object, ...], list[tuple[BodyLimb, ...]]] = {}
    for number, each in enumerate(zip(*bodies, strict=True)):
        depth = len(list(rows_above(each[0], parents)))
        alone = None if len(each[0].chains) == 1 else number
        groups.setdefault((alone, depth, *each[0].solve_key), []).append(each)
    return list(groups.values())
