"""NEWTON for one chain, as ``seed.natural`` and ``newton.step`` do it for many."""

from __future__ import annotations

from math import acos, cos, hypot, pi, sin, sqrt

import numpy as np

from .newton import (
    DAMPING_DECAY,
    DAMPING_GROWTH,
    FIRST_DAMPING,
    LEAST_DAMPING_AFTER_REJECTION,
    MOST_DAMPING,
)
from .seed import (
    ARC_SHARE,
    EVEN_STEPS,
    FULL_MIX_CHANGE,
    INSIDE,
    NEARLY_AT_END,
    NEARLY_STRAIGHT,
    STRAIGHT_AGAINST_ARC,
    UNEVEN_STEPS,
)
from .single_start import SingleStart
from .vectors import Array

# What a product with adds up the three components of every row, quicker than a sum along an axis.
XYZ = np.ones(3)


def solved(
    start: SingleStart, distance: float, tolerance: float, iterations: int
) -> tuple[Array, int]:
    """Return joints in the frame of the bend, shape (n + 1, 3), and the iterations used.

    Args:
        start: The start pose.
        distance: From root to target, within reach.
        tolerance: Accepted distance from effector to target.
        iterations: Cap.
    """
    lengths, columns, total = start.lengths, start.columns, start.squares
    directions = start.directions
    ex, ey, ez = _error(lengths, directions, distance)
    error = sqrt(ex * ex + ey * ey + ez * ez)
    if error > tolerance:
        directions = _natural(start, distance)
        ex, ey, ez = _error(lengths, directions, distance)
        error = sqrt(ex * ex + ey * ey + ez * ez)
    used, damping = 0, FIRST_DAMPING
    while error > tolerance and used < iterations and damping < MOST_DAMPING:
        segments = directions * columns
        regularised = total * (1.0 + damping * error / start.reach * (2.0 / 3.0))
        multiplier = _multiplier(segments.T.dot(segments).tolist(), regularised, ex, ey, ez)
        trial = start.square_columns * multiplier
        trial -= segments * segments.dot(multiplier)[:, None]
        quarter = (trial * trial).dot(XYZ) * start.quarters
        trial += segments * (1.0 - quarter)[:, None]
        trial /= np.sqrt((trial * trial).dot(XYZ))[:, None]
        tx, ty, tz = _error(lengths, trial, distance)
        trial_error = sqrt(tx * tx + ty * ty + tz * tz)
        used += 1
        if trial_error < error:
            directions, error, ex, ey, ez = trial, trial_error, tx, ty, tz
            damping *= DAMPING_DECAY
        else:
            damping = max(damping * DAMPING_GROWTH, LEAST_DAMPING_AFTER_REJECTION)
    joints = np.zeros((start.count + 1, 3))
    np.cumsum(directions * columns, axis=0, out=joints[1:])
    return joints, used


def _error(lengths: Array, directions: Array, distance: float) -> tuple[float, float, float]:
    x, y, z = lengths.dot(directions).tolist()
    return distance - x, -y, -z


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


def _natural(start: SingleStart, distance: float) -> Array:
    arc_x, arc_y = _even_bend(start, distance)
    share = _share_of_arc(start, distance, abs(float(start.after.dot(arc_y))))
    mixed = start.directions * (1.0 - share)
    mixed[:, 0] += share * arc_x
    mixed[:, 1] += share * arc_y
    size = np.sqrt((mixed * mixed).dot(XYZ))
    if size.min() > 1e-14:
        mixed /= size[:, None]
        return mixed
    has_direction = size > 1e-14
    mixed /= np.where(has_direction, size, 1.0)[:, None]
    arc = np.column_stack((arc_x, arc_y, np.zeros_like(arc_x)))
    return np.where(has_direction[:, None], mixed, arc)


def _share_of_arc(start: SingleStart, distance: float, wanted: float) -> float:
    reach = start.reach
    is_far = _smooth(abs(distance - start.distance) / reach / FULL_MIX_CHANGE)
    to_fold = (distance - start.least) / reach if start.least > 0.0 else 1.0
    is_at_end = 1.0 - _smooth(min(to_fold, (reach - distance) / reach) / NEARLY_AT_END)
    ruled = start.longest / max(reach - start.longest, 1e-300)
    is_ruled = _smooth((ruled - 0.5) / 0.5)
    led = 1.0 - (1.0 - is_at_end) * (1.0 - is_ruled)
    share = is_far * (ARC_SHARE + (1.0 - ARC_SHARE) * led)
    is_bent = _smooth(start.bulge / max(STRAIGHT_AGAINST_ARC * wanted, 1e-12 * reach))
    return 1.0 - (1.0 - share) * is_bent


def _smooth(s: float) -> float:
    s = 0.0 if s < 0.0 else 1.0 if s > 1.0 else s
    return s * s * (3.0 - 2.0 * s)


def _even_bend(start: SingleStart, distance: float) -> tuple[Array, Array]:
    lengths, longest, rest = start.lengths, start.longest, start.reach - start.longest
    is_ruled = longest >= rest
    if is_ruled:
        cosine = (longest**2 + rest**2 - distance**2) / (2.0 * longest * max(rest, 1e-300))
        turn = np.full(start.count, pi - acos(max(-1.0, min(1.0, cosine))))
        turn[start.first_longest] = 0.0
    else:
        turn = start.steps * _even_turn(start, distance)
    x, y = np.cos(turn), np.sin(turn)
    along, aside = float(lengths.dot(x)), float(lengths.dot(y))
    size = hypot(along, aside)
    along, aside = (along / size, aside / size) if size > 1e-12 else (1.0, 0.0)
    planar_x, planar_y = x * along + y * aside, y * along - x * aside
    return planar_x, -planar_y if is_ruled and planar_y[0] < 0.0 else planar_y


def _even_turn(start: SingleStart, distance: float) -> float:
    count = start.count
    if count == 1:
        return 0.0
    ratio = distance / start.reach
    missing = max(1.0 - ratio, 0.0)
    near = 6.0 / (1.0 - 1.0 / count**2)
    half = sqrt(missing * (near + (pi**2 - near) * missing))
    if missing > NEARLY_STRAIGHT:
        for _ in range(EVEN_STEPS):
            error = sin(half) - ratio * count * sin(half / count)
            half -= error / (cos(half) - ratio * cos(half / count))
    turn = 2.0 * half / count
    return turn if start.is_even else _uneven_turn(start, distance, turn)


def _uneven_turn(start: SingleStart, distance: float, guess: float) -> float:
    lengths, steps = start.lengths, start.steps
    least = abs(complex(lengths.dot(np.exp(1j * steps * start.closing))))
    if distance <= least:
        return start.closing
    low, high = 0.0, start.closing
    turn = min(guess, INSIDE * high)
    wanted = sqrt(max(distance - least, 0.0))
    for _ in range(UNEVEN_STEPS):
        segments = lengths * np.exp(1j * steps * turn)
        chord, rate = complex(segments.sum()), 1j * complex(steps.dot(segments))
        size = abs(chord)
        root = sqrt(max(size - least, 0.0))
        if root > wanted:
            low = turn
        else:
            high = turn
        slope = (chord.conjugate() * rate).real / max(2.0 * size * root, 1e-12)
        turn -= (root - wanted) / (slope if slope < 0.0 else -1e-300)
        if not low <= turn <= high:
            turn = 0.5 * (low + high)
    return turn
