"""The order in which chains have to be solved: each after those that move what it hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy

from .dependencies import MovedBy
from .plan import ChainPlan
from .skeleton import Skeleton
from .spec import ChainSpec


@dataclass(frozen=True, eq=False, slots=True)
class Job:
    """One chain that can be solved.

    Attributes:
        object: The armature object, original.
        index: Of the chain in the object's list.
        spec: Its settings.
        skeleton: The armature's bones.
        plan: The chain's bones.
        moved_by: What moves it.
    """

    object: bpy.types.Object
    index: int
    spec: ChainSpec
    skeleton: Skeleton
    plan: ChainPlan
    moved_by: MovedBy


def levels(jobs: Sequence[Job]) -> list[int]:
    """Return the level of every job: it hangs on nothing that its own or a later level moves.

    Chains that hang on each other in a ring have no such order; they stay in the order given.
    """
    moved_by = {
        (job.object.session_uid, job.skeleton.names[bone]): i
        for i, job in enumerate(jobs)
        for bone in job.plan.written
    }
    above = [
        {moved_by[point] for point in job.moved_by.points if point in moved_by} for job in jobs
    ]
    level: dict[int, int] = {}

    def place(i: int, open_jobs: frozenset[int]) -> int:
        if i not in level:
            first = above[i] - open_jobs - {i}
            level[i] = 1 + max((place(j, open_jobs | {i}) for j in first), default=-1)
        return level[i]

    return [place(i, frozenset()) for i in range(len(jobs))]
