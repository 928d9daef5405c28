"""NEWTON's step for one chain in space, as ``newton.step`` takes it for many."""

from __future__ import annotations

from math import sqrt

import numpy as np

from .single_start import Complex, SingleStart, Vector
from .vectors import NO_DIRECTION, Array

# What a product with adds up the three components of every row, quicker than a sum along an axis.
XYZ = np.ones(3)


def first(start: SingleStart) -> Array:
    """Return the unit directions of the start pose, shape (n, 3)."""
    return start.directions


def mixed(start: SingleStart, arc: Complex, share: float) -> Array:
    """Return the directions of the start pose mixed with a share of an arc, shape (n, 3)."""
    blend = start.directions * (1.0 - share)
    blend[:, 0] += share * arc.real
    blend[:, 1] += share * arc.imag
    size = np.sqrt((blend * blend).dot(XYZ))
    if size.min() > NO_DIRECTION:
        blend /= size[:, None]
        return blend
    has_direction = size > NO_DIRECTION
    blend /= np.where(has_direction, size, 1.0)[:, None]
    bent = np.column_stack((arc.real, arc.imag, np.zeros_like(size)))
    return np.where(has_direction[:, None], blend, bent)


def gap(start: SingleStart, directions: Array, distance: float) -> tuple[float, Vector]:
    """Return the distance from effector to target, and the vector between."""
    x, y, z = start.lengths.dot(directions).tolist()
    x = distance - x
    return sqrt(x * x + y * y + z * z), (x, -y, -z)


def turned(start: SingleStart, directions: Array, gap: Vector, regularised: float) -> Array:
    """Return the directions after a step, shape (n, 3)."""
    segments = directions * start.columns
    multiplier = _multiplier(segments.T.dot(segments).tolist(), regularised, *gap)
    trial = start.square_columns * multiplier
    trial -= segments * segments.dot(multiplier)[:, None]
    quarter = (trial * trial).dot(XYZ) * start.quarters
    trial += segments * (1.0 - quarter)[:, None]
    trial /= np.sqrt((trial * trial).dot(XYZ))[:, None]
    return trial


def _multiplier(
    squares: list[list[float]], regularised: float, ex: float, ey: float, ez: float
) -> Array:
    """Solve the 3x3 system of one step, as ``newton._solve_symmetric`` does."""
    (sxx, sxy, sxz), (_, syy, syz), (_, _, szz) = squares
    xx, yy, zz, xy, xz, yz = (
        regularised - sxx,
        regularised - syy,
        regularised - szz,
        -sxy,
        -sxz,
        -syz,
    )
    axx, axy, axz = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    ayy, ayz, azz = xx * zz - xz * xz, xy * xz - xx * yz, xx * yy - xy * xy
    trace = xx + yy + zz
    divisor = max(xx * axx + xy * axy + xz * axz, 1e-15 * trace * trace * trace)
    ex, ey, ez = ex / divisor, ey / divisor, ez / divisor
    return np.array(
        (
            axx * ex + axy * ey + axz * ez,
            axy * ex + ayy * ey + ayz * ez,
            axz * ex + ayz * ey + azz * ez,
        )
    )
