"""What is asked of many chains at once, in the units of their start poses."""

from __future__ import annotations

from dataclasses import dataclass

from .bend import Pole
from .vectors import Array, Counts, Flags


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
