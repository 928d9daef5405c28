"""Settings of ``feasible_newton``: the energy, the lengths of steps, and the held outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from ..algebra.arithmetic import Array, Flags
from ..algebra.output_rows import NO_OUTPUTS, OutputRows
from .bone_rows import BoneRows
from .constrained_step import Curve
from .posed_rows import PosedRows


class EnergyAtPose(Protocol):
    """An energy at poses of B trees: totals (B,), flags of least totals (B,), and derivatives."""

    total: Array
    is_least: Flags

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives (B, 3 n), and a function of a force that returns second ones.

        The function takes the force (B, rows) on the outputs with the Jacobian (B, rows, 3 n), and
        subtracts the second derivatives of its work.
        """

    def foresee(self, _move: Array) -> bool:
        """Use in ``derive`` the springs that act after moves (B, n, 3); return if any differ."""
        return False


@dataclass(frozen=True)
class DescentSettings:
    """Settings of a descent.

    Attributes:
        measure: Function of the bones and their loads; it returns a function of poses and their
            outputs that returns the energy.
        rest_turn: Largest turn in radians that a joint of a chain at rest still has to make.
        least_shift: Shift of all systems, compared with the stiffest joint: some have no stiffness.
        first_shift: First shift of a system that is not positive definite, likewise.
        largest_turn: Largest turn of a joint in a step, in radians; the curvature at a pose is no
            good model beyond it.
        stall_share: A step that saves a smaller share of the energy is the last, unless it
            halves the estimated turn that is left.
        is_strict: Whether a step is rejected if held outputs are not restored after it, whatever
            energy it saves. Idle steps end such a descent only where all of them are restored.
        held: Outputs that are held.
        tracked: Outputs that pull so hard that steps follow curved valleys. A correction moves
            them to their linear prediction.
        tolerance: Tolerance of corrections after a step of a radian, as a share of the reach.
        bounds: Slices of the held outputs, with the force beyond which a tree is finished.
        use_early_stop: Whether a tree is finished whose outputs are not held after some steps, or
            that needs too short steps.
        least_gain: A step that would save less energy is the last, once the outputs are held.
    """

    measure: Callable[[BoneRows, Any], Callable[[PosedRows, Array], EnergyAtPose]]
    rest_turn: float
    least_shift: float
    first_shift: float
    largest_turn: float = 0.8
    stall_share: float = 0.0
    is_strict: bool = False
    held: OutputRows = NO_OUTPUTS
    tracked: OutputRows = NO_OUTPUTS
    tolerance: float = 1e-3
    bounds: tuple[tuple[slice, float], ...] = ()
    use_early_stop: bool = False
    least_gain: float = 0.0
