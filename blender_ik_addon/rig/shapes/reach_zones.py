"""How far from its root a chain reaches, and what it cannot fold below."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Array
from ...core.kinematics.reach import measure_reach

# The least dead zone, as a share of the reach: bones of one length differ by less in float32.
SMALLEST = 1e-5


class ReachZone(NamedTuple):
    """Where targets are in reach: between two spheres about one centre.

    Attributes:
        centre: World space, shape (3,).
        most: Radius of the outer sphere.
        least: Radius of the inner sphere, the dead zone; zero for none.
    """

    centre: Array
    most: float
    least: float


def find_reach(points: Array, *, turns_tip_first: bool = False) -> ReachZone:
    """Return which targets a chain reaches, whatever its limits.

    Args:
        points: Its joints as they stand, world space, shape (m + 1, 3).
        turns_tip_first: Whether the tip takes the target's rotation before the others reach: then
            it goes along with the target and does not reach itself.
    """
    segments = points[1:] - points[:-1]
    centre = points[0]
    if turns_tip_first and len(segments) > 1:
        centre = centre + segments[-1]
        segments = segments[:-1]
    most, least = measure_reach(np.sqrt(np.einsum("ij,ij->i", segments, segments))[:, None])
    has_dead_zone = least[0] > SMALLEST * most[0]
    return ReachZone(centre, float(most[0]), float(least[0]) if has_dead_zone else 0.0)
