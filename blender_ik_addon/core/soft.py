"""Soft distance: targets near full reach are moved toward the root before anything is solved.

A knee straightens with the square root of what is left to full reach, infinitely fast at the end:
it pops. Brought toward a target that recedes more and more slowly, it never gets there. No solver
knows of it.
"""

from __future__ import annotations

from math import exp

import numpy as np

from .reach import min_reach
from .vectors import Array, Flags, norm

# The soft zone takes no more than this share of what lies between folded and stretched.
LARGEST_ZONE = 0.5


def is_soft(soft_distance: float | Array) -> bool:
    """Tell whether any chain has a soft distance, at the least cost."""
    if isinstance(soft_distance, np.ndarray):
        return bool(soft_distance.any())
    return soft_distance > 0.0


def eased(distance: Array, most: Array, least: Array, soft: float | Array) -> Array:
    """Return the distances at which targets are solved for, shape (B,).

    Args:
        distance: From root to target, shape (B,).
        most: Farthest reach, shape (B,).
        least: Distance below which a chain cannot fold, shape (B,).
        soft: The soft distances, one for all or shape (B,).

    Source: Nicholas, "Soft IK", softimageblog 2009: D below a = L - s stays, beyond it becomes
    a + s (1 - exp((a - D) / s)), which meets it with the same slope and stays below L. The bend of
    two bones then never turns faster than the root of L / (2 l1 l2 s).
    """
    zone = np.minimum(soft, LARGEST_ZONE * (most - least))
    first = most - zone
    divisor = np.where(zone > 0.0, zone, 1.0)
    # Beyond the zone alone: inside, the exponential could overflow.
    past = np.maximum(distance - first, 0.0) / divisor
    near = first + zone * (1.0 - np.exp(-past))
    result: Array = np.where((past > 0.0) & (zone > 0.0), np.minimum(near, distance), distance)
    return result


def eased_alone(distance: float, most: float, least: float, soft: float) -> float:
    """Return the distance at which one target is solved for; as ``eased``."""
    zone = min(soft, LARGEST_ZONE * (most - least))
    first = most - zone
    if distance <= first or zone <= 0.0:
        return distance
    return min(first + zone * (1.0 - exp((first - distance) / zone)), distance)


def softened(
    roots: Array, targets: Array, most: Array, least: Array, soft: float | Array
) -> tuple[Array, Array, Flags]:
    """Return moved targets (3, B), how far each was moved (B,), and which are out of reach (B,).

    Args:
        roots: Shape (3, B).
        targets: Shape (3, B).
        most: As for ``eased``, as what follows.
        least: Shape (B,).
        soft: One for all or shape (B,).
    """
    offsets = targets - roots
    distance = norm(offsets)
    near = eased(distance, most, least, soft)
    share = near / np.where(distance > 0.0, distance, 1.0)
    moved = np.where(near < distance, roots + share * offsets, targets)
    return moved, distance - near, distance >= most


def distance_in_reach(lengths: Array, distance: float, soft_distance: float = 0.0) -> float:
    """Return how far from its root a chain brings the effector for a target that is not too near.

    Args:
        lengths: Of the segments, shape (n,).
        distance: From root to target.
        soft_distance: As in ``SolveOptions``.
    """
    most = float(lengths.sum())
    least = float(min_reach(lengths[:, None])[0])
    return min(eased_alone(distance, most, least, soft_distance), most)
