"""TWO_BONE: the closed form for a chain of two segments."""

from __future__ import annotations

from ..algebra.arithmetic import Arithmetic, Number

SMALLEST_BASE, AT_ROOT, SAME_LENGTH = 1e-15, 1e-6, 1e-12


def bend_elbow(
    m: Arithmetic, first: Number, second: Number, distance: Number
) -> tuple[Number, Number, Number]:
    """Return the elbow's foot on the chord, its height over it, and the effector's place on it.

    The distance lies between the difference of both lengths and their sum.

    Source: law of cosines in space; the elbow's foot on the chord and its height over it are
    written as products of sums, which keeps the triangle closed to rounding near full reach (Kahan,
    "Miscalculating Area and Angles of a Needle-like Triangle", 2014, section 2).
    """
    most = first + second
    # Segments of equal length reach the root itself. The triangle needs a base all the same, and
    # on one so small lengths that differ by rounding would not close it.
    base = m.maximum(distance, SMALLEST_BASE * most)
    difference = first - second
    is_pair = (base < AT_ROOT * most) & (m.absolute(difference) < SAME_LENGTH * most)
    difference = m.where(is_pair, 0.0, difference)
    least = m.absolute(difference)
    foot = 0.5 * base + difference * most / (2.0 * base)
    area = (most - base) * (most + base) * (base - least) * (base + least)
    return foot, m.sqrt(area) / (2.0 * base), base
