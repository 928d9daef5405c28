"""Chains that follow each other: no order of solving them is right, so one of them is refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..reading.dependencies import Dependencies, Point
from .order import Group, Job, above


def closing_chain(jobs: Sequence[Job], groups: Sequence[Group]) -> tuple[int, int] | None:
    """Return the last chain that closes a ring, and one that it follows round it; None without.

    Solved after each other such chains would never come to rest, or rest wherever they started
    from. Rings that are closed by drivers only are let go: Blender does not tell which bone of an
    object a driver is for, so most of those are none.

    Args:
        jobs: All chains.
        groups: What is solved together.
    """
    if not _ringed(above(jobs, groups)):
        return None
    moved_by = above(jobs, groups, _without_drivers)
    ringed = _ringed(moved_by)
    if not ringed:
        return None
    members = sorted(i for number in ringed for i in groups[number])
    own = {i: number for number in ringed for i in groups[number]}
    for i in reversed(members):
        points = _without_drivers(jobs[i])
        for other in members:
            is_on_ring = own[other] != own[i] and _leads(moved_by, own[other], own[i])
            if is_on_ring and not points.isdisjoint(jobs[other].points()):
                return i, other
    return None


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


def _without_drivers(job: Job) -> set[Point]:
    """Return the bones that move a chain in other ways than by drivers."""
    relations = Dependencies(use_drivers=False)
    for anchor in (job.spec.target, job.spec.pole):
        if anchor is not None:
            relations.add_anchor(anchor)
    relations.add_chain(job.object, job.skeleton.names[job.plan.segments[0]])
    return relations.points
