"""How ``feasible_newton`` goes down: which energy, how far a step goes, what is held."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..algebra.arithmetic import Array, Flags
from ..algebra.output_rows import NOTHING, OutputRows
from .bone_rows import BoneRows
from .constrained_step import Curve
from .posed_rows import PosedRows


class Measure(Protocol):
    """An energy at poses of B trees: its total (B,), where it is as good as least, derivatives."""

    total: Array
    is_least: Flags

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives (B, 3 n), and a function that returns second ones.

        These are less those of the work of a force on the outputs, shape (B, rows), which have the
        Jacobian (B, rows, 3 n).
        """

    def foresee(self, _move: Array) -> bool:
        """Derive from now on what acts after moves (B, n, 3); tell if anything acts otherwise."""
        return False


@dataclass(frozen=True)
class Settings:
    """How to go down.

    Attributes:
        measure: Makes of bones, and of what acts on them, a function that measures poses with
            their outputs.
        rests: A chain rests when no joint has to turn by more, in radians.
        least_shift: Compared with the stiffest joint; some joints resist nothing.
        first_shift: What a system is shifted by first if it is not positive definite, likewise.
        largest_turn: In radians; the curvature at a pose says little beyond it.
        slight: A step that saves less, as a share of the energy, and does not leave less to go by
            half, is the last.
        keeps: Whether no step is taken after which outputs have not been brought back, whatever it
            saves: they are worth more than any of it.
        held: Of the outputs those that are held.
        led: Those that pull so hard that steps follow curved valleys: they are brought back to
            where the linear model of a step has them.
        returned: How near both are brought back after a step of a radian, as a share of the reach.
        bounds: Parts of what is held that are held up to a force each; what needs more is done.
        holds_soon: Whether what is not there after a few steps, or has to take too short ones, is
            done.
        least_gain: A step that would save less is the last, once all that is held is there.
    """

    measure: Callable[[BoneRows, Any], Callable[[PosedRows, Array], Measure]]
    rests: float
    least_shift: float
    first_shift: float
    largest_turn: float = 0.8
    slight: float = 0.0
    keeps: bool = False
    held: OutputRows = NOTHING
    led: OutputRows = NOTHING
    returned: float = 1e-3
    bounds: tuple[tuple[slice, float], ...] = ()
    holds_soon: bool = False
    least_gain: float = 0.0
