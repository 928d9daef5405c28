"""The zone of targets that a chain reaches, and the plane in which its pole bends it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import FLOATS, Array
from ...core.algebra.quaternions import about, rotate
from ...core.algebra.vectors import add, norm, reject, scale, subtract
from ...core.kinematics.reach import measure_reach

# Least radius of a dead zone, as a share of the reach: equal lengths differ by less in float32.
MIN_DEAD_ZONE_SHARE = 1e-5


class ReachZone(NamedTuple):
    """The zone of targets in reach, between two spheres about one centre.

    Attributes:
        centre: World space, shape (3,).
        most: Radius of the outer sphere.
        least: Radius of the inner sphere, the dead zone; zero for none.
    """

    centre: Array
    most: float
    least: float


def find_reach(points: Array, *, turns_tip_first: bool) -> ReachZone:
    """Return the zone of targets that a chain reaches, regardless of its limits.

    Its joints are in world space, shape (m + 1, 3). If the tip takes the target's rotation before
    the other bones reach, it moves with the target and does not reach itself.
    """
    segments = points[1:] - points[:-1]
    centre = points[0]
    if turns_tip_first and len(segments) > 1:
        centre = centre + segments[-1]
        segments = segments[:-1]
    most, least = measure_reach(np.sqrt(np.einsum("ij,ij->i", segments, segments))[:, None])
    has_dead_zone = least[0] > MIN_DEAD_ZONE_SHARE * most[0]
    return ReachZone(centre, float(most[0]), float(least[0]) if has_dead_zone else 0.0)


# Least distance of a pole from the line root to end, as a share of it: nearer ones give no side.
MIN_POLE_SHARE = 1e-6
WORLD_UP = (0.0, 0.0, 1.0)


class PolePlane(NamedTuple):
    """The plane in which the pole bends a chain; all points in world space.

    Attributes:
        corners: The root, the end, and the pole turned by the pole angle about the line from root
            to end, shape (3, 3). They span the plane.
        pole: The pole, shape (3,).
        bulge: The joint farthest from that line, shape (3,).
    """

    corners: Array
    pole: Array
    bulge: Array


def find_pole_plane(points: Array, end: Array, pole: Array, angle: float) -> PolePlane:
    """Return the plane of a chain with joints (m + 1, 3) and a pole (3,), in world space.

    ``end`` is its target, or the effector of a chain without one, shape (3,). The pole angle is in
    radians, counter-clockwise seen from the end.
    """
    # For three points floats are faster than NumPy.
    root, end_point, pole_point = points[0].tolist(), end.tolist(), pole.tolist()
    line = subtract(end_point, root)
    length = norm(FLOATS, line)
    along = scale(line, 1.0 / length) if length > 0.0 else WORLD_UP
    offset = reject(subtract(pole_point, root), along)
    corner, distance = subtract(pole_point, offset), norm(FLOATS, offset)
    if distance > MIN_POLE_SHARE * max(length, distance):
        corner = add(corner, rotate(about(FLOATS, along, angle), offset))
    inner = points[1:-1] if len(points) > 2 else points[:1]
    offsets, axis = inner - points[0], np.array(along)
    heights = offsets - (offsets @ axis)[:, None] * axis
    bulge = inner[np.einsum("pi,pi->p", heights, heights).argmax()]
    return PolePlane(np.array((root, end_point, corner)), pole, bulge)
