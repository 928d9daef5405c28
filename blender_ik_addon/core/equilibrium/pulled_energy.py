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
from ..algebra.chains_first import apply, chains_first, measure
from ..algebra.output_rows import EVERY
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import Measure, Settings
from ..descent.posed_rows import PosedRows
from .potential_energy import EnergyRows, PotentialEnergy

# The pull, as a multiple of what all springs and weights are. Ten times less, and effectors give
# way by what can be seen; ten times more, and valleys get so narrow that many chains do not end.
PULL = 1e5


class PulledAt:
    """The energy of B chains or trees at one pose, and that of springs that pull their outputs."""

    def __init__(self, at: Measure, off: Array, springs: Array) -> None:
        """Take what acts at the pose, and what pulls.

        Args:
            at: The energy without the springs.
            off: Ways of outputs to where they are pulled, shape (B, rows).
            springs: How stiff they are, shape (B, rows), or (B, 1) for all rows alike.
        """
        self._at, self._springs, self._pull = at, springs, off * springs
        self.total: Array = at.total + 0.5 * (off * self._pull).sum(axis=1)
        self.is_least: Flags = at.is_least

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        slope, curve = self._at.derive(jacobian)
        back = jacobian.swapaxes(1, 2)

        def curve_both(force: Array) -> Array:
            stiff = (back * self._springs[:, None]) @ jacobian
            whole: Array = curve(force + self._pull) + stiff
            return whole

        return slope - apply(back, self._pull), curve_both

    def foresee(self, move: Array) -> bool:
        """Derive from now on as springs act after moves (B, n, 3); tell if any act otherwise."""
        return self._at.foresee(move)


def _measure(
    bones: BoneRows, acting: tuple[PotentialEnergy, Array]
) -> Callable[[PosedRows, Array], PulledAt]:
    energy, target = EnergyRows(bones, acting[0]), chains_first(acting[1])
    weight = energy.borne.sum(axis=1) * measure(energy.gravity)[:, None] * bones.tree.reach[:, None]
    strength = PULL * (energy.stiffness.sum(axis=1) + weight) / bones.tree.reach[:, None] ** 2
    return lambda posed, output: PulledAt(energy.measure(posed), target - output, strength)


PULLED = Settings(_measure, rests=1e-6, least_shift=1e-12, first_shift=1e-10, led=EVERY)
