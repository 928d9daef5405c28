"""Points of trees that do not pass a floor, and which of them are pressed on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..algebra.arithmetic import Array
from ..algebra.arrays import invert
from ..algebra.nested import Rows
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed
from ..model.floor import Floor


@dataclass(frozen=True)
class FloorPoints(Rows):
    """F points of B trees, in the units of these.

    Attributes:
        bones: That carry them.
        ends: From the heads of these bones, in their axes, shape (F, 3, B).
        normal: Up from the floor, unit length, shape (3, B).
        level: Of the floor along that, shape (B,).
    """

    bones: tuple[int, ...]
    ends: Array
    normal: Array
    level: Array

    def find_heights(self, tree: KinematicTree, turn: Array) -> Array:
        """Return how high above the floor points are, (F, B), of trees turned so (n, 4, B)."""
        own, posed = list(self.bones), tree.pose(turn)
        points = posed.heads[own] + np.einsum("fijb,fjb->fib", posed.whole[own], self.ends)
        heights: Array = np.einsum("fib,ib->fb", points, self.normal) - self.level
        return heights

    def take_points(self, points: Sequence[int]) -> FloorPoints:
        """Return some of the points."""
        bones = tuple(self.bones[point] for point in points)
        return replace(self, bones=bones, ends=self.ends[list(points)])

    def as_effectors(self, tree: KinematicTree) -> KinematicTree:
        """Return trees that have the points as further effectors."""
        old = tree.topology
        topology = old.with_effectors((*old.effector_bones, *self.bones))
        ends = np.concatenate((tree.ends, self.ends))
        alike = np.ones((len(self.bones), ends.shape[-1]))
        weights = np.concatenate((tree.sqrt_weights, alike))
        return replace(tree, topology=topology, ends=ends, sqrt_weights=weights)


def compile_floor(floor: Floor, start: Posed, root: Array, unit: Array) -> FloorPoints:
    """Return the points on the bones of trees.

    Args:
        floor: Of B trees.
        start: Their start poses, in units from their roots.
        root: Where roots are, shape (3, B).
        unit: Shape (B,).
    """
    own = list(floor.bones)
    points = (np.moveaxis(floor.points, 0, -1) - root) / unit
    ends = np.einsum("fijb,fjb->fib", invert(start.whole[own]), points - start.heads[own])
    normal = floor.normal.T / np.sqrt((floor.normal**2).sum(axis=1))
    level = (normal * (floor.origin.T - root)).sum(axis=0) / unit
    return FloorPoints(tuple(floor.bones), ends, normal, level)
