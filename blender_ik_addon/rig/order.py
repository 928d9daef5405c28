"""The order in which chains have to be solved: each after those that move what it hangs on."""

from __future__ import annotations

from dataclasses import dataclass

import bpy

from .dependencies import Point, bones_moving_anchor, bones_moving_chain
from .plan import ChainPlan
from .skeleton import Skeleton
from .spec import ChainSpec


@dataclass(frozen=True)
class Job:
    """One chain to solve in this update.

    Attributes:
        object: The armature object, original.
        index: Of the chain in the object's list.
        spec: Its settings.
        skeleton: The armature's bones.
        plan: The chain's bones.
    """

    object: bpy.types.Object
    index: int
    spec: ChainSpec
    skeleton: Skeleton
    plan: ChainPlan


def levels(jobs: list[Job]) -> list[list[Job]]:
    """Return jobs in groups: a group hangs on nothing that its own or a later group moves.

    Chains that hang on each other in a ring have no such order; they stay in the order given.
    """
    if len(jobs) < 2:
        return [jobs]
    moved_by = {
        (job.object.session_uid, job.skeleton.names[bone]): i
        for i, job in enumerate(jobs)
        for bone in job.plan.written
    }
    above = [{moved_by[point] for point in _hangs_on(job) if point in moved_by} for job in jobs]
    level: dict[int, int] = {}

    def place(i: int, open_jobs: frozenset[int]) -> int:
        if i not in level:
            first = above[i] - open_jobs - {i}
            level[i] = 1 + max((place(j, open_jobs | {i}) for j in first), default=-1)
        return level[i]

    for i in range(len(jobs)):
        place(i, frozenset())
    groups: list[list[Job]] = [[] for _ in range(1 + max(level.values()))]
    for i, job in enumerate(jobs):
        groups[level[i]].append(job)
    return [group for group in groups if group]


def _hangs_on(job: Job) -> set[Point]:
    parent = int(job.skeleton.parents[job.plan.segments[0]])
    name = job.skeleton.names[parent] if parent >= 0 else ""
    points = set(bones_moving_chain(job.object, name))
    for anchor in (job.spec.target, job.spec.pole):
        if anchor is not None:
            points.update(bones_moving_anchor(anchor))
    return points
