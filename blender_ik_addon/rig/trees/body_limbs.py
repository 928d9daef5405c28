"""The limbs of a body: single chains, or chains that share bones, in the order of solving."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.algebra.arithmetic import Array, Flags, Indices
from ..planning.live_chain import LiveChain
from .driven import Driven
from .shared_bones import group_by_bones


@dataclass(frozen=True, eq=False)
class BodyLimb:
    """A chain, or chains that share bones: solved by itself before the body gives way.

    Attributes:
        driven: The bones that the limb drives by itself.
        chains: Numbers of its chains in the body.
        rows: Rows of its bones in the body, shape (k,).
        above: Row of the bone that carries it; -1 for the limb of the body's root.
    """

    driven: Driven
    chains: tuple[int, ...]
    rows: Indices
    above: int

    @property
    def batch_key(self) -> tuple[object, ...]:
        """Key that limbs of similar bodies have in common."""
        return self.chains, tuple(self.rows.tolist()), self.above, *self.solve_key

    @property
    def solve_key(self) -> tuple[object, ...]:
        """Key that limbs solved side by side have in common."""
        return self.driven.keeps_shape, self.driven.batch_key


def body_limbs(
    live_chains: Sequence[LiveChain],
    bones: Indices,
    parents: Sequence[int],
    unite: Callable[[Sequence[LiveChain]], Driven],
) -> tuple[BodyLimb, ...]:
    """Return the limbs of a body, each after those that carry it.

    Bones come after their parents, whose rows ``parents`` has. ``unite`` unites chains that share
    bones.
    """
    row_of = {bone: row for row, bone in enumerate(bones.tolist())}
    alone = [live_chain.by_itself() for live_chain in live_chains]
    written = {number: chain.plan.written.tolist() for number, chain in enumerate(alone)}
    limbs = []
    for group in group_by_bones(written):
        driven = unite([alone[i] for i in group])
        rows = np.array([row_of[bone] for bone in driven.bones.tolist()])
        limbs.append(BodyLimb(driven, group, rows, parents[int(rows[0])]))
    return tuple(sorted(limbs, key=lambda limb: len(list(rows_above(limb, parents)))))


def rows_above(limb: BodyLimb, parents: Sequence[int]) -> Iterator[int]:
    """Yield the rows of the bones above a limb, beginning with the bone that carries it."""
    row = limb.above
    while row >= 0:
        yield row
        row = parents[row]


def find_carried(limbs: Sequence[BodyLimb], parents: Sequence[int]) -> Flags:
    """Return which chains (columns) hang on the limbs of which chains (rows), shape (E, E)."""
    count = sum(len(limb.chains) for limb in limbs)
    carries = np.zeros((count, count), dtype=np.bool_)
    for limb in limbs:
        above = set(rows_above(limb, parents))
        for other in limbs:
            if not above.isdisjoint(other.rows.tolist()):
                carries[np.ix_(other.chains, limb.chains)] = True
    return carries


def find_moving(limbs: Sequence[BodyLimb], moves_with: Flags, rows: Sequence[int]) -> Flags:
    """Return which chains (columns) move points on bones in some rows, shape (F, E).

    ``moves_with`` are the chains (columns) that each chain (rows) moves, itself included.
    """
    belongs = np.zeros((len(rows), len(moves_with)), dtype=np.bool_)
    for limb in limbs:
        belongs[np.ix_(np.isin(rows, limb.rows), limb.chains)] = True
    return belongs @ moves_with.T


def reach_anywhere(
    limbs: Sequence[BodyLimb],
    carries: Flags,
    live_chains: Sequence[LiveChain],
    priorities: Indices,
) -> Flags:
    """Return which chains reach by themselves wherever their body has brought them, shape (E,).

    What hangs on a limb must not miss it: nothing, single bones (toes), or what comes after a limb
    of two bones (fingers of an arm), each on a tip that takes its target's whole rotation. Longer
    limbs, like spines, may leave shoulders elsewhere.
    """
    is_pair = np.zeros(len(priorities), dtype=np.bool_)
    is_root = is_pair.copy()
    for limb in limbs:
        is_pair[list(limb.chains)] = limb.driven.hanging.count == 2
        is_root[list(limb.chains)] = limb.above < 0
    keeps_tip = [
        chain.plan.turns_tip and chain.spec.options.orient_weight == 1.0 for chain in live_chains
    ]
    may_follow = np.array([chain.only_turns for chain in live_chains])
    may_follow = may_follow | is_pair[:, None] & (priorities > priorities[:, None])
    may_follow &= np.array(keeps_tip)[:, None]
    reaches: Flags = ~(carries & ~may_follow).any(axis=1) & ~is_root
    return reaches


def least_of_carriers(
    limbs: Sequence[BodyLimb], parents: Sequence[int], values: Array, priorities: Sequence[int]
) -> Array:
    """Return the least value of the chains that carry each chain, shape (E,); 1 without any.

    The chain of the hips does not count, because it moves all others. A chain does not fade with a
    chain that comes after it: an arm pulls a spine that has faded out.
    """
    carries, order = find_carried(limbs, parents), np.array(priorities)
    for limb in limbs:
        if limb.above < 0:
            carries[list(limb.chains)] = False
    carries &= order[:, None] <= order
    least: Array = np.where(carries, values[:, None], 1.0).min(axis=0)
    return least


def group_limbs(
    bodies: Sequence[Sequence[BodyLimb]], parents: Sequence[int]
) -> list[list[tuple[BodyLimb, ...]]]:
    """Return groups of limbs that are solved side by side, each group after those that carry it.

    A group holds one or more limbs, each as a tuple of this limb in all bodies. Similar single
    chains at the same depth, like left and right arms, share a group.
    """
    groups: dict[tuple[object, ...], list[tuple[BodyLimb, ...]]] = {}
    for number, same_limb in enumerate(zip(*bodies, strict=True)):
        depth = len(list(rows_above(same_limb[0], parents)))
        number_of_tree = None if len(same_limb[0].chains) == 1 else number
        groups.setdefault((number_of_tree, depth, *same_limb[0].solve_key), []).append(same_limb)
    return list(groups.values())
