"""TWO_BONE: the closed form for a chain of two segments."""

from __future__ import annotations

import numpy as np

from .vectors import Array

SMALLEST_BASE, AT_ROOT, SAME_LENGTH = 1e-15, 1e-6, 1e-12


def solved(lengths: Array, distance: Array) -> Array:
    """Return the joints of two-bone chains whose effector lies at a reachable distance.

    Args:
        lengths: Shape (2, B).
        distance: Root to target, from |l1 - l2| to l1 + l2, shape (B,).

    Returns:
        Joints in the frame of chord and side, shape (3, 3, B).

    Source: law of cosines in space; the elbow's foot on the chord and its height over it are
    written as products of sums, which keeps the triangle closed to rounding near full reach
    (Kahan, "Miscalculating Area and Angles of a Needle-like Triangle", 2014, section 2).
    """
    first, second = lengths
    most = first + second
    # Segments of equal length reach the root itself. The triangle needs a base all the same, and
    # on one so small lengths that differ by rounding would not close it.
    distance = np.maximum(distance, SMALLEST_BASE * most)
    is_pair = (distance < AT_ROOT * most) & (np.abs(first - second) < SAME_LENGTH * most)
    if is_pair.any():
        first, second = (np.where(is_pair, 0.5 * most, length) for length in (first, second))
    difference = first - second
    least = np.abs(difference)
    joints = np.zeros((3, 3, len(distance)))
    joints[1, 0] = 0.5 * distance + difference * most / (2.0 * distance)
    area = (most - distance) * (most + distance) * (distance - least) * (distance + least)
    joints[1, 1] = np.sqrt(np.maximum(area, 0.0)) / (2.0 * distance)
    joints[2, 0] = distance
    return joints
