"""The potential energy of chains whose effectors do not arrive, with stiff springs to the targets.

The springs to the targets cost more than joint springs and weight save by leaving the targets a
little. So of all poses about equally near to the targets a descent finds the one of least energy,
without held outputs, for which ranges may leave no room.

Source: the quadratic penalty method (Nocedal and Wright, "Numerical Optimization", 2006, section
17.1). Derivatives are tested against differences in tests/core/equilibrium/
test_potential_energy.py, the poses in tests/core/solving/limits/test_unreachable.py.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, chains_first, measure
from ..algebra.output_rows import ALL_OUTPUTS
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import DescentSettings, EnergyAtPose
from ..descent.posed_rows import PosedRows
from .potential_energy import EnergyRows, PotentialEnergy

# Stiffness of the springs to targets, in multiples of all springs and weights. Ten times less, and
# effectors visibly give way; ten times more, and in narrow valleys many descents do not end.
PULL = 1e5


class PulledEnergyAtPose:
    """The energy of B chains or trees at one pose, with springs that pull their outputs."""

    def __init__(self, energy: EnergyAtPose, residual: Array, springs: Array) -> None:
        """Add the energy of springs to an energy.

        Args:
            energy: The energy without the springs.
            residual: Targets minus outputs, shape (B, rows).
            springs: Stiffness of the springs, shape (B, rows), or (B, 1) for equal rows.
        """
        self._energy, self._springs, self._pull = energy, springs, residual * springs
        self.total: Array = energy.total + 0.5 * (residual * self._pull).sum(axis=1)
        self.is_least: Flags = energy.is_least

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function for second ones, as in ``EnergyAtPose``."""
        slope, curve = self._energy.derive(jacobian)
        back = jacobian.swapaxes(1, 2)
        stiffness = (back * self._springs[:, None]) @ jacobian
        return slope - apply(back, self._pull), lambda force: curve(force + self._pull) + stiffness

    def foresee(self, move: Array) -> bool:
        """Use in ``derive`` the springs that act after moves (B, n, 3); return if any differ."""
        return self._energy.foresee(move)


def _measure(
    bones: BoneRows, loads: tuple[PotentialEnergy, Array]
) -> Callable[[PosedRows, Array], PulledEnergyAtPose]:
    energy, target = EnergyRows(bones, loads[0]), chains_first(loads[1])
    weight = (
        energy.carried_mass.sum(axis=1)
        * measure(energy.gravity)[:, None]
        * bones.tree.reach[:, None]
    )
    springs = PULL * (energy.stiffness.sum(axis=1) + weight) / bones.tree.reach[:, None] ** 2
    return lambda posed, output: PulledEnergyAtPose(energy.measure(posed), target - output, springs)


PULLED = DescentSettings(
    _measure,
    rest_turn=1e-6,
    least_shift=1e-12,
    first_shift=1e-10,
    stall_share=1e-11,
    tracked=ALL_OUTPUTS,
)
