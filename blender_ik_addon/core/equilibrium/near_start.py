"""How far poses are from where they start, as the energy of springs between the two.

A joint that turns less readily has a stiffer spring, and a first bone that floats has one as well.
A turn by an angle a costs 4 - 4 cos(a / 2): for small ones half a square, as springs do, and convex
up to half a turn and beyond. What it pulls, and how stiff it is, a quaternion tells.

Source: derived for this project, and tested against differences in
tests/core/equilibrium/test_near_start.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import Array, Flags
from ..algebra.chains_first import apply, chains_first
from ..algebra.quaternions import AXES
from ..descent.bone_rows import BoneRows
from ..descent.constrained_step import Curve
from ..descent.descent_settings import Measure
from ..descent.posed_rows import PosedRows
from ..kinematics.kinematic_tree import KinematicTree


class StartSprings(NamedTuple):
    """The springs of B trees.

    Attributes:
        from_start: Matrices (n, 4, 4, B) that make turns from the start of turns.
        stiffness: Shape (n, B); of a first bone that floats that of its place.
    """

    from_start: Array
    stiffness: Array


class StartRows:
    """The springs of B trees, to be measured at poses."""

    def __init__(self, bones: BoneRows, springs: StartSprings, moved: Array) -> None:
        """Take springs, and how far first bones have moved before, shape (3, B)."""
        self.bones, self.moved = bones, chains_first(moved)
        self.from_start, self.stiffness = map(chains_first, springs)

    def measure(self, posed: PosedRows) -> NearStartAt:
        """Return the energy at poses."""
        return NearStartAt(self, posed)


class NearStartAt(Measure):
    """The energy of B trees at one pose."""

    def __init__(self, start: StartRows, posed: PosedRows) -> None:
        """Take springs, and where the trees stand."""
        self._start, self._posed = start, posed
        turned = apply(start.from_start, posed.turn)
        # Both signs are the same turn.
        turned = np.where(turned[..., :1] < 0.0, -turned, turned)
        self._left, self._off = turned[..., 0], turned[..., 1:]
        cost = 4.0 * (self._off * self._off).sum(axis=2) / (1.0 + self._left)
        if posed.place is not None:
            # The first bone does not turn: its spring is that of its place.
            place = posed.place + start.moved
            self._off[:, 0], cost[:, 0] = 0.5 * place, 0.5 * (place * place).sum(axis=1)
        self.total: Array = (start.stiffness * cost).sum(axis=1)
        self.is_least: Flags = np.zeros(len(cost), dtype=np.bool_)

    def derive(self, jacobian: Array) -> tuple[Array, Curve]:
        """Return first derivatives, and a function that returns second ones."""
        stiffness, bones = self._start.stiffness, self._start.bones
        slope = (2.0 * stiffness[..., None] * self._off).reshape(len(stiffness), -1)
        stiff = np.repeat(stiffness * self._left, 3, axis=1)

        def curve(force: Array) -> Array:
            whole = bones.curve_outputs(self._posed, force, jacobian)
            diagonal = np.einsum("bkk->bk", whole)
            diagonal += stiff
            return whole

        return slope, curve


def compile_springs(tree: KinematicTree, start_turn: Array) -> StartSprings:
    """Return the springs of trees that start with turns (n, 4, B)."""
    back = turns.conjugate(start_turn)
    units = [np.broadcast_to(np.reshape(axis, (4, 1)), start_turn.shape) for axis in AXES]
    from_start = np.stack([turns.multiply(unit, back) for unit in units], axis=2)
    return StartSprings(from_start, 1.0 / tree.joints.mobility.mean(axis=1))
