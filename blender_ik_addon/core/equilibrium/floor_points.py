"""Points of trees that must stay above a floor: their heights, and the points as effectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..algebra.arithmetic import Array, Counts, Flags
from ..algebra.arrays import invert
from ..algebra.nested import Rows, repeat_single
from ..kinematics.kinematic_tree import KinematicTree
from ..kinematics.posed import Posed
from ..model.floor import Floor


@dataclass(frozen=True)
class FloorPoints(Rows):
    """F points of B trees, in the units of these.

    Attributes:
        bones: Indices of the bones that carry the points, the same for all trees.
        ends: Points relative to the heads of these bones, in their axes, shape (F, 3, B).
        normal: Direction up from the floor, unit length, shape (3, B).
        level: Height of the floor along the normal, shape (B,).
    """

    bones: tuple[int, ...]
    ends: Array
    normal: Array
    level: Array

    def find_heights(self, tree: KinematicTree, turn: Array) -> Array:
        """Return the heights (F, B) of points above the floor, of trees with turns (n, 4, B)."""
        bones, posed = list(self.bones), tree.pose(turn)
        points = posed.heads[bones] + np.einsum("fijb,fjb->fib", posed.axes[bones], self.ends)
        heights: Array = np.einsum("fib,ib->fb", points, self.normal) - self.level
        return heights

    def take_points(self, points: Sequence[int]) -> FloorPoints:
        """Return some of the points."""
        bones = tuple(self.bones[point] for point in points)
        return replace(self, bones=bones, ends=self.ends[list(points)])

    def as_effectors(self, tree: KinematicTree) -> KinematicTree:
        """Return trees with the points as further effectors."""
        old = tree.topology
        topology = old.with_effectors((*old.effector_bones, *self.bones))
        ends = np.concatenate((tree.ends, self.ends))
        ones = np.ones((len(self.bones), ends.shape[-1]))
        weights = np.concatenate((tree.sqrt_weights, ones))
        return replace(tree, topology=topology, ends=ends, sqrt_weights=weights)


def compile_floor(floor: Floor, start: Posed, root: Array, unit: Array) -> FloorPoints:
    """Return the floor points of trees, in their units.

    Args:
        floor: The floors of B trees.
        start: The start poses, in units from the roots.
        root: Positions of the roots, shape (3, B).
        unit: Units of the trees, shape (B,).
    """
    bones = list(floor.bones)
    points = (np.moveaxis(floor.points, 0, -1) - root) / unit
    ends = np.einsum("fijb,fjb->fib", invert(start.axes[bones]), points - start.heads[bones])
    normal = floor.normal.T / np.sqrt((floor.normal**2).sum(axis=1))
    level = (normal * (floor.origin.T - root)).sum(axis=0) / unit
    return FloorPoints(tuple(floor.bones), ends, normal, level)


def group_by_contacts(rows: Counts, is_on: Flags, normal: Array) -> Iterator[Counts]:
    """Yield trees with equal points on the floor and equal normals of the floor."""
    groups: dict[bytes, list[int]] = {}
    for row in rows.tolist():
        key = is_on[:, row].tobytes() + normal[:, row].tobytes()
        groups.setdefault(key, []).append(row)
    for group in groups.values():
        yield repeat_single(np.array(group), is_on.shape[1])
