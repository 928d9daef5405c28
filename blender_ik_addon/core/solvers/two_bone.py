"""TWO_BONE: the closed form for a chain of two segments."""

from __future__ import annotations

from ..algebra.arithmetic import Arithmetic, Number

# Shares of the length of the chain. The triangle's base is no shorter than this one: it divides.
MIN_BASE = 1e-15
# With a base below the first, lengths that differ by less than the second count as equal: they
# differ by rounding, and the triangle would not close.
MAX_CLOSED_BASE, MAX_LENGTH_DIFFERENCE = 1e-6, 1e-12


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
    # Segments of equal length reach the root itself; the triangle needs a base even there.
    base = m.maximum(distance, MIN_BASE * most)
    difference = first - second
    is_pair = (base < MAX_CLOSED_BASE * most) & (
        m.absolute(difference) < MAX_LENGTH_DIFFERENCE * most
    )
    difference = m.where(is_pair, 0.0, difference)
    least = m.absolute(difference)
    foot = 0.5 * base + difference * most / (2.0 * base)
    area = (most - base) * (most + base) * (base - least) * (base + least)
    return foot, m.sqrt(area) / (2.0 * base), base
