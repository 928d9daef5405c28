"""Poses near to their start that goals pull at: with a force, and more the farther they are off.

The force leads a pose on where what holds a goal lets it go; what it is more with the distance
shares the way between goals that cannot be met together.

Source: exact penalties (Nocedal and Wright, "Numerical Optimization", 2006, section 17.2), smoothed
near to the target; tested against differences in tests/core/equilibrium/test_near_start.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import Array
from ..algebra.chains_first import apply, chains_first
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import Measure
from ..descent.posed_rows import PosedRows
from .near_start import StartRows, StartSprings
from .pulled_energy import PulledAt

# So near to a target, for the reach, the force of a goal falls. A third, and poses whose goals are
# nearly met take more steps; three times as much, and they leave more of the way.
NEAR = 0.03
# A goal that pulls is at most so far from its target, for the reach.
FARTHEST = 2.0


class Pulls(NamedTuple):
    """How G goals of trees pull at their outputs.

    Attributes:
        springs: Of all outputs, shape (rows,).
        forces: With which goals pull from anywhere, shape (G,).
        goals: One where an output belongs to a goal, shape (G, rows).
    """

    springs: Array
    forces: Array
    goals: Array

    def measure_gaps(self, off: Array, reach: Array) -> Array:
        """Return how far goals are from targets, and a little more, shape (B, G).

        Args:
            off: Ways of outputs to their targets, shape (B, rows).
            reach: Of the trees, shape (B,).
        """
        gap: Array = np.sqrt(apply(self.goals, off * off) + (NEAR * reach[:, None]) ** 2)
        return gap

    def find_springs(self, gap: Array) -> Array:
        """Return with how stiff springs outputs are pulled (B, rows) where gaps are (B, G)."""
        springs: Array = self.springs + apply(self.goals.T, self.forces / gap)
        return springs


def draw_near(target: Array, output: Array, points: int, pulls: Pulls, reach: Array) -> Array:
    """Return targets (rows, B) of which those that pull are no farther away than they may be.

    Args:
        target: Of all outputs, shape (rows, B).
        output: Where these are, likewise.
        points: How many of the rows, the first, are three to a point.
        pulls: Which of them pull.
        reach: Of the trees, shape (B,).
    """
    way = (target - output)[:points].reshape(-1, 3, len(reach))
    size = np.sqrt((way**2).sum(axis=1, keepdims=True))
    share = np.minimum(1.0, FARTHEST * reach / np.maximum(size, np.finfo(float).tiny))
    nearer = target.copy()
    nearer[:points] = output[:points] + (share * way).reshape(points, -1)
    return np.where(pulls.goals.any(axis=0)[:, None], nearer, target)


class Pulling(NamedTuple):
    """What acts on B trees.

    Attributes:
        springs: To the start.
        moved: How far first bones have moved before, shape (3, B).
        target: Of all outputs, shape (rows, B).
    """

    springs: StartSprings
    moved: Array
    target: Array


class GoalsAt(PulledAt):
    """The energy of B trees at one pose, and that of goals that pull with forces and springs."""

    def __init__(self, at: Measure, off: Array, pulls: Pulls, reach: Array) -> None:
        """Take what acts at the pose, and what pulls.

        Args:
            at: The energy without goals.
            off: Ways of outputs to their targets, shape (B, rows).
            pulls: How goals pull.
            reach: Of the trees, shape (B,).
        """
        gap = pulls.measure_gaps(off, reach)
        super().__init__(at, off, pulls.find_springs(gap))
        self._goals, self._off, self._falls = pulls.goals, off, pulls.forces / gap**3
        # The energy of a force beside that of the spring that pulls as much at this gap.
        past = gap - NEAR * reach[:, None]
        self.total += (0.5 * pulls.forces * past * past / gap).sum(axis=1)

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        slope, curve = super().derive(jacobian)
        # A force does not grow with the distance: along it nothing is stiff.
        along = (self._goals * self._off[:, None]) @ jacobian
        softer = along.swapaxes(1, 2) @ (self._falls[..., None] * along)
        return slope, lambda force: curve(force) - softer


def measure_pulls(
    bones: BoneRows, acting: Pulling, pulls: Pulls
) -> Callable[[PosedRows, Array], Measure]:
    """Return the function that measures the energy of poses."""
    start = StartRows(bones, acting.springs, acting.moved)
    target, reach = chains_first(acting.target), bones.tree.reach
    return lambda posed, output: GoalsAt(start.measure(posed), target - output, pulls, reach)
