"""NEWTON: a damped Gauss-Newton step on the directions of all segments at once."""

from __future__ import annotations

import numpy as np

from .vectors import Array, Flags, dot, laid, norm

FIRST_DAMPING = 1e-4
LEAST_DAMPING_AFTER_REJECTION = 1e-2
DAMPING_GROWTH = 8.0
# A step damped more than this no longer moves anything: the pose is stuck.
MOST_DAMPING = 1e8
DAMPING_DECAY = 0.3


def step(points: Array, lengths: Array, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the joints after one iteration: better ones, or the same with more damping.

    The unknowns are the unit directions d_i of the segments; the effector is sum(l_i d_i). Least
    change of the directions weighted by length that cancels the error e to first order solves a
    3x3 system, A x = e with A = sum l_i^2 (I - d_i d_i^T), whatever the number of segments; d_i
    then turns toward q_i, l_i times the part of x across it, by 2 atan(|q_i| / 2): the Cayley
    transform, along (1 - t) d_i + q_i with t = |q_i|^2 / 4, needs no sine. Damping in proportion
    to |e| keeps quadratic convergence.

    Args:
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (3, B).
        damping: Shape (B,).

    Returns:
        The new joints, and the damping for the next iteration.

    Source: derived for this project (Gauss-Newton on a product of spheres, with the Cayley
    transform as its retraction); convergence is tested in tests/core/test_newton.py.
    """
    segments = points[1:] - points[:-1]
    error = target - points[-1]
    error_norm = norm(error)
    x, y, z = _solve_symmetric(_system(segments, regularised(lengths, error_norm, damping)), error)
    # With segments s_i = l_i d_i, l_i q_i is l_i^2 x - s_i (s_i . x).
    along = segments[:, 0] * x + segments[:, 1] * y + segments[:, 2] * z
    squares = lengths * lengths
    turned = np.empty_like(segments)
    for axis, component in enumerate((x, y, z)):
        turned[:, axis] = squares * component - segments[:, axis] * along
    quarter = 0.25 * dot(turned, turned) / squares
    turned += segments * (1.0 - quarter)[:, None, :]
    # A chain that lies nearly straight has multipliers so large that rounding shows in lengths.
    turned *= (lengths / norm(turned))[:, None, :]
    moved = laid(turned)
    is_better = norm(target - moved[-1]) < error_norm
    if not is_better.all():
        moved = np.where(is_better, moved, points)
    return moved, next_damping(damping, is_better)


def regularised(lengths: Array, error: Array, damping: Array) -> Array:
    """Return the part of the damped systems' diagonals that is sum l_i^2, shape (B,)."""
    total = np.einsum("nb,nb->b", lengths, lengths)
    # A third of the trace of sum l_i^2 (I - d_i d_i^T) is two thirds of sum l_i^2.
    raised: Array = total * (1.0 + damping * error / lengths.sum(axis=0) * (2.0 / 3.0))
    return raised


def next_damping(damping: Array, is_better: Flags) -> Array:
    """Return the damping after a step that has brought effectors nearer, or has not."""
    return np.where(
        is_better,
        damping * DAMPING_DECAY,
        np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION),
    )


def _system(segments: Array, diagonal: Array) -> tuple[Array, ...]:
    """Return the damped systems' entries xx, yy, zz, xy, xz, yz, each of shape (B,)."""
    axes = segments[:, 0], segments[:, 1], segments[:, 2]
    squares = [diagonal - np.einsum("nb,nb->b", axis, axis) for axis in axes]
    products = [-np.einsum("nb,nb->b", axes[i], axes[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    return (*squares, *products)


def _solve_symmetric(a: tuple[Array, ...], right: Array) -> tuple[Array, Array, Array]:
    """Solve symmetric positive semidefinite 3x3 systems by the adjugate; components of x, (B,)."""
    xx, yy, zz, xy, xz, yz = a
    axx, axy, axz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    ayy, ayz, azz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    determinant = xx * axx + xy * axy + xz * axz
    # A chain along one line cannot move along it: the floor makes that step finite, not NaN.
    trace = xx + yy + zz
    divisor = np.maximum(determinant, 1e-15 * trace * trace * trace)
    x, y, z = right / divisor
    return (
        axx * x + axy * y + axz * z,
        axy * x + ayy * y + ayz * z,
        axz * x + ayz * y + azz * z,
    )
