"""The plane that a chain bends in: root, target and pole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import FLOATS, Array
from ...core.algebra.quaternions import about, rotate
from ...core.algebra.vectors import add, norm, reject, scale, subtract

# A pole nearer to the line from root to end than this share of its length gives no side.
NO_SIDE = 1e-6
UP = (0.0, 0.0, 1.0)


class PolePlane(NamedTuple):
    """The plane in which a chain is asked to bend; all points in world space.

    Attributes:
        corners: The root, the end, and the pole turned by the pole angle about the line between
            these, shape (3, 3). They span the plane.
        pole: Shape (3,).
        bulge: The joint that lies farthest from that line, shape (3,).
    """

    corners: Array
    pole: Array
    bulge: Array


def find_pole_plane(points: Array, end: Array, pole: Array, angle: float) -> PolePlane:
    """Return the plane of a chain with a pole.

    Args:
        points: The chain's joints, world space, shape (m + 1, 3).
        end: Its target, shape (3,), or the effector of a chain without one.
        pole: Shape (3,).
        angle: Pole angle, radians, counter-clockwise seen from the end.
    """
    # For three points floats are faster than NumPy.
    root, aim, aside = points[0].tolist(), end.tolist(), pole.tolist()
    line = subtract(aim, root)
    length = norm(FLOATS, line)
    along = scale(line, 1.0 / length) if length > 0.0 else UP
    across = reject(subtract(aside, root), along)
    corner, size = subtract(aside, across), norm(FLOATS, across)
    if size > NO_SIDE * max(length, size):
        corner = add(corner, rotate(about(FLOATS, along, angle), across))
    inner = points[1:-1] if len(points) > 2 else points[:1]
    offsets, axis = inner - points[0], np.array(along)
    heights = offsets - (offsets @ axis)[:, None] * axis
    bulge = inner[np.einsum("pi,pi->p", heights, heights).argmax()]
    return PolePlane(np.array((root, aim, corner)), pole, bulge)
