"""The plane that a chain bends in: root, target and pole."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...core.algebra import rotation

Array = npt.NDArray[np.float64]

# Of the distance from root to end: a pole nearer to that line than this tells no side.
NO_SIDE = 1e-6


class PolePlane(NamedTuple):
    """Where a chain is asked to bend to; all points in world space.

    Attributes:
        root: Shape (3,).
        end: The target, or the effector of a chain without one.
        pole: Shape (3,).
        foot: The point of the line from root to end that lies nearest to the pole.
        toward: Unit vector from there to the pole; zero where the pole is on the line.
        bend: The same, turned by the pole angle: where the chain bends to.
        bulge: The joint that lies farthest from the line.
    """

    root: Array
    end: Array
    pole: Array
    foot: Array
    toward: Array
    bend: Array
    bulge: Array

    @property
    def corner(self) -> Array:
        """The pole turned by the pole angle about the line: it spans the plane of the bend."""
        across = self.pole - self.foot
        corner: Array = self.foot + math.sqrt(float(across @ across)) * self.bend
        return corner


def find_pole_plane(points: Array, end: Array, pole: Array, angle: float) -> PolePlane:
    """Return the plane of a chain with a pole.

    Args:
        points: The chain's joints, world space, shape (m + 1, 3).
        end: Its target, shape (3,).
        pole: Shape (3,).
        angle: Pole angle, radians, counter-clockwise seen from the end.
    """
    root, line = points[0], end - points[0]
    length = float(np.linalg.norm(line))
    along = line / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    foot = root + along * ((pole - root) @ along)
    across = pole - foot
    size = float(np.linalg.norm(across))
    toward = across / size if size > NO_SIDE * max(length, size) else np.zeros(3)
    turn = rotation.quaternion_from_axis_angle(np.array([angle, *along]))
    inner = points[1:-1] if len(points) > 2 else points[:1]
    offsets = inner - root
    aside = offsets - np.outer(offsets @ along, along)
    bulge = inner[np.argmax(np.einsum("pi,pi->p", aside, aside))]
    return PolePlane(root, end, pole, foot, toward, rotation.rotate(turn, toward), bulge)
