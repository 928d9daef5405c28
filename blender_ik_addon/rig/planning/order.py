"""The order in which chains have to be solved: each after those that move what it hangs on.

Those that follow each other in a ring have none, so one of them is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import bpy

from ..reading.chain_plan import ChainPlan
from ..reading.dependencies import Dependencies, MovedBy, Point
from ..reading.skeleton import Skeleton
from ..reading.spec import Anchor, ChainSpec, StartFrom

HistoryKey = tuple[bytes, bool]
"""The bones that a chain writes, and whether it is dragged there."""
Group = tuple[int, ...]
"""Indices of chains that are solved together: one, or those of a tree."""


@dataclass(frozen=True, eq=False, slots=True)
class PlannedChain:
    """One chain that can be solved.

    Attributes:
        object: The armature object, original.
        index: Of the chain in the object's list.
        spec: Its settings.
        plan: The chain's bones.
        moved_by: What moves it.
    """

    object: bpy.types.Object
    index: int
    spec: ChainSpec
    plan: ChainPlan
    moved_by: MovedBy

    @property
    def parts(self) -> tuple[bpy.types.Object, int, ChainSpec, ChainPlan, MovedBy]:
        """All of it, in the order of its fields."""
        return self.object, self.index, self.spec, self.plan, self.moved_by

    @property
    def skeleton(self) -> Skeleton:
        """The armature's bones."""
        return self.plan.skeleton

    @property
    def anchors(self) -> list[Anchor]:
        """All that the chain follows, or does not pass: outside of a body it knows of no floor."""
        spec = self.spec
        floor = spec.floor if self.plan.body_root >= 0 else None
        return [each for each in (spec.target, spec.pole, floor) if each is not None]

    @property
    def start_from(self) -> StartFrom:
        """Where it starts: a body where its keys have it, so that it does not hang on the past."""
        start = self.spec.start_from
        is_free = self.plan.body_root < 0 or start is not StartFrom.CURRENT
        return start if is_free else StartFrom.KEYED

    @property
    def history_key(self) -> HistoryKey:
        """By what it is remembered from frame to frame, also where it is compiled again."""
        return self.plan.written.tobytes(), self.spec.is_dragged

    def points(self) -> list[Point]:
        """Return the bones that it writes."""
        uid = self.object.session_uid
        return [(uid, name) for name in self.plan.names]


def are_planned_alike(chains: Sequence[PlannedChain], former: Sequence[PlannedChain]) -> bool:
    """Tell whether chains are those of before, wherever they start from now."""
    # What moves a chain is found anew whenever it is planned anew.
    pairs = zip(chains, former, strict=False)
    return len(chains) == len(former) and all(
        one.moved_by is other.moved_by for one, other in pairs
    )


def above(
    chains: Sequence[PlannedChain],
    groups: Sequence[Group],
    points_of: Callable[[PlannedChain], Collection[Point]] = lambda chain: chain.moved_by.points,
) -> list[set[int]]:
    """Return which groups move each group, itself left out.

    Args:
        chains: All chains.
        groups: What is solved together.
        points_of: Tells the bones that move a chain.
    """
    owner = {
        point: number
        for number, group in enumerate(groups)
        for i in group
        for point in chains[i].points()
    }
    found = []
    for number, group in enumerate(groups):
        moving = {owner[p] for i in group for p in points_of(chains[i]) if p in owner}
        found.append(moving - {number})
    return found


def levels(moved_by: Sequence[Iterable[int]]) -> list[int]:
    """Return the level of every group: it hangs on nothing that its own or a later level moves.

    Groups that hang on each other in a ring have no such order; they stay in the order given.

    Args:
        moved_by: As ``above`` tells.
    """
    level: dict[int, int] = {}

    def place(i: int, open_groups: frozenset[int]) -> int:
        if i not in level:
            first = set(moved_by[i]) - open_groups
            level[i] = 1 + max((place(j, open_groups | {i}) for j in first), default=-1)
        return level[i]

    return [place(i, frozenset()) for i in range(len(moved_by))]


def closing_chain(
    chains: Sequence[PlannedChain], groups: Sequence[Group]
) -> tuple[int, int] | None:
    """Return the last chain that closes a ring, and one that follows it in turn; None without.

    Solved after each other such chains would never come to rest, or rest wherever they started
    from. Rings that are closed by drivers only are let go: Blender does not tell which bone of an
    object a driver is for, so most of those are none.

    Args:
        chains: All chains.
        groups: What is solved together.
    """
    if not _ringed(above(chains, groups)):
        return None
    moved_by = above(chains, groups, _without_drivers)
    ringed = _ringed(moved_by)
    if not ringed:
        return None
    members = sorted(i for number in ringed for i in groups[number])
    own = {i: number for number in ringed for i in groups[number]}
    for i in reversed(members):
        points = _without_drivers(chains[i])
        for other in members:
            is_on_ring = own[other] != own[i] and _leads(moved_by, own[other], own[i])
            if is_on_ring and not points.isdisjoint(chains[other].points()):
                back = [
                    groups[number]
                    for number in sorted(ringed - {own[other]})
                    if number == own[i] or _leads(moved_by, number, own[i])
                ]
                return i, _following(chains, groups[own[other]], back, other)
    return None


def _following(
    chains: Sequence[PlannedChain], group: Group, back: Iterable[Group], other: int
) -> int:
    """Return the chain of a group that follows bones of some groups itself; else the one given.

    Of a body or a tree the chain that carries a target is mostly none that follows anything.
    """
    moved = {point for members in back for i in members for point in chains[i].points()}
    following = (i for i in group if not moved.isdisjoint(_without_drivers(chains[i])))
    return next(following, other)


def _ringed(moved_by: Sequence[Collection[int]]) -> set[int]:
    """Return the groups that move themselves by way of others."""
    return {i for i in range(len(moved_by)) if moved_by[i] and _leads(moved_by, i, i)}


def _leads(moved_by: Sequence[Collection[int]], first: int, last: int) -> bool:
    """Tell whether a group is moved by another one, by way of any others."""
    seen, waiting = set[int](), list(moved_by[first])
    while waiting:
        number = waiting.pop()
        if number == last:
            return True
        if number not in seen:
            seen.add(number)
            waiting += moved_by[number]
    return False


def _without_drivers(chain: PlannedChain) -> set[Point]:
    """Return the bones that move a chain in other ways than by drivers."""
    relations = Dependencies(use_drivers=False)
    for anchor in chain.anchors:
        relations.add_anchor(anchor)
    relations.add_chain(chain.object, chain.skeleton.names[chain.plan.root])
    return relations.points
