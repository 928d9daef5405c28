"""The distance of poses from their start, as the energy of springs between the two.

A joint with less mobility has a stiffer spring, and a first bone that floats has a spring as well.
A turn by an angle a costs 4 - 4 cos(a / 2): half its square if it is small, like a spring, and
convex up to half a turn. The quaternion of the turn gives both the pull and the stiffness.

Source: derived for this project, and tested against differences in
tests/core/equilibrium/test_start_springs.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, chains_first
from ..algebra.quaternions import BASIS
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import EnergyAtPose
from ..descent.posed_rows import PosedRows
from ..kinematics.kinematic_tree import KinematicTree


class StartSprings(NamedTuple):
    """The springs of B trees.

    Attributes:
        from_start: Matrices (n, 4, 4, B) from turns to turns relative to the start.
        stiffness: Stiffness, shape (n, B); of the spring to its place for a first bone that floats.
    """

    from_start: Array
    stiffness: Array


class StartRows:
    """The springs of B trees with the chains first, which measure poses."""

    def __init__(self, bones: BoneRows, springs: StartSprings, start_place: Array) -> None:
        """Take springs, and the places of the first bones before the descent, shape (3, B)."""
        self.bones, self.start_place = bones, chains_first(start_place)
        self.from_start, self.stiffness = map(chains_first, springs)

    def measure(self, posed: PosedRows) -> StartEnergyAtPose:
        """Return the energy of the springs at poses."""
        return StartEnergyAtPose(self, posed)


class StartEnergyAtPose(EnergyAtPose):
    """The energy of B trees at one pose."""

    def __init__(self, start: StartRows, posed: PosedRows) -> None:
        self._start, self._posed = start, posed
        turned = apply(start.from_start, posed.turn)
        # A quaternion of either sign is the same turn.
        turned = np.where(turned[..., :1] < 0.0, -turned, turned)
        self._cosines, self._sines = turned[..., 0], turned[..., 1:]
        cost = 4.0 * (self._sines * self._sines).sum(axis=2) / (1.0 + self._cosines)
        if posed.place is not None:
            # The first bone does not turn: its spring holds its place.
            place = posed.place + start.start_place
            self._sines[:, 0], cost[:, 0] = 0.5 * place, 0.5 * (place * place).sum(axis=1)
        self.total: Array = (start.stiffness * cost).sum(axis=1)
        self.is_least: Flags = np.zeros(len(cost), dtype=np.bool_)

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function for second ones, as in ``EnergyAtPose``."""
        stiffness, bones = self._start.stiffness, self._start.bones
        slope = (2.0 * stiffness[..., None] * self._sines).reshape(len(stiffness), -1)
        stiffness_by_axis = np.repeat(stiffness * self._cosines, 3, axis=1)

        def curve(force: Array) -> Array:
            curvature = bones.curve_outputs(self._posed, force, jacobian)
            diagonal = np.einsum("bkk->bk", curvature)
            diagonal += stiffness_by_axis
            return curvature

        return slope, curve


def compile_springs(tree: KinematicTree, start_turn: Array) -> StartSprings:
    """Return the springs to start turns (n, 4, B) of trees."""
    back = turns.conjugate(start_turn)
    units = [np.broadcast_to(np.reshape(axis, (4, 1)), start_turn.shape) for axis in BASIS]
    from_start = np.stack([turns.multiply(unit, back) for unit in units], axis=2)
    return StartSprings(from_start, 1.0 / tree.joints.mobility.mean(axis=1))
