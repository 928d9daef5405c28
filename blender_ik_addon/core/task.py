"""What is asked of many chains at once, in the units of their start poses."""

from __future__ import annotations

from dataclasses import dataclass

from .bend import Pole
from .chain import Solver
from .errors import SolverMismatchError
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
