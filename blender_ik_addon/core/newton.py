"""NEWTON: a damped Gauss-Newton step on the directions of all segments at once."""

from __future__ import annotations

import numpy as np

from .vectors import Array, dot, norm

FIRST_DAMPING = 1e-4
LEAST_DAMPING_AFTER_REJECTION = 1e-2
DAMPING_GROWTH = 8.0
# A step damped more than this no longer moves anything: the pose is stuck.
MOST_DAMPING = 1e8
DAMPING_DECAY = 0.3
# Turning a segment by more than this in one iteration leaves the region where the linear model of
# the step says anything.
LARGEST_TURN = 1.5


def step(points: Array, lengths: Array, target: Array, damping: Array) -> tuple[Array, Array]:
    """Return the joints after one iteration: better ones, or the same with more damping.

    The unknowns are the unit directions d_i of the segments in armature space; the effector is
    sum(l_i d_i). Least change of the directions weighted by length that cancels the error e to
    first order solves a 3x3 system, A x = e with A = sum l_i^2 (I - d_i d_i^T), whatever the
    number of segments; d_i then turns by l_i times the part of x across it, along a great
    circle, so lengths are exact. Damping in proportion to |e| keeps quadratic convergence.

    Args:
        points: Joints relative to the root, shape (n + 1, 3, B).
        lengths: Shape (n, B).
        target: Relative to the root, shape (3, B).
        damping: Shape (B,).

    Returns:
        The new joints, and the damping for the next iteration.

    Source: derived for this project (Gauss-Newton on a product of spheres); convergence is
    tested in tests/core/test_newton.py.
    """
    directions = np.diff(points, axis=0) / lengths[:, None, :]
    error = target - points[-1]
    error_norm = norm(error)
    multiplier = _solve_symmetric(_system(directions, lengths, error_norm, damping), error)
    along = dot(directions, multiplier)
    turn = lengths[:, None, :] * (multiplier - directions * along[:, None, :])
    angle = norm(turn)
    shorten = np.minimum(1.0, LARGEST_TURN / np.maximum(angle.max(axis=0), 1e-300))
    angle = angle * shorten
    # sin(x) / x, which np.sinc gives for x / pi without a special case at zero.
    moved = directions * np.cos(angle)[:, None, :] + turn * (
        shorten * np.sinc(angle / np.pi)[:, None, :]
    )
    moved *= (lengths / norm(moved))[:, None, :]
    trial = np.concatenate((np.zeros_like(points[:1]), np.cumsum(moved, axis=0)))
    is_better = norm(target - trial[-1]) < error_norm
    next_damping = np.where(
        is_better,
        damping * DAMPING_DECAY,
        np.maximum(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION),
    )
    return np.where(is_better, trial, points), next_damping


def _system(directions: Array, lengths: Array, error: Array, damping: Array) -> Array:
    """Return the damped 3x3 systems, shape (3, 3, B)."""
    weighted = lengths[:, None, :] * directions
    squares = np.einsum("nib,njb->ijb", weighted, weighted)
    total = np.sum(lengths * lengths, axis=0)
    # A third of the trace of sum l_i^2 (I - d_i d_i^T) is two thirds of sum l_i^2.
    regularised = total * (1.0 + damping * error / lengths.sum(axis=0) * (2.0 / 3.0))
    system: Array = np.eye(3)[:, :, None] * regularised - squares
    return system


def _solve_symmetric(a: Array, right: Array) -> Array:
    """Solve symmetric positive semidefinite 3x3 systems (3, 3, B) by the adjugate, shape (3, B)."""
    xx, yy, zz, xy, xz, yz = a[0, 0], a[1, 1], a[2, 2], a[0, 1], a[0, 2], a[1, 2]
    axx, axy, axz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    ayy, ayz, azz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    determinant = xx * axx + xy * axy + xz * axz
    # A chain along one line cannot move along it: the floor makes that step finite, not NaN.
    floor = 1e-15 * (xx + yy + zz) ** 3
    x, y, z = right
    solved = np.stack(
        (
            axx * x + axy * y + axz * z,
            axy * x + ayy * y + ayz * z,
            axz * x + ayz * y + azz * z,
        )
    )
    multiplier: Array = solved / np.maximum(determinant, floor)
    return multiplier
