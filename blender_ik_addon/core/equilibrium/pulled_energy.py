"""The potential energy of chains whose effectors do not arrive: a stiff spring pulls them there.

What springs and weight save by leaving the targets a little is less than what the pull costs: of
the poses that are about as near as any the one of least energy is found, without anything held that
ranges leave no room for.

Source: the quadratic penalty method (Nocedal and Wright, "Numerical Optimization", 2006, section
17.1). Derivatives are tested against differences in tests/core/equilibrium/
test_potential_energy.py, the poses in tests/core/solving/limits/test_unreachable.py.
"""

from __future__ import annotations

from collections.abc import Callable

from ..algebra.arithmetic import Array, Flags
from ..solvers.constrained_step import Curve
from ..solvers.feasible_newton import Settings
from ..solvers.posed_rows import BoneRows, PosedRows, chains_first, measure
from .potential_energy import EnergyAt, EnergyRows, PotentialEnergy

# The pull, as a multiple of what all springs and weights are. Ten times less, and effectors give
# way by what can be seen; ten times more, and valleys get so narrow that many chains do not end.
PULL = 1e5


class PulledAt:
    """The energy of B chains at one pose, and that of the pull on their outputs."""

    def __init__(self, at: EnergyAt, output: Array, pull: tuple[Array, Array]):
        """Take what acts at the pose, its outputs, and the pull: to where (B, k), how hard."""
        target, self._strength = pull
        self._at, self._error = at, target - output
        square = (self._error * self._error).sum(axis=1)
        self.total: Array = at.total + 0.5 * self._strength[:, 0] * square
        self.is_least: Flags = at.is_least

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        slope, curve = self._at.derive(jacobian)
        pull = self._strength * self._error

        def curve_both(force: Array) -> Array:
            stiff = jacobian.swapaxes(1, 2) @ (self._strength[..., None] * jacobian)
            whole: Array = curve(force + pull) + stiff
            return whole

        return slope - (pull[:, None] @ jacobian)[:, 0], curve_both

    def foresee(self, move: Array) -> bool:
        """Derive from now on as springs act after moves (B, n, 3); tell if any act otherwise."""
        return self._at.foresee(move)


def _measure(
    bones: BoneRows, acting: tuple[PotentialEnergy, Array]
) -> Callable[[PosedRows, Array], PulledAt]:
    energy, target = EnergyRows(bones, acting[0]), chains_first(acting[1])
    weight = energy.borne.sum(axis=1) * measure(energy.gravity)[:, None] * bones.tree.reach[:, None]
    strength = PULL * (energy.stiffness.sum(axis=1) + weight) / bones.tree.reach[:, None] ** 2
    pull = target, strength
    return lambda posed, output: PulledAt(energy.measure(posed), output, pull)


PULLED = Settings(_measure, rests=1e-6, least_shift=1e-12, first_shift=1e-10)
