"""Poses of chains in the planes of their bends, told by angles: in reach, stretched or folded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import reach, two_bone
from .bend import AT_ROOT
from .chain import Solver
from .iterate import PLANAR_NEWTON, Work, bent_by_newton
from .start import Start
from .task import Task
from .vectors import Array, Counts, Flags


@dataclass(frozen=True)
class PlanarPoses:
    """Solved poses of B chains of n segments.

    Attributes:
        angles: Of the segments to the chord, shape (n, B).
        along: From effector to target along the chord, in units of the start, shape (B,); None
            where no target is missed at all.
        aside: The same across the chord; None for zero.
        iterations: Sweeps used, shape (B,).
        is_too_far: Shape (B,).
        is_too_near: Shape (B,).
    """

    angles: Array
    along: Array | None
    aside: Array | None
    iterations: Counts
    is_too_far: Flags
    is_too_near: Flags


def planar_poses(start: Start, task: Task, distance: Array, solver: Solver) -> PlanarPoses:
    """Return the poses that bring effectors to distances from their roots, on the chord.

    Args:
        start: Start poses, flat.
        task: What is asked for.
        distance: From roots to targets, shape (B,).
        solver: TWO_BONE or NEWTON.
    """
    bounded = reach.bounded(distance, start.reach, start.least)
    is_too_far, is_out = bounded.is_too_far, bounded.is_out
    if solver is Solver.TWO_BONE:
        angles, iterations = _elbows(start.lengths, bounded.within), np.zeros_like(task.iterations)
        along = aside = None
        if task.use_flip is not None:
            angles = np.where(task.use_flip, -angles, angles)
    else:
        angles, along, aside, iterations = _bent(start, task, bounded.within)
    if is_out is not None:
        is_longest = np.arange(len(angles))[:, None] == np.argmax(start.lengths, axis=0)
        folded = np.where(is_longest | is_too_far, 0.0, np.pi)
        angles = np.where(is_out, folded, angles)
        edge = np.where(is_too_far, start.reach, start.least)
        along = np.where(is_out, distance - edge, 0.0 if along is None else along)
        aside = None if aside is None else np.where(is_out, 0.0, aside)
        iterations = np.where(is_out, 0, iterations)
    return PlanarPoses(angles, along, aside, iterations, is_too_far, bounded.is_too_near)


def _elbows(lengths: Array, distance: Array) -> Array:
    joints = two_bone.solved(lengths, distance)
    foot, height = joints[1, 0], joints[1, 1]
    return np.array((np.arctan2(height, foot), np.arctan2(-height, joints[2, 0] - foot)))


def _bent(start: Start, task: Task, distance: Array) -> tuple[Array, Array, Array, Counts]:
    """Return angles, what is missing along and across the chord, and the iterations used."""
    target = np.zeros((2, len(distance)))
    target[0] = distance
    work = Work(start.lengths, target, task.tolerance, task.iterations)
    points, used = bent_by_newton(PLANAR_NEWTON, start, work)
    segments = points[1:] - points[:-1]
    angles = np.arctan2(segments[:, 1], segments[:, 0])
    along, aside = target - points[-1]
    is_turned: Flags | None = None
    if task.pole is not None and len(points) > 2:
        # A bulge away from the pole is turned toward it, half round the chord: mirrored.
        is_turned = points[1:-1, 1].mean(axis=0) < -AT_ROOT * start.reach
    if task.use_flip is not None:
        is_turned = task.use_flip if is_turned is None else is_turned != task.use_flip
    if is_turned is not None:
        angles, aside = np.where(is_turned, -angles, angles), np.where(is_turned, -aside, aside)
    return angles, along, aside, used
