"""What jointed chains aim at besides the position of their effectors."""

from __future__ import annotations

from dataclasses import dataclass

from .vectors import Array, Counts, Flags, taken


@dataclass(frozen=True)
class Aims:
    """What chains aim at besides the position of their effectors.

    Attributes:
        tip: Turn of the tip bone from its start pose wxyz, shape (4, B); None for no aim.
        tip_start: The axes of the tip bone in the start pose, shape (3, 3, B).
        side: Unit directions that the chains shall bend toward, shape (3, B); None for no aim.
        chord: Unit directions from roots to targets, shape (3, B).
        weight: Of a radian, shape (B,).
    """

    tip: Array | None
    tip_start: Array
    side: Array | None
    chord: Array
    weight: Array

    def take(self, chains: Counts | Flags) -> Aims:
        """Return the aims of some of the chains."""
        return Aims(
            None if self.tip is None else taken(self.tip, chains),
            taken(self.tip_start, chains),
            None if self.side is None else taken(self.side, chains),
            taken(self.chord, chains),
            self.weight[chains],
        )
