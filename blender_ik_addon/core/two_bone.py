"""TWO_BONE: the closed form for a chain of two segments."""

from __future__ import annotations

import numpy as np

from .vectors import Array

SMALLEST_BASE, AT_ROOT, SAME_LENGTH = 1e-15, 1e-6, 1e-12


def solved(lengths: Array, chord: Array, side: Array, distance: Array) -> Array:
    """Return the joints of two-bone chains whose effector lies at a reachable distance.

    Args:
        lengths: Shape (2, B).
        chord: Unit directions from root to target, shape (3, B).
        side: Unit directions across the chord that the elbow lies in, shape (3, B).
        distance: Root to target, from |l1 - l2| to l1 + l2, shape (B,).

    Returns:
        Joints relative to the root, shape (3, 3, B).

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
    first, second = (np.where(is_pair, 0.5 * most, length) for length in (first, second))
    least = np.abs(first - second)
    foot = 0.5 * distance + (first - second) * most / (2.0 * distance)
    area = (most - distance) * (most + distance) * (distance - least) * (distance + least)
    height = np.sqrt(np.maximum(area, 0.0)) / (2.0 * distance)
    elbow = foot * chord + height * side
    return np.stack((np.zeros_like(elbow), elbow, distance * chord))
