"""What is asked of chains, in the units of their start poses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .algebra.arithmetic import Condition, Number
from .chain import Solver
from .errors import SolverMismatchError
from .kinematics.bend_plane import Pole

# A tolerance below this share of the chain's length asks for more than rounding leaves.
FINEST_TOLERANCE = 1e-14


@dataclass(frozen=True)
class Task:
    """The goal of a chain, or of many, relative to the root and in units of ``StartPose.unit``.

    Attributes:
        target: A vector, or an array (3, B).
        pole: None where no chain has one.
        use_flip: None where no chain is flipped.
        tolerance: Accepted distance from effector to target.
        iterations: Cap.
    """

    target: Any
    pole: Pole | None
    use_flip: Condition | None
    tolerance: Number
    iterations: Number


def check_solver(solver: Solver, count: int) -> None:
    """Raise if a solver does not apply to chains of so many segments.

    Raises:
        SolverMismatchError: If TWO_BONE is asked for any other number than two.
    """
    if solver is Solver.TWO_BONE and count != 2:
        cure = "lengthen" if count < 2 else "shorten"
        raise SolverMismatchError(
            f"Two-Bone bends two bones and this chain has {count} to bend:"
            f" choose FABRIK, CCD or Newton, or {cure} the chain."
        )
