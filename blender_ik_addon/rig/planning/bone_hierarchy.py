"""Parents and children among the bones of chains and trees: indices only."""

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
class BoneHierarchy:
    """Hierarchy of the k bones that E chains write, parents first; a chain alone has E = 1.

    Attributes:
        parents: Rows of the parents, -1 for the one root.
        count: Number of bones that are solved together; they come first. The others turn
            afterwards: tips beyond their effectors that no other chain drives, then twist bones.
        carriers: Rows of the bones that carry the effectors.
        rows: For each chain, the rows of the bones that it writes, root first.
        tips: For each chain, the row of the last bone of its limb.
        unturned: Rows of bones solved together that do not inherit their parents' rotation.
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
        depths: list[int] = []
        for row, parent in enumerate(self.parents):
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
            if row >= self.count:
                depths[row] = len(self.parents) + (row not in self.tips)
        for _, group in groupby(range(len(depths)), lambda row: depths[row]):
            rows = list(group)
            parent = self.parents[rows[0]]
            if parent < 0:
                yield slice(rows[0], rows[0] + 1), None
            elif len(rows) == 1:
                yield slice(rows[0], rows[0] + 1), slice(parent, parent + 1)
            else:
                yield slice(rows[0], rows[-1] + 1), np.array([self.parents[row] for row in rows])

    @cached_property
    def topology(self) -> Topology | None:
        """The bones that are solved together, as the core takes a tree; None for a chain.

        If the root floats, the core's tree begins with one more bone that moves and does not turn.
        """
        if self.floats:
            return Topology(
                (-1, *(above + 1 for above in self.parents[: self.count])),
                [carrier + 1 for carrier in self.carriers],
            )
        return self._tree if len(self.carriers) > 1 else None

    @cached_property
    def _tree(self) -> Topology:
        return Topology(self.parents[: self.count], self.carriers)

    @cached_property
    def above(self) -> list[int]:
        """Row of the joint before each one: heads of bones solved together, then effectors."""
        return [0, *self.parents[1 : self.count], *self.carriers]

    @cached_property
    def is_on_way(self) -> Array:
        """One for the joints on the way to each effector, otherwise zero, shape (n + E, E)."""
        return np.vstack((self._tree.is_on_path, np.eye(len(self.carriers))))

    def turns_afterwards(self, chain: int) -> bool:
        """Return whether a chain's tip is turned after the solve."""
        return self.tips[chain] >= self.count

    def path(self, row: int) -> list[int]:
        """Return the rows of a bone and of all bones above it, the bone first."""
        rows = []
        while row >= 0:
            rows.append(row)
            row = self.parents[row]
        return rows

    def limb(self, chain: int) -> list[int]:
        """Return the rows of the bones that turn toward the pole of a chain, root first.

        As ``Topology.limbs``; a root that floats counts as any bone.
        """
        return list(self._tree.limbs[chain])


OrderedBones = tuple[Indices, BoneHierarchy]
"""Indices of bones, parents first, and their hierarchy."""


def hanging_of(plans: Sequence[ChainPlan]) -> OrderedBones:
    """Return the bones that chains write together; the same record for the same plans."""
    key, cache = tuple([id(plan) for plan in plans]), plans[0].skeleton.hangings
    cached: tuple[OrderedBones, Sequence[ChainPlan]] | None = cache.get(key)
    if cached is None:
        # Hold the plans too: without them other plans could get their ids.
        cached = cache[key] = _hanging_of(plans), plans
    return cached[0]


def _hanging_of(plans: Sequence[ChainPlan]) -> OrderedBones:
    skeleton, (bones, count) = plans[0].skeleton, _order(plans)
    row_of = {bone: row for row, bone in enumerate(bones)}
    rows = [[row_of[bone] for bone in plan.written.tolist()] for plan in plans]
    tips = [chain[plan.tip_row] for chain, plan in zip(rows, plans, strict=True)]
    turns = skeleton.frames.use_inherit_rotation[bones[1:count]]
    return np.array(bones), BoneHierarchy(
        parents=tuple(row_of.get(int(skeleton.parents[bone]), -1) for bone in bones),
        count=count,
        carriers=tuple(
            # A head is carried by its parent. If the bone turns to the target too and other chains
            # continue from it, it carries the head itself, so that all chains account for its turn.
            tip if plan.turns_beyond and tip < count else row_of[int(plan.segments[-1])]
            for plan, tip in zip(plans, tips, strict=True)
        ),
        rows=tuple(tuple(chain) for chain in rows),
        tips=tuple(tips),
        unturned=tuple((1 + np.flatnonzero(~turns)).tolist()),
        floats=plans[0].body_root >= 0,
    )


def _order(plans: Sequence[ChainPlan]) -> tuple[list[int], int]:
    """Return the bones, parents first and those that turn afterwards last, and how many do not.

    Of those that do, tips beyond effectors come before twist bones, in the order of chains.
    """
    written = [bone for plan in plans for bone in plan.written.tolist()]
    order_of = {plan.tip: 1 for plan in plans if plan.turns_beyond and written.count(plan.tip) == 1}
    twist_bones = {bone for plan in plans for bone in plan.limb[plan.tip_row + 1 :].tolist()}
    limbs = {bone for plan in plans for bone in plan.limb[: plan.tip_row + 1].tolist()}
    order_of |= dict.fromkeys(twist_bones - limbs, 2)

    def place(bone: int) -> tuple[int, ...]:
        rank = order_of.get(bone, 0)
        return (rank,) if rank == 2 else (rank, len(plans[0].skeleton.ancestors(bone)), bone)

    bones = sorted(dict.fromkeys(written), key=place)
    return bones, len(bones) - len(order_of)


def find_heads_and_effectors(
    plans: Sequence[ChainPlan], hung: OrderedBones, location: Callable[[Indices], Array]
) -> tuple[Array, Array]:
    """Return heads and effectors of chains in the spaces of posed bones.

    ``location`` returns the location channels (..., m, 3) of bones (m,).

    Returns:
        Offsets from the parent's head to each bone's, in the space of the parent, shape (..., k,
        3); and effectors in the spaces of the bones that carry them, shape (..., E, 3).
    """
    skeleton, (bones, hanging) = plans[0].skeleton, hung
    heads = skeleton.heads(bones, location(bones))
    ends = np.zeros((*heads.shape[:-2], len(plans), 3))
    for chain, carrier in enumerate(bones[list(hanging.carriers)].tolist()):
        plan = plans[chain]
        if plan.ends_at_tail:
            ends[..., chain, 1] = skeleton.lengths[plan.tip]
        elif carrier != plan.tip:
            tip = np.array([plan.tip])
            ends[..., chain, :] = skeleton.heads(tip, location(tip))[..., 0, :]
    return heads, ends
