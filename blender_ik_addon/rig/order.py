"""The order in which chains have to be solved: each after those that move what it hangs on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import bpy

from .plan import ChainPlan
from .skeleton import Skeleton
from .spec import ChainSpec

Point = tuple[int, str]
"""A bone: its armature object's session uid, and its name."""


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


def _hangs_on(job: Job) -> Iterator[Point]:
    """Yield the bones that move a chain's root, target or pole."""
    seen: set[object] = set()
    root = int(job.plan.segments[0])
    parent = int(job.skeleton.parents[root])
    if parent >= 0:
        yield from _bones_above(job.object, job.skeleton.names[parent], seen)
    yield from _objects_above(job.object.parent, job.object.parent_bone, seen)
    yield from _through_constraints(job.object, seen)
    for anchor in (job.spec.target, job.spec.pole):
        if anchor is not None:
            yield from _objects_above(anchor.object, anchor.bone, seen)


def _objects_above(owner: bpy.types.Object | None, bone: str, seen: set[object]) -> Iterator[Point]:
    while owner is not None:
        if owner.type == "ARMATURE" and bone:
            yield from _bones_above(owner, bone, seen)
        if owner.session_uid in seen:
            return
        seen.add(owner.session_uid)
        yield from _through_constraints(owner, seen)
        owner, bone = owner.parent, owner.parent_bone


def _bones_above(owner: bpy.types.Object, bone: str, seen: set[object]) -> Iterator[Point]:
    pose_bone = owner.pose.bones.get(bone)
    while pose_bone is not None:
        point = (owner.session_uid, pose_bone.name)
        if point in seen:
            return
        seen.add(point)
        yield point
        yield from _through_constraints(pose_bone, seen)
        pose_bone = pose_bone.parent


def _through_constraints(
    owner: bpy.types.Object | bpy.types.PoseBone, seen: set[object]
) -> Iterator[Point]:
    for constraint in owner.constraints:
        target = getattr(constraint, "target", None)
        if target is not None and not constraint.mute:
            yield from _objects_above(target, getattr(constraint, "subtarget", ""), seen)
