"""How far poses are from where they start, as the energy of springs between the two.

A joint that turns less readily has a stiffer spring, and a first bone that floats has one as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import chains_first
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.posed_rows import PosedRows
from ..kinematics.kinematic_tree import KinematicTree
from ..model.forces import Forces
from .potential_energy import EnergyAt, EnergyRows, PotentialEnergy, compile_energy


class NearStartAt:
    """The energy of B trees at one pose."""

    def __init__(self, at: EnergyAt, place: Array | None, stiffness: Array) -> None:
        """Take what springs hold, how far the first bones have moved (B, 3), and their springs."""
        self._at, self._place, self._stiffness = at, place, stiffness
        self.total: Array = at.total
        if place is not None:
            self.total = at.total + 0.5 * stiffness * (place * place).sum(axis=1)
        self.is_least: Flags = at.is_least

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        slope, curve = self._at.derive(jacobian)
        place, stiff = self._place, self._stiffness[:, None]
        if place is None:
            return slope, curve
        slope[:, :3] += stiff * place

        def curve_both(force: Array) -> Array:
            whole = curve(force)
            whole[:, :3, :3] += stiff[..., None] * np.eye(3)
            return whole

        return slope, curve_both

    def foresee(self, move: Array) -> bool:
        """Derive from now on as springs act after moves (B, n, 3); tell if any act otherwise."""
        return self._at.foresee(move)


def compile_nearness(tree: KinematicTree, start_turn: Array) -> PotentialEnergy:
    """Return the springs of trees that start with turns (n, 4, B)."""
    stiffness = 1.0 / tree.joints.mobility.mean(axis=1)
    if tree.topology.floats:
        # It does not turn: the spring of its place is another one.
        stiffness[0] = 0.0
    energy = compile_energy(tree, Forces(stiffness.T), start_turn)
    # A limit that is near says nothing of how far the start is.
    even = np.zeros_like(energy.growth_low)
    return replace(energy, growth_low=even, growth_high=even)


def measure_nearness(
    bones: BoneRows, acting: tuple[PotentialEnergy, Array]
) -> Callable[[PosedRows, Array], NearStartAt]:
    """Return the function of it; what acts: springs, and how far first bones have moved (3, B)."""
    energy, moved = EnergyRows(bones, acting[0]), chains_first(acting[1])
    stiffness = 1.0 / bones.tree.joints.mobility[0].mean(axis=0)

    def measure(posed: PosedRows, _output: Array) -> NearStartAt:
        place = None if posed.place is None else posed.place + moved
        return NearStartAt(energy.measure(posed), place, stiffness)

    return measure
