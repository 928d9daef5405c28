"""The goals of a batch as a task for the solvers."""

from __future__ import annotations

import numpy as np

from .chain import SolveOptions
from .chains import Goals
from .kinematics.bend_plane import Pole
from .kinematics.start_pose import StartPose
from .task import FINEST_TOLERANCE, Task
from .vectors import Array, Flags


def batch_task(start: StartPose, goals: Goals, targets: Array, options: SolveOptions) -> Task:
    """Return goals and options in the units of the start poses, with the given targets."""
    count = len(targets)
    pole = None
    if goals.pole_positions is not None:
        pole = Pole(
            is_set=np.ones(count, dtype=np.bool_),
            position=(goals.pole_positions.T - start.root) / start.unit,
            angle=np.broadcast_to(np.asarray(goals.pole_angles, dtype=np.float64), count),
        )
    use_flip: Flags | None = None
    if np.any(options.use_flip_bend):
        use_flip = np.broadcast_to(np.asarray(options.use_flip_bend), count)
    return Task(
        target=(targets.T - start.root) / start.unit,
        pole=pole,
        use_flip=use_flip,
        tolerance=np.maximum(options.tolerance / start.unit, FINEST_TOLERANCE * start.reach),
        iterations=np.broadcast_to(np.asarray(options.iterations), count),
    )
