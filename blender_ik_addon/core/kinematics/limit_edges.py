"""The edges of ranges that joints are on or near to.

Normals are derived for this project and tested in tests/core/kinematics/test_limit_edges.py.
"""

from __future__ import annotations

import re
from functools import cached_property

import numpy as np

from ..algebra.arithmetic import Array, Flags
from ..algebra.vectors import Vector, add, scale
from .swing_twist import LOCKED_WIDTH, RangeArrays, SwingTwist, SwingTwistRange, TurnParts

# A joint nearer to an edge of its range than this, in radians or sines, is on it.
ON_EDGE = 1e-9
# Lower bound of the cosine of half a swing in divisions: half a turn grows in no direction.
MIN_COSINE = 1e-6
# An edge cannot block a joint that turns less than this along its normal, in squares of radians.
LEAST_MOBILITY = 1e-12
# A turn out of a range by less than this, in radians, is rounding.
LEAST_LEAVING = 1e-10
# Lower bound of the growth of a swing along the normal of its edge, in sines per radian: at half a
# turn it stops growing.
LEAST_RATE = 1e-6


class EdgeArrays:
    """The three edges of ranges of joints side by side: those about X, about Y and about Z.

    The edge of an ellipse is the first one.

    Attributes:
        is_near: Whether turns are near to each edge, shape (3, B, n).
        left: Distances to the edges, in radians or sines, shape (3, B, n).
        is_ellipse: Whether the first edge is an ellipse, shape (B, n).
    """

    def __init__(self, ranges: RangeArrays, at: TurnParts, near: float = ON_EDGE) -> None:
        """Find the edges of ranges at turns inside them; ``near`` is the distance of near edges."""
        self._at, up, down = at, ranges.high - at.value, at.value - ranges.low
        self.left, self._is_high, is_on = np.minimum(up, down), up <= down, at.is_round
        # An ellipse bounds a swing more than its box does.
        if ranges.are_round:
            self.is_near = self.left <= np.array([ON_EDGE, near, ON_EDGE])[:, None, None]
        else:
            self.is_near = self.left <= near
            self.is_near[::2] &= ~is_on | (self.left[::2] <= ON_EDGE)
            # If a range ends at its middle, a quarter of an ellipse meets that at a right angle.
            is_middle = np.abs(at.value[::2]) <= ON_EDGE
            ends = is_middle & (np.minimum(ranges.above, ranges.below) <= LOCKED_WIDTH)
            is_on = is_on & ~ends.any(axis=0)
        self.is_ellipse: Flags = is_on & (at.out >= 1.0 - near)
        self.left[0] = np.where(self.is_ellipse, 1.0 - at.out, self.left[0])
        self.is_near[0] |= self.is_ellipse
        self.is_near[2] &= ~self.is_ellipse

    @cached_property
    def shares(self) -> Array:
        """The approach to each edge by growth of s_x, the twist and s_z, (B, n, 3 edges, 3)."""
        at, outward = self._at, np.where(self._is_high, 1.0, -1.0)
        shares = np.zeros((*at.out.shape, 3, 3))
        for edge in range(3):
            shares[..., edge, edge] = outward[edge]
        if self.is_ellipse.any():
            # Growth of the distance from the middle, in half axes of the ellipse, with s_x and s_z.
            grown = at.value[::2] / self._sizes
            shares[..., 0, 0] = np.where(self.is_ellipse, grown[0], outward[0])
            shares[..., 0, 2] = np.where(self.is_ellipse, grown[1], 0.0)
        return shares

    @cached_property
    def _sizes(self) -> Array:
        """The squares of half axes of ellipses, times the distance from the middle in these."""
        wide = np.maximum(self._at.half, LOCKED_WIDTH)
        sizes: Array = wide * wide * np.maximum(self._at.out, ON_EDGE)
        return sizes

    @cached_property
    def _growth(self) -> Array:
        """The gradients of s_x, the twist and s_z by turns, shape (B, n, 3, 3).

        The formulas are those of ``grow_parts``.
        """
        spot = self._at.spot
        products = _GROWTH.multiply(spot)
        products *= 0.5 / np.maximum(spot[2], MIN_COSINE)
        return _add_products(_GROWTH.shares, products)

    @cached_property
    def _bending(self) -> Array:
        """The products in the second derivatives of ``bend``, shape (products, B, n)."""
        half = 0.5 / np.maximum(self._at.spot[2], MIN_COSINE)
        products: Array = _BENDING.multiply(self._at.spot) * (half * half)
        return products

    def find_slopes(self) -> Array:
        """Return the gradients, of any length, of the approach to edges by turns, (B, n, 3, 3)."""
        slopes: Array = self.shares @ self._growth
        return slopes

    def bend(self, press: Array) -> Array:
        """Return second derivatives by turns of what the first and last edge bound, (B, n, 3, 3).

        The end of a twist is flat: turns across its normal do not change the twist. With y the
        swung Y axis, along geodesics by turns w, y_k'' = w_k (w . y) - y_k |w|^2; and s_x = h y_z,
        s_z = -h y_x with h = (2 (1 + y_y))^(-1/2) = 1 / 2c. As c^2 + s_x^2 + s_z^2 is one, all
        terms are of the third order in these, over 4 c^2.

        Args:
            press: Weights of the first and the last edge, shape (B, n, 2).

        Source: derived for this project, tested in tests/core/kinematics/test_limit_edges.py.
        """
        weights = (press[..., None] * self.shares[..., ::2, ::2]).sum(axis=2).transpose(2, 0, 1)
        products = self._bending * weights[:, None]
        bent = _add_products(_BENDING_BOTH, products.reshape(-1, *self._at.out.shape))
        if self.is_ellipse.any():
            # The distance from the middle is the root of its square.
            share = press[..., 0] * self.is_ellipse / self._sizes
            by = self._growth[..., ::2, :]
            bent += (by * share.transpose(1, 2, 0)[..., None]).swapaxes(-1, -2) @ by
        return bent


def list_edges(ranges: SwingTwistRange, at: SwingTwist) -> list[tuple[int, Vector]]:
    """Return the edges that one joint is on, and turns of any length that leave its range there.

    As ``EdgeArrays``, in floats.
    """
    left_x, out_x = _find_end(at.offset_x, -ranges.below_x, ranges.above_x)
    left_y, out_y = _find_end(at.twist, ranges.twist_low, ranges.twist_high)
    left_z, out_z = _find_end(at.offset_z, -ranges.below_z, ranges.above_z)
    on_ellipse, on_x, on_z = _is_on_ellipse(ranges, at), left_x <= ON_EDGE, left_z <= ON_EDGE
    if not (on_ellipse or on_x or left_y <= ON_EDGE or on_z):
        return []
    (by_x, by_y, by_z), edges = grow_parts(at), []
    if on_ellipse:
        wide_x, wide_z = max(at.half_x, LOCKED_WIDTH), max(at.half_z, LOCKED_WIDTH)
        grown = scale(by_x, at.offset_x / (wide_x * wide_x * at.out))
        edges.append((0, add(grown, scale(by_z, at.offset_z / (wide_z * wide_z * at.out)))))
    elif on_x:
        edges.append((0, scale(by_x, out_x)))
    if left_y <= ON_EDGE:
        edges.append((1, scale(by_y, out_y)))
    if on_z and not on_ellipse:
        edges.append((2, scale(by_z, out_z)))
    return edges


def _is_on_ellipse(ranges: SwingTwistRange, at: SwingTwist) -> bool:
    """Tell whether one joint is on an ellipse, and not on an end at its middle as well."""
    if not at.is_round or at.out < 1.0 - ON_EDGE:
        return False
    x, z = min(ranges.above_x, ranges.below_x), min(ranges.above_z, ranges.below_z)
    is_middle = abs(at.offset_x) <= ON_EDGE and x <= LOCKED_WIDTH
    return not (is_middle or (abs(at.offset_z) <= ON_EDGE and z <= LOCKED_WIDTH))


def grow_parts(at: SwingTwist) -> tuple[Vector, Vector, Vector]:
    """Return the gradients of s_x, the twist and s_z by turns.

    With c the cosine of half the swing they are ((c^2 - s_z^2) / 2c, s_z, s_x s_z / 2c),
    (-s_z / c, 1, s_x / c) and (s_x s_z / 2c, -s_x, (c^2 - s_x^2) / 2c).

    Source: from the components of the swung Y axis, which change with a turn w by w x y; derived
    for this project, tested in tests/core/kinematics/test_limit_edges.py.
    """
    x, z, half = at.swing_x, at.swing_z, 0.5 / max(at.cosine, MIN_COSINE)
    square, both, twice = at.cosine * at.cosine, x * z * half, half + half
    by_x = (square - z * z) * half, z, both
    return by_x, (-z * twice, 1.0, x * twice), (both, -x, (square - x * x) * half)


def _find_end(value: float, low: float, high: float) -> tuple[float, float]:
    """Return the distance to the nearer end, and 1 if that is the high one, otherwise -1."""
    up, down = high - value, value - low
    return (up, 1.0) if up <= down else (down, -1.0)


class _Polynomials:
    """Polynomials of x, z, c and 1, written o, like 2zxx-zcc, for many joints at once.

    Attributes:
        shares: Coefficients of products in polynomials, shape (polynomials, products).
    """

    def __init__(self, polynomials: str) -> None:
        parsed = [re.findall(r"([+-]?)(\d*)([xzco]+)", text) for text in polynomials.split()]
        products = sorted({product for terms in parsed for _, _, product in terms})
        self.shares = np.zeros((len(parsed), len(products)))
        for shares, terms in zip(self.shares, parsed, strict=True):
            for sign, share, product in terms:
                shares[products.index(product)] += float(f"{sign}{share or 1}")
        self._factors = [list(map("xzco".index, row)) for row in zip(*products, strict=True)]

    def multiply(self, spot: Array) -> Array:
        """Return the products of x, z, c and 1, (4, ...), in the polynomials, (products, ...)."""
        first, *others = (spot.take(factor, axis=0) for factor in self._factors)
        for other in others:
            first *= other
        return first


def _add_products(shares: Array, products: Array) -> Array:
    """Return sums of products (any, B, n) as matrices (B, n, 3, 3).

    By ``matmul``, which takes each chain by itself: rounding of ``einsum`` depends on their number.
    """
    sums = shares @ products.transpose(1, 0, 2)
    return sums.reshape(len(sums), 3, 3, -1).transpose(0, 3, 1, 2)


_GROWTH = _Polynomials("cc-zz 2zc xz  -2zo 2co 2xo  xz -2xc cc-xx")
_BENDING = _Polynomials(
    "-xcc-3xzz 3xzc 2xxz-zzz-zcc  3xzc -4xcc zzc+ccc-2xxc  2xxz-zzz-zcc zzc+ccc-2xxc 2xzz+xcc-xxx "
    "2xxz+zcc-zzz 2zzc-xxc-ccc 2xzz-xxx-xcc  2zzc-xxc-ccc -4zcc -3xzc  2xzz-xxx-xcc -3xzc -zcc-3xxz"
)
_BENDING_BOTH = _BENDING.shares.reshape(2, 9, -1).transpose(1, 0, 2).reshape(9, -1)
