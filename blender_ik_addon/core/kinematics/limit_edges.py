"""The edges of ranges that joints of many chains stand on, and what turns they leave.

Layout as in ``arrays``: turns (..., 4, B), mobilities (..., 3, 3, B).

Normals are derived for this project and tested in tests/core/kinematics/test_limit_edges.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.arrays import norm
from ..algebra.nested import Rows, join
from ..algebra.vectors import Vector, add, choose, scale
from .swing_twist import HELD, SwingTwist, SwingTwistRange

# A joint nearer to an edge of its range than this, in radians or sines, stands on it.
ON_EDGE = 1e-9
# A swing by half a turn has no direction in which it grows.
LEAST_COSINE = 1e-6
# What turns less than this, in squares of radians, along a normal cannot be blocked there.
LEAST_MOBILITY = 1e-12
# A turn out of a range by less than this, in radians, is rounding.
LEAST_LEAVING = 1e-10
# What bounds a swing grows no less than this along the normal of its edge, in sines a radian: at
# half a turn it stops growing.
LEAST_RATE = 1e-6


@dataclass(frozen=True)
class Edges(Rows):
    """The edges of ranges that joints stand on: those about X, about Y and about Z.

    Attributes:
        normals: Unit vectors along which a turn would leave the range, in the axes before the
            joint's own turn, shape (..., 3 edges, 3, B). That of an ellipse is the first.
        is_on: Which edges joints stand on, shape (..., 3 edges, B).
    """

    normals: Array
    is_on: Flags

    def along(self, vector: Array) -> Array:
        """Return vectors (n, 3, B) along the normals, shape (n, 3 edges, B)."""
        along: Array = np.einsum("neib,nib->neb", self.normals, vector)
        return along

    def block(self, mobility: Array, is_kept: Flags) -> Array:
        """Return mobilities (n, 3, 3, B) that leave no turn across the edges kept to."""
        for edge in np.flatnonzero(is_kept.any(axis=(0, 2))):
            mobility = block_normals(mobility, self.normals[:, edge], is_kept[:, edge])
        return mobility

    def find_pressed(self, is_kept: Flags, pull: Array, move: Array) -> Flags:
        """Return the edges to keep to, (n, 3 edges, B): an active set, one pass on.

        Of those kept to the ones that pulls (n, 3, B) press on; of the others those that turns
        (n, 3, B) cross.
        """
        presses = self.along(pull) > -LEAST_LEAVING
        crosses = self.along(move) > LEAST_LEAVING
        pressed: Flags = self.is_on & np.where(is_kept, presses, crosses)
        return pressed


class ListedEdges(NamedTuple):
    """The three edges of ranges: about X, about Y and about Z; that of an ellipse is the first.

    Which of them turns are near to, and what is left to each, in radians or sines. What falls as
    they are neared: of the first s_x and s_z in shares, then the twist and s_z in theirs, which are
    1 or -1. Whether the first is an ellipse.
    """

    is_near: tuple[Condition, Condition, Condition]
    left: tuple[Number, Number, Number]
    shares: tuple[Number, Number, Number, Number]
    is_ellipse: Condition

    def find_slopes(self, m: Arithmetic, at: SwingTwist) -> tuple[Vector, Vector, Vector]:
        """Return the turns, of any length, by which what is left to each edge falls at once."""
        (by_x, by_y, by_z), (first_x, first_z, of_y, of_z) = grow_parts(m, at), self.shares
        first = add(scale(by_x, first_x), scale(by_z, first_z))
        return first, scale(by_y, of_y), scale(by_z, of_z)


def find_edges(ranges: SwingTwistRange, at: SwingTwist, near: float = ON_EDGE) -> Edges:
    """Return the edges of their ranges that turns stand on, or are as near to as given."""
    listed = list_edges(ARRAYS, ranges, at, near)
    is_on: Flags = join(listed.is_near).astype(np.bool_)
    if not is_on.any():
        return Edges(np.zeros((*is_on.shape[:-1], 3, is_on.shape[-1])), is_on)
    slopes = np.stack([join(each) for each in listed.find_slopes(ARRAYS, at)], axis=-3)
    normals = slopes / np.maximum(norm(slopes), LEAST_RATE)[..., None, :]
    return Edges(normals * is_on[..., None, :], is_on)


def list_edges(
    m: Arithmetic, ranges: SwingTwistRange, at: SwingTwist, near: float = ON_EDGE
) -> ListedEdges:
    """Return the edges of ranges, and whether turns taken apart are as near to them as given."""
    left_x, first_x = _find_end(m, at.offset_x, -ranges.below_x, ranges.above_x)
    left_y, of_y = _find_end(m, at.twist, ranges.twist_low, ranges.twist_high)
    left_z, of_z = _find_end(m, at.offset_z, -ranges.below_z, ranges.above_z)
    first_z, on_ellipse = 0.0 * first_x, at.is_round
    # An ellipse bounds more than its box does.
    by = near if near == ON_EDGE else m.where(at.is_round, ON_EDGE, near)
    on_x, on_z = left_x <= by, left_z <= by
    if m.any(at.is_round):
        # Where a range ends at its middle, a quarter of an ellipse meets that end at a right angle.
        x, z = m.minimum(ranges.above_x, ranges.below_x), m.minimum(ranges.above_z, ranges.below_z)
        at_corner = (m.absolute(at.offset_x) <= ON_EDGE) & (x <= HELD)
        at_corner = at_corner | (m.absolute(at.offset_z) <= ON_EDGE) & (z <= HELD)
        on_ellipse = at.is_round & (at.out >= 1.0 - near) & m.negate(at_corner)
        first_x, first_z = choose(m, on_ellipse, _share_outward(m, at), (first_x, first_z))
        left_x = m.where(on_ellipse, 1.0 - at.out, left_x)
        on_x, on_z = on_ellipse | on_x, on_z & m.negate(on_ellipse)
    is_near = on_x, left_y <= near, on_z
    return ListedEdges(
        is_near, (left_x, left_y, left_z), (first_x, first_z, of_y, of_z), on_ellipse
    )


def grow_parts(m: Arithmetic, at: SwingTwist) -> tuple[Vector, Vector, Vector]:
    """Return the turns by which s_x, the twist and s_z grow at once.

    With c the cosine of half the swing they are ((c^2 - s_z^2) / 2c, s_z, s_x s_z / 2c),
    (-s_z / c, 1, s_x / c) and (s_x s_z / 2c, -s_x, (c^2 - s_x^2) / 2c).

    Source: from the components of the swung Y axis, which change with a turn w by w x y; derived
    for this project, tested in tests/core/kinematics/test_limit_edges.py.
    """
    x, z, half = at.swing_x, at.swing_z, 0.5 / m.maximum(at.cosine, LEAST_COSINE)
    square, both, twice = at.cosine * at.cosine, x * z * half, half + half
    by_x = (square - z * z) * half, z, both
    by_z = both, -x, (square - x * x) * half
    return by_x, (-z * twice, 1.0 + 0.0 * z, x * twice), by_z


def _share_outward(m: Arithmetic, at: SwingTwist) -> tuple[Number, Number]:
    """Return how the distance from the middle, in half axes of the ellipse, grows with s_x, s_z."""
    out = m.maximum(at.out, ON_EDGE)
    wide_x, wide_z = m.maximum(at.half_x, HELD), m.maximum(at.half_z, HELD)
    return at.offset_x / (wide_x * wide_x * out), at.offset_z / (wide_z * wide_z * out)


def _find_end(m: Arithmetic, value: Number, low: Number, high: Number) -> tuple[Number, Number]:
    """Return what is left to the nearer end, and 1 if that is the high one, else -1."""
    up, down = high - value, value - low
    return m.minimum(up, down), m.where(up <= down, 1.0, -1.0)


def block_normals(mobility: Array, normal: Array, is_blocked: Flags) -> Array:
    """Return mobilities (..., 3, 3, B) without turns along flagged normals (..., 3, B).

    What is left gives the least turn that stays across the normal, in the same measure.
    """
    along = np.einsum("...ijb,...jb->...ib", mobility, normal)
    size = np.einsum("...ib,...ib->...b", along, normal)
    has_any = is_blocked & (size > LEAST_MOBILITY)
    share = np.where(has_any, 1.0 / np.where(has_any, size, 1.0), 0.0)
    scaled = along * share[..., None, :]
    left: Array = mobility - scaled[..., :, None, :] * along[..., None, :, :]
    return left


def weigh_axes(turn: Array, weights: Array) -> Array:
    """Return the mobilities (..., 3, 3, B) of joints that turn unequally about their own axes.

    Args:
        turn: Shape (..., 4, B).
        weights: About X, Y and Z of the posed bone, shape (..., 3, B).
    """
    axes = turns.to_matrices(turn)
    whole: Array = np.einsum("...ikb,...kb,...jkb->...ijb", axes, weights, axes)
    return whole
