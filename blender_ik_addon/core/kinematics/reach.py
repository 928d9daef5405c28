"""The reach of chains, and the soft distance, which draws targets in before a chain is straight.

A knee straightens with the square root of the distance left to full reach: infinitely fast at the
end, so it pops. The soft distance draws the target in, so that the knee never straightens
completely. Solvers see only the softened target.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Condition, Number
from ..algebra.vectors import Vector, add, choose, norm, scale, subtract

# A dead zone smaller than this share of the chain's length is rounding: segments of equal length.
MIN_DEAD_ZONE = 1e-9
# Largest soft zone, as a share of the way from folded to stretched.
MAX_SOFT_SHARE = 0.5


def measure_reach(lengths: Array) -> tuple[Array, Array]:
    """Return the greatest and smallest distances (B,) that segments (n, B) reach.

    Source: polygon inequality; a dead zone exists if one segment exceeds the sum of the others.
    """
    reach: Array = lengths.sum(axis=0)
    least = 2.0 * lengths.max(axis=0) - reach
    return reach, np.where(least > MIN_DEAD_ZONE * reach, least, 0.0)


def check_reach(
    m: Arithmetic, distance: Number, reach: Number, least: Number
) -> tuple[Condition, Condition]:
    """Tell whether targets are too far, and whether they are too near."""
    is_too_near = (distance <= least) & (least > 0.0)
    return distance >= reach, is_too_near & m.negate(distance >= reach)


def is_soft(soft_distance: float | Array) -> bool:
    """Tell whether any chain has a soft distance."""
    if isinstance(soft_distance, np.ndarray):
        return bool(soft_distance.any())
    return soft_distance > 0.0


def ease_distance(
    m: Arithmetic, distance: Number, reach: Number, least: Number, soft: Number
) -> Number:
    """Return the distance to which a target is drawn in.

    Source: Nicholas, "Soft IK", softimageblog 2009: D below a = L - s stays. Beyond a it becomes
    a + s (1 - exp((a - D) / s)), which has the same slope at a and stays below L. Then the bend of
    two bones never turns faster than the root of L / (2 l1 l2 s).
    """
    zone = m.minimum(soft, MAX_SOFT_SHARE * (reach - least))
    first = reach - zone
    # Zero before the zone, where the exponential could overflow.
    past = m.divide(m.maximum(distance - first, 0.0), zone)
    near = first + zone * (1.0 - m.exp(-past))
    return m.where(past > 0.0, m.minimum(near, distance), distance)


def soften_target(
    m: Arithmetic, root: Any, target: Any, reach: Number, least: Number, soft: Number
) -> tuple[Vector, Number, Condition]:
    """Return a target drawn toward the root, by what distance, and whether it is out of reach."""
    offset = subtract(target, root)
    distance = norm(m, offset)
    near = ease_distance(m, distance, reach, least, soft)
    moved = add(root, scale(offset, m.divide(near, distance)))
    return choose(m, near < distance, moved, target), distance - near, distance >= reach


def distances_in_reach(lengths: Array, distance: Array, soft_distance: Array) -> Array:
    """Return the distances of effectors from their roots for targets not too near, (B,).

    Args:
        lengths: Lengths of the segments, shape (B, n).
        distance: Distances from roots to targets, shape (B,).
        soft_distance: As in ``SolveOptions``.
    """
    most, least = measure_reach(lengths.T)
    near: Array = ease_distance(ARRAYS, distance, most, least, soft_distance)
    return np.minimum(near, most)
