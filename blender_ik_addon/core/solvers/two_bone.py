"""TWO_BONE: the closed form for a chain of two segments."""

from __future__ import annotations

from ..algebra.arithmetic import Arithmetic, Number

# Share of the chain's length: the triangle's base is no shorter than this, because it divides.
MIN_BASE = 1e-15
# Shares of the chain's length. With a base below the first, lengths that differ by less than the
# second count as equal: they differ by rounding, and the triangle would not close.
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
    reach = first + second
    # Segments of equal length reach the root itself; the triangle needs a base even there.
    base = m.maximum(distance, MIN_BASE * reach)
    difference = first - second
    are_equal = (base < MAX_CLOSED_BASE * reach) & (
        m.absolute(difference) < MAX_LENGTH_DIFFERENCE * reach
    )
    difference = m.where(are_equal, 0.0, difference)
    min_reach = m.absolute(difference)
    foot = 0.5 * base + difference * reach / (2.0 * base)
    area = (reach - base) * (reach + base) * (base - min_reach) * (base + min_reach)
    return foot, m.sqrt(area) / (2.0 * base), base
