"""NEWTON's step for chains that lie in planes, where they stay: two components instead of three."""

from __future__ import annotations

import numpy as np

from .newton import next_damping, regularised
from .vectors import Array, laid, norm


def step(points: Array, lengths: Array, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the joints after one iteration, as ``newton.step`` does for chains in space.

    In a plane the Cayley transform turns a segment by twice the angle whose tangent is half of
    what the multiplier turns it by, so lengths need no care.

    Args:
        points: Joints relative to the root, in the planes, shape (n + 1, 2, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (2, B).
        damping: Shape (B,).

    Returns:
        The new joints, and the damping for the next iteration.

    Source: derived for this project; tests/core/test_planar.py holds it to the step in space.
    """
    segments = points[1:] - points[:-1]
    along, aside = segments[:, 0], segments[:, 1]
    error = target - points[-1]
    error_norm = norm(error)
    x, y = _multiplier(along, aside, regularised(lengths, error_norm, damping), error)
    tangent = 0.5 * (along * y - aside * x)
    square = tangent * tangent
    share = 1.0 / (1.0 + square)
    cosine, sine = (1.0 - square) * share, 2.0 * tangent * share
    turned = np.empty_like(segments)
    turned[:, 0] = cosine * along - sine * aside
    turned[:, 1] = sine * along + cosine * aside
    moved = laid(turned)
    is_better = norm(target - moved[-1]) < error_norm
    if not is_better.all():
        moved = np.where(is_better, moved, points)
    return moved, next_damping(damping, is_better)


def _multiplier(along: Array, aside: Array, diagonal: Array, error: Array) -> tuple[Array, Array]:
    """Solve the systems of ``newton.step``, in which the axis across the plane stands alone."""
    xx = diagonal - np.einsum("nb,nb->b", along, along)
    yy = diagonal - np.einsum("nb,nb->b", aside, aside)
    xy = -np.einsum("nb,nb->b", along, aside)
    trace = xx + yy + diagonal
    divisor = np.maximum(diagonal * (xx * yy - xy * xy), 1e-15 * trace * trace * trace)
    x, y = error * (diagonal / divisor)
    return yy * x - xy * y, xx * y - xy * x
