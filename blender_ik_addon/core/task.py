"""What is asked of many chains at once, in the units of their start poses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .bend import Pole
from .chain import SolveOptions, Solver
from .chains import Goals
from .errors import SolverMismatchError
from .start import Start
from .vectors import Array, Counts, Flags

# A tolerance below this share of the chain's length asks for more than rounding leaves.
FINEST_TOLERANCE = 1e-14


@dataclass(frozen=True)
class Task:
    """The goals of B chains, relative to their roots and in units of ``Start.unit``.

    Attributes:
        target: Shape (3, B).
        pole: None where no chain has one.
        use_flip: Shape (B,); None where no chain is flipped.
        tolerance: Shape (B,).
        iterations: Caps, shape (B,).
    """

    target: Array
    pole: Pole | None
    use_flip: Flags | None
    tolerance: Array
    iterations: Counts


def batch_task(start: Start, goals: Goals, targets: Array, options: SolveOptions) -> Task:
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


def check_solver(solver: Solver, count: int) -> None:
    """Raise if a solver does not apply to chains of so many segments.

    Raises:
        SolverMismatchError: If TWO_BONE is asked for any other number than two.
    """
    if solver is Solver.TWO_BONE and count != 2:
        bones = "one bone" if count == 1 else f"{count} bones"
        raise SolverMismatchError(
            f"Two-Bone needs a chain of two bones and this one has {bones}:"
            " choose FABRIK, CCD or NEWTON, or set the chain length to 2."
        )
