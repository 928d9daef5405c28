"""NEWTON on directions: a damped Gauss-Newton step on the directions of all segments at once.

It starts from the swung start pose, mixed with an even arc as far as the task bends it. NEWTON
changes the pose as little as it can: from the swung pose alone, a target far inward would crumple
the chain. The arc spreads the bend over all joints. It depends on the start pose and the target
only, so the same frame always gives the same pose.

Segments are arrays (n, 3) for one chain and (n, 3, B) for many; values of one a chain are numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..algebra.arithmetic import Arithmetic, Array, Condition, Number
from ..algebra.nested import choose
from ..algebra.vectors import MIN_LENGTH, Vector, norm, smoothstep, subtract
from ..kinematics.start_pose import StartPose

FIRST_DAMPING = 1e-4
MIN_DAMPING_AFTER_REJECTION = 1e-2
DAMPING_GROWTH = 8.0
DAMPING_DECAY = 0.3
# A step damped more than this moves no segment: the pose is stuck.
MAX_DAMPING = 1e8

# Newton's method on the turn of an even bend: most steps, and tolerance as a share of the reach.
MAX_TURN_STEPS, TURN_TOLERANCE = 10, 1e-9
EVEN_STEPS = 3
# Share of the chain's length: nearer than this to full reach the first guess is exact. A Newton
# step would be worse, because its terms cancel.
MIN_MISSING_REACH = 1e-5
# The first guess is at most this share of the closing turn, where the chord has no slope.
MAX_CLOSING_SHARE = 0.95
# Share of the arc in the mix: less leaves zig-zags far inward, more changes the start pose.
ARC_SHARE = 0.35
# Share of the chain's length: the arc fades in while the chord's length changes by up to this.
FULL_MIX_CHANGE = 0.2
# Share of the arc's bulge: with less offset from its chord a start pose gives no direction.
MIN_OFFSET_TO_BULGE = 0.25
# Share of the chain's length: this near to full reach, or to where its longest segment stops it
# from folding further, the evenly bent pose fades in.
END_FADE = 0.05


def step(
    m: Arithmetic, chain: tuple[Any, ...], state: tuple[Any, ...], target: Vector
) -> tuple[tuple[Any, ...], Number]:
    """Return the state of chains after one iteration, nearer or damped more, and the error.

    A chain is what ``StartPose.newton_terms`` returns. A state is the segments, (n, 3, ...), the
    damping, and what ``find_gap`` returns.

    The unknowns are the unit directions d_i of the segments; the effector is sum(l_i d_i). The
    least change of the directions, weighted by length, that cancels the error e to first order
    solves a 3x3 system, A x = e with A = sum l_i^2 (I - d_i d_i^T), whatever the number of
    segments. Each d_i then turns toward q_i, l_i times the part of x across it, by 2 atan(|q_i| /
    2). This is the Cayley transform; along (1 - t) d_i + q_i with t = |q_i|^2 / 4 it needs no sine.
    Damping in proportion to |e| keeps quadratic convergence.

    Source: derived for this project (Gauss-Newton on a product of spheres, with the Cayley
    transform as its retraction); convergence is tested in
    tests/core/solvers/test_newton_directions.py.
    """
    segments, damping, error, size = state
    lengths, squares, square, reach, ones = chain
    # A third of the trace of sum l_i^2 (I - d_i d_i^T) is two thirds of sum l_i^2.
    diagonal = square * (1.0 + damping * size / reach * (2.0 / 3.0))
    multiplier = np.array(_solve_symmetric(m, m.total(segments, segments), diagonal, error))
    # With segments s_i = l_i d_i, l_i q_i is l_i^2 x - s_i (s_i . x).
    turned: Array = squares[:, None] * multiplier
    turned -= segments * m.project(segments, multiplier)[:, None]
    quarter = 0.25 * m.square(turned) / squares
    turned += segments * (1.0 - quarter)[:, None]
    # Near a straight chain multipliers are so large that rounding changes the lengths of segments.
    turned *= (lengths / np.sqrt(m.square(turned)))[:, None]
    gap = find_gap(m, ones, turned, target)
    is_better = gap[1] < size
    damping = next_damping(m, damping, is_better)
    turned, error, size = choose(is_better, (turned, *gap), (segments, error, size))
    return (turned, damping, error, size), size


def next_damping(m: Arithmetic, damping: Number, is_better: Condition) -> Number:
    """Return the damping after a step that has brought the effector nearer, or has not."""
    more = m.maximum(damping * DAMPING_GROWTH, MIN_DAMPING_AFTER_REJECTION)
    return m.where(is_better, damping * DAMPING_DECAY, more)


def find_gap(m: Arithmetic, ones: Array, segments: Array, target: Vector) -> tuple[Vector, Number]:
    """Return the vector from the effector of segments (n, 3, ...) to the target, and its length."""
    error = subtract(target, m.total(ones, segments))
    return error, norm(m, error)


def _solve_symmetric(
    m: Arithmetic, squares: Array, diagonal: Number, right: Vector | Array
) -> Vector:
    """Solve (diagonal I - squares) x = right, positive semidefinite, by the adjugate."""
    (sxx, sxy, sxz), (_, syy, syz), (_, _, szz) = squares
    xx, yy, zz = diagonal - sxx, diagonal - syy, diagonal - szz
    axx, axy, axz = yy * zz - syz * syz, sxz * syz + sxy * zz, sxy * syz + sxz * yy
    ayy, ayz, azz = xx * zz - sxz * sxz, sxy * sxz + xx * syz, xx * yy - sxy * sxy
    determinant = xx * axx - sxy * axy - sxz * axz
    # A chain along one line cannot move along it: the minimum makes that step finite, not NaN.
    trace = xx + yy + zz
    share = 1.0 / m.maximum(determinant, 1e-15 * trace * trace * trace)
    x, y, z = right[0] * share, right[1] * share, right[2] * share
    return (axx * x + axy * y + axz * z, axy * x + ayy * y + ayz * z, axz * x + ayz * y + azz * z)


def mix_directions(m: Arithmetic, start: StartPose, distance: Number, *, stays_near: bool) -> Array:
    """Return where NEWTON starts: unit directions in the frame of the bend, (n, 3, ...).

    The effector is near the distance of the target from the root, not exactly at it.

    Args:
        m: Arithmetic of the numbers.
        start: The start pose.
        distance: From root to target.
        stays_near: Whether a limb keeps a bend to both sides; otherwise it counts as straight.

    Source: derived for this project; smoothness is measured in tests/core/test_continuity.py.
    """
    along, aside = bend_evenly(m, start, distance)
    offset = start.off_chord if stays_near else start.bulge
    share = _share_arc(m, start, distance, offset, m.absolute(m.total(start.after, aside)))
    mixed: Array = start.directions * (1.0 - share)
    mixed[:, 0] += share * along
    mixed[:, 1] += share * aside
    size = np.sqrt(m.square(mixed))
    if size.min() > MIN_LENGTH:
        mixed /= size[:, None]
        return mixed
    has_direction = size > MIN_LENGTH
    mixed /= np.where(has_direction, size, 1.0)[:, None]
    arc = np.stack((along, aside, np.zeros_like(along)), axis=1)
    return np.where(has_direction[:, None], mixed, arc)


def _share_arc(
    m: Arithmetic, start: StartPose, distance: Number, offset: Number, bulge: Number
) -> Number:
    """Return the share of the arc in the mix, of its bulge and the offset of the start pose."""
    reach, least = start.reach, start.least
    change = smoothstep(m, m.absolute(distance - start.distance) / reach, 0.0, FULL_MIX_CHANGE)
    # Few poses exist near the ends of reach, and the evenly bent one is among them.
    to_fold = m.where(least > 0.0, (distance - least) / reach, 1.0)
    to_end = m.minimum(to_fold, (reach - distance) / reach)
    end_share = 1.0 - smoothstep(m, to_end, 0.0, END_FADE)
    bent_share = 1.0 - (1.0 - end_share) * (1.0 - start.ruled_by_longest)
    share = change * (ARC_SHARE + (1.0 - ARC_SHARE) * bent_share)
    min_offset = m.maximum(MIN_OFFSET_TO_BULGE * bulge, 1e-12 * reach)
    return 1.0 - (1.0 - share) * smoothstep(m, offset, 0.0, min_offset)


def bend_evenly(m: Arithmetic, start: StartPose, distance: Number) -> tuple[Array, Array]:
    """Return chains bent evenly to a distance: directions along chord and side, both (n, ...).

    Chains take the same turn at every joint. The turn fits the distance, or nearly where lengths
    differ and the chain has to close. A chain whose longest segment is longer than the rest
    together becomes a triangle, exactly: that segment, the rest in a straight line, and the chord.
    """
    lengths, longest, rest = start.lengths, start.longest, start.reach - start.longest
    turn = start.turns * _find_turn(m, start, distance)
    is_ruled = longest >= rest
    has_ruled = m.any(is_ruled)
    if has_ruled:
        cosine = longest * longest + rest * rest - distance * distance
        cosine = cosine / (2.0 * longest * m.maximum(rest, 1e-300))
        corner = math.pi - m.acos(cosine)
        turn = np.where(is_ruled, np.where(start.is_longest, 0.0, corner), turn)
    x, y = np.cos(turn), np.sin(turn)
    along, aside = m.total(lengths, x), m.total(lengths, y)
    size = m.sqrt(along * along + aside * aside)
    is_open = size > 1e-12
    along = m.where(is_open, m.divide(along, size), 1.0)
    aside = m.where(is_open, m.divide(aside, size), 0.0)
    x, y = x * along + y * aside, y * along - x * aside
    if has_ruled:
        y *= m.where(is_ruled & (y[0] < 0.0), -1.0, 1.0)
    return x, y


def _find_turn(m: Arithmetic, start: StartPose, distance: Number) -> Number:
    """Return the turn per joint whose arc has the given chord, or the nearest chord there is.

    Newton's method inside a bracket, on the square root of how far the squared chord exceeds its
    minimum: this root has a slope there, while the chord itself may have none.
    """
    count, lengths, min_square = len(start.lengths), start.lengths, start.nearest * start.nearest
    if count == 1:
        return 0.0 * distance
    # First guess: the turn of equal segments, whose chord is sin(half) / sin(half / n) segments.
    ratio, series_factor = distance / start.reach, 6.0 / (1.0 - 1.0 / count**2)
    missing = m.maximum(1.0 - ratio, 0.0)
    half = m.sqrt(missing * (series_factor + (math.pi**2 - series_factor) * missing))
    for _ in range(EVEN_STEPS):
        error, rate = m.sin(half) - ratio * count * m.sin(half / count), m.cos(half)
        step = m.divide(error, rate - ratio * m.cos(half / count))
        half = half - m.where(missing > MIN_MISSING_REACH, step, 0.0)
    turn, goal_root = 2.0 * half / count, m.sqrt(distance * distance - min_square)
    if not m.any(start.is_uneven):
        return turn
    low, high, weighted = 0.0 * turn, start.closing, lengths * start.turns
    turn = m.where(start.is_uneven, m.minimum(turn, MAX_CLOSING_SHARE * high), turn)
    for _ in range(MAX_TURN_STEPS):
        along, aside = np.cos(start.turns * turn), np.sin(start.turns * turn)
        x, y = m.total(lengths, along), m.total(lengths, aside)
        root = m.sqrt(x * x + y * y - min_square)
        is_open = start.is_uneven & (m.absolute(root - goal_root) > TURN_TOLERANCE * start.reach)
        if not m.any(is_open):
            break
        is_low = root > goal_root
        low, high = m.where(is_low, turn, low), m.where(is_low, high, turn)
        slope = x * m.total(weighted, aside) - y * m.total(weighted, along)
        slope = slope / m.maximum(root, 1e-12)
        following = turn + (root - goal_root) / m.where(slope > 0.0, slope, 1e-300)
        is_inside = (following >= low) & (following <= high)
        following = m.where(is_inside, following, 0.5 * (low + high))
        turn = m.where(is_open, following, turn)
    return m.where(start.is_uneven & (distance <= start.nearest), start.closing, turn)
