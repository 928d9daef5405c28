"""Order in which chains are solved: each after those that move its bones or anchors.

Chains that follow each other in a ring have no order, so one of them is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import bpy

from ..reading.chain_plan import ChainPlan, followed_anchors
from ..reading.dependencies import Dependencies, MovedBy, Point
from ..reading.skeleton import Skeleton
from ..reading.spec import Anchor, ChainSpec, StartFrom

HistoryKey = tuple[bytes, bool]
"""The bones that a chain writes, and whether it is dragged there."""
Group = tuple[int, ...]
"""Indices of chains that are solved together: one chain, or those of a tree."""


@dataclass(frozen=True, eq=False, slots=True)
class PlannedChain:
    """One chain that can be solved.

    Attributes:
        object: The armature object, original.
        index: Index of the chain in the object's list.
        spec: Settings of the chain.
        plan: Bones of the chain.
        moved_by: Bones and objects that move it.
    """

    object: bpy.types.Object
    index: int
    spec: ChainSpec
    plan: ChainPlan
    moved_by: MovedBy

    @property
    def parts(self) -> tuple[bpy.types.Object, int, ChainSpec, ChainPlan, MovedBy]:
        """All fields, in their order."""
        return self.object, self.index, self.spec, self.plan, self.moved_by

    @property
    def skeleton(self) -> Skeleton:
        """The armature's bones."""
        return self.plan.skeleton

    @property
    def anchors(self) -> list[Anchor]:
        """What it follows: target, pole and floor, as far as set."""
        return [anchor for anchor, _ in followed_anchors(self.plan, self.spec)]

    @property
    def start_from(self) -> StartFrom:
        """The start; of a body its keys, so that it does not depend on earlier frames."""
        start = self.spec.start_from
        is_free = self.plan.body_root < 0 or start is not StartFrom.CURRENT
        return start if is_free else StartFrom.KEYED

    @property
    def history_key(self) -> HistoryKey:
        """The key of its history from frame to frame, also if it is compiled again."""
        return self.plan.written.tobytes(), self.spec.is_dragged

    def points(self) -> list[Point]:
        """Return the bones that it writes."""
        uid = self.object.session_uid
        return [(uid, name) for name in self.plan.names]


def are_planned_alike(chains: Sequence[PlannedChain], former: Sequence[PlannedChain]) -> bool:
    """Return whether chains are the former ones, whatever they start from now."""
    if chains == former:
        return True
    # Each planning of a chain makes a new ``moved_by``.
    pairs = zip(chains, former, strict=False)
    return len(chains) == len(former) and all(
        one.moved_by is other.moved_by for one, other in pairs
    )


def find_moving_groups(
    chains: Sequence[PlannedChain],
    groups: Sequence[Group],
    points_of: Callable[[PlannedChain], Collection[Point]] = lambda chain: chain.moved_by.points,
) -> list[set[int]]:
    """Return the other groups that move each group.

    ``points_of`` returns the bones that move a chain.
    """
    owner = {
        point: number
        for number, group in enumerate(groups)
        for i in group
        for point in chains[i].points()
    }
    moving_groups = []
    for number, group in enumerate(groups):
        numbers = {owner[p] for i in group for p in points_of(chains[i]) if p in owner}
        moving_groups.append(numbers - {number})
    return moving_groups


def find_levels(moved_by: Sequence[Iterable[int]]) -> list[int]:
    """Return the level of every group, which depends only on groups of lower levels.

    Groups in a ring have no such order; they stay in the given order. ``moved_by`` is the result of
    ``find_moving_groups``.
    """
    level: dict[int, int] = {}

    def visit(i: int, open_groups: frozenset[int]) -> int:
        if i not in level:
            first = set(moved_by[i]) - open_groups
            level[i] = 1 + max((visit(j, open_groups | {i}) for j in first), default=-1)
        return level[i]

    return [visit(i, frozenset()) for i in range(len(moved_by))]


def find_closing_chain(
    chains: Sequence[PlannedChain], groups: Sequence[Group]
) -> tuple[int, int] | None:
    """Return the last chain that closes a ring, and one that follows it in turn; None without one.

    Solved one after the other such chains would never come to rest, or rest where they started.
    Rings that only drivers or skins close are accepted: a driver of a setting counts for all chains
    of an object, and a skin with all of its bones, so many of them are not rings.
    """
    if not _find_ringed(find_moving_groups(chains, groups)):
        return None
    moved_by = find_moving_groups(chains, groups, _without_drivers)
    ringed = _find_ringed(moved_by)
    members = sorted(i for number in ringed for i in groups[number])
    owner = {i: number for number in ringed for i in groups[number]}
    for i in reversed(members):
        points = _without_drivers(chains[i])
        for other in members:
            is_on_ring = owner[other] != owner[i] and _reaches(moved_by, owner[other], owner[i])
            if is_on_ring and not points.isdisjoint(chains[other].points()):
                back = [
                    groups[number]
                    for number in sorted(ringed - {owner[other]})
                    if number == owner[i] or _reaches(moved_by, number, owner[i])
                ]
                return i, _following(chains, groups[owner[other]], back, other)
    return None


def _following(
    chains: Sequence[PlannedChain], group: Group, back: Iterable[Group], other: int
) -> int:
    """Return the chain of a group that follows bones of other groups; otherwise ``other``.

    In a body or tree the chain that carries a target often follows nothing itself.
    """
    moved = {point for members in back for i in members for point in chains[i].points()}
    following = (i for i in group if not moved.isdisjoint(_without_drivers(chains[i])))
    return next(following, other)


def _find_ringed(moved_by: Sequence[Collection[int]]) -> set[int]:
    """Return the groups that move themselves by way of others."""
    return {i for i in range(len(moved_by)) if moved_by[i] and _reaches(moved_by, i, i)}


def _reaches(moved_by: Sequence[Collection[int]], first: int, last: int) -> bool:
    """Return whether a group is moved by another one, by way of any others."""
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
    relations = Dependencies.of(*chain.anchors, use_drivers=False)
    relations.add_chain(chain.object, chain.skeleton.names[chain.plan.root])
    return relations.points
