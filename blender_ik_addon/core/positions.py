"""The joints of many chains for their targets: reachable or not, flipped or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import bend, reach, two_bone
from .chain import Solver
from .iterate import iterated
from .start import Start
from .task import Task
from .vectors import Array, Counts, Flags, norm


@dataclass(frozen=True)
class Positions:
    """Solved joints of B chains of n segments.

    Attributes:
        points: Relative to the roots, in units of ``Start.unit``, shape (n + 1, 3, B).
        rotation_wxyz: Turns of the chains as a whole, shape (B, 4).
        iterations: Sweeps used, shape (B,).
        is_too_far: Shape (B,).
        is_too_near: Shape (B,).
    """

    points: Array
    rotation_wxyz: Array
    iterations: Counts
    is_too_far: Flags
    is_too_near: Flags


def positioned(
    start: Start, task: Task, solver: Solver, *, is_few: bool = True, use_finish: bool = True
) -> Positions:
    """Return the joints that bring the effectors of chains to their targets.

    Args:
        start: Start poses.
        task: What is asked for.
        solver: Of all of the chains.
        is_few: Whether so few chains were compiled that FABRIK and CCD take them one by one.
        use_finish: Whether NEWTON finishes what their sweeps are too slow for.
    """
    plan = bend.wanted_bend(start.chord, start.side, start.reach, task.target, task.pole)
    bounded = reach.bounded(norm(task.target), start.reach, start.least)
    distance = bounded.within
    if solver is Solver.TWO_BONE:
        local = two_bone.solved(start.lengths, distance)
        iterations = np.zeros_like(task.iterations)
        if task.use_flip is not None:
            local[1, 1] *= np.where(task.use_flip, -1.0, 1.0)
    else:
        local, iterations = iterated(
            start, task, plan, distance, solver, is_few=is_few, use_finish=use_finish
        )
        if task.pole is not None:
            local = bend.swivelled(local, task.pole, start.reach)
        if task.use_flip is not None:
            local = bend.mirrored(local, task.use_flip)
    is_too_far, is_too_near = bounded.is_too_far, bounded.is_too_near
    if bounded.is_out is not None:
        local = np.where(is_too_far, reach.extended(start.lengths), local)
        local = np.where(is_too_near, reach.folded(start.lengths), local)
        iterations = np.where(bounded.is_out, 0, iterations)
    return Positions(plan.placed(local), plan.rotation_wxyz, iterations, is_too_far, is_too_near)
