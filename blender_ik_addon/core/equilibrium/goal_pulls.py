"""Goals that pull at poses near to their start: with a force, and with springs.

The force replaces the one that held a goal, so that poses change steadily. The springs, which pull
more at a greater distance, share the error between goals that cannot all be met.

Source: exact penalties (Nocedal and Wright, "Numerical Optimization", 2006, section 17.2), smoothed
near to the target; tested against differences in tests/core/equilibrium/test_start_springs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra.arithmetic import Array
from ..algebra.chains_first import apply, chains_first
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import EnergyAtPose
from ..descent.posed_rows import PosedRows
from .start_springs import StartRows, StartSprings
from .target_springs import PulledEnergyAtPose

# Distance to a target, as a share of the reach, below which the force of a goal decreases. With a
# third, poses whose goals are nearly met take more steps; with three times, they stay farther off.
SMOOTHING = 0.03
# Largest distance at which a target pulls, in lengths of the reach.
MAX_PULL = 2.0


class GoalPulls(NamedTuple):
    """The pulls of G goals at the outputs of trees.

    Attributes:
        springs: Stiffness of the springs at all outputs, shape (rows,).
        forces: Force of each goal at any distance, shape (G,).
        goals: One where an output belongs to a goal, otherwise zero, shape (G, rows).
    """

    springs: Array
    forces: Array
    goals: Array

    def measure_gaps(self, error: Array, reach: Array) -> Array:
        """Return the smoothed distances of goals from their targets, shape (B, G).

        Args:
            error: Targets minus outputs, shape (B, rows).
            reach: Reach of the trees, shape (B,).
        """
        gap: Array = np.sqrt(apply(self.goals, error * error) + (SMOOTHING * reach[:, None]) ** 2)
        return gap

    def find_springs(self, gap: Array) -> Array:
        """Return the stiffness (B, rows) of springs that pull outputs at distances (B, G)."""
        springs: Array = self.springs + apply(self.goals.T, self.forces / gap)
        return springs


def limit_pull(target: Array, output: Array, points: int, pulls: GoalPulls, reach: Array) -> Array:
    """Return targets (rows, B), nearer where they pull from farther than ``MAX_PULL``.

    Args:
        target: Targets of all outputs, shape (rows, B).
        output: The outputs, shape (rows, B).
        points: Count of the first rows, which belong to points, three rows each.
        pulls: The pulls; other targets stay.
        reach: Reach of the trees, shape (B,).
    """
    offset = (target - output)[:points].reshape(points // 3, 3, len(reach))
    distance = np.sqrt((offset**2).sum(axis=1, keepdims=True))
    share = np.minimum(1.0, MAX_PULL * reach / np.maximum(distance, np.finfo(float).tiny))
    limited = target.copy()
    limited[:points] = output[:points] + (share * offset).reshape(points, len(reach))
    return np.where(pulls.goals.any(axis=0)[:, None], limited, target)


class GoalLoads(NamedTuple):
    """The loads on B trees.

    Attributes:
        springs: Springs to the start.
        start_place: Places of the first bones before the descent, shape (3, B).
        target: Targets of all outputs, shape (rows, B).
    """

    springs: StartSprings
    start_place: Array
    target: Array


class GoalEnergyAtPose(PulledEnergyAtPose):
    """The energy of B trees at one pose, with goals that pull with forces and springs."""

    def __init__(self, energy: EnergyAtPose, error: Array, pulls: GoalPulls, reach: Array) -> None:
        """Add the energy of pulls to an energy.

        Args:
            energy: The energy without goals.
            error: Targets minus outputs, shape (B, rows).
            pulls: The pulls of goals.
            reach: Reach of the trees, shape (B,).
        """
        gap = pulls.measure_gaps(error, reach)
        super().__init__(energy, error, pulls.find_springs(gap))
        self._goal_rows, self._error, self._falloff = pulls.goals, error, pulls.forces / gap**3
        # The energy of a force minus that of the spring with the same pull at this distance.
        excess = gap - SMOOTHING * reach[:, None]
        self.total += (0.5 * pulls.forces * excess * excess / gap).sum(axis=1)

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function for second ones, as in ``EnergyAtPose``."""
        slope, curve = super().derive(jacobian)
        # A force does not grow with the distance: it has no stiffness along its direction.
        along = (self._goal_rows * self._error[:, None]) @ jacobian
        softer = along.swapaxes(1, 2) @ (self._falloff[..., None] * along)
        return slope, lambda force: curve(force) - softer


def measure_pulls(
    bones: BoneRows, loads: GoalLoads, pulls: GoalPulls
) -> Callable[[PosedRows, Array], EnergyAtPose]:
    """Return a function of poses and their outputs that returns the energy."""
    start = StartRows(bones, loads.springs, loads.start_place)
    target, reach = chains_first(loads.target), bones.tree.reach
    return lambda posed, output: GoalEnergyAtPose(
        start.measure(posed), target - output, pulls, reach
    )
