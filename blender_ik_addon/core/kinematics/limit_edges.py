"""The edges of ranges that joints of many chains stand on, and what turns they leave.

Layout as in ``arrays``: turns (..., 4, B), mobilities (..., 3, 3, B).

Normals are derived for this project and tested in tests/core/kinematics/test_limit_edges.py.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra import turns
from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.arrays import skew
from ..algebra.nested import Rows, join
from ..algebra.vectors import ZERO, Vector, add, choose, scale, unit
from . import joint_limits
from .swing_twist import HELD, SwingTwist, SwingTwistRange

# A joint nearer to an edge of its range than this, in radians or sines, stands on it.
ON_EDGE = 1e-9
# A swing by half a turn has no direction in which it grows.
LEAST_COSINE = 1e-6
# What turns less than this, in squares of radians, along a normal cannot be blocked there.
LEAST_MOBILITY = 1e-12
# A turn out of a range by less than this, in radians, is rounding.
LEAST_LEAVING = 1e-10
# Edges farther away than this, in radians or sines, are not looked at before they are hit.
NEAR = 0.2
# Turns by which levels and normals are compared, in radians.
APART = 1e-5


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

    def find_pressed(
        self, is_kept: Flags, pull: Array, move: Array, rooms: Array | float = 0.0
    ) -> Flags:
        """Return the edges to keep to, (n, 3 edges, B): an active set, one pass on.

        Of those kept to the ones that pulls (n, 3, B) press on; of the others those that turns
        (n, 3, B) cross, farther than the rooms up to them.
        """
        presses = self.along(pull) > -LEAST_LEAVING
        crosses = self.along(move) > rooms + LEAST_LEAVING
        pressed: Flags = self.is_on & np.where(is_kept, presses, crosses)
        return pressed


def find_edges(ranges: SwingTwistRange, at: SwingTwist, near: float = ON_EDGE) -> Edges:
    """Return the edges of their ranges that turns stand on, or are as near to as given."""
    flags, found = list_edges(ARRAYS, ranges, at, near)
    is_on: Flags = join(flags).astype(np.bool_)
    normals = np.zeros((*is_on.shape[:-1], 3, is_on.shape[-1]))
    for edge, normal in enumerate(found):
        if normal is not None:
            normals[..., edge, :, :] = join(normal)
    return Edges(normals, is_on)


def list_edges(
    m: Arithmetic, ranges: SwingTwistRange, at: SwingTwist, near: float = ON_EDGE
) -> tuple[tuple[Condition, Condition, Condition], tuple[Vector | None, ...]]:
    """Return which of its three edges a turn is near to, and their normals as ``Edges`` has them.

    Normals of edges that no turn is near to may be None.
    """
    (on_x, on_y, on_z), on_ellipse, (high_x, high_y, high_z) = _flag_edges(m, ranges, at, near)
    of_x: Vector | None = None
    of_y, of_z = of_x, of_x
    if m.any(on_x | on_z):
        signs = m.where(high_x, 1.0, -1.0), m.where(high_z, 1.0, -1.0)
        of_x, of_z = _find_swing_normals(m, at, on_ellipse, *signs)
    if m.any(on_y):
        # By which turn the twist grows at once: half-way between the Y axis before and after the
        # swing.
        of_y = scale((-at.swing_z, at.cosine, at.swing_x), m.where(high_y, 1.0, -1.0))
    return (on_x, on_y, on_z), (of_x, of_y, of_z)


def find_rooms(ranges: SwingTwistRange, turn: Array, edges: Edges) -> Array:
    """Return by how many radians turns (n, 4, B) may go along normals up to edges near to them.

    Zero for edges that are not flagged, shape (n, 3 edges, B).

    Source: the growth of what an edge bounds; derived for this project and tested in
    tests/core/kinematics/test_near_edges.py.
    """
    inward = turns.from_vectors(-APART * edges.normals.swapaxes(0, 1))
    at, inside = (
        _find_left(ranges, joint_limits.decompose_turns(ranges, each))
        for each in (turn, turns.multiply(inward, turn))
    )
    rooms = np.zeros(edges.is_on.shape)
    for edge in range(3):
        # Where there is no end, infinite would be less infinite.
        is_near = edges.is_on[:, edge]
        left, before = np.where(is_near, at[edge], 0.0), np.where(is_near, inside[edge][edge], 0.0)
        shrinks = before > left
        rooms[:, edge] = np.where(
            shrinks, APART * left / np.where(shrinks, before - left, 1.0), 0.0
        )
    return np.maximum(rooms, 0.0)


def _find_left(ranges: SwingTwistRange, at: SwingTwist) -> tuple[Array, Array, Array]:
    """Return what is left to the nearer ends of what the three edges bound, shape (..., B)."""
    left = np.minimum(ranges.above_x - at.offset_x, ranges.below_x + at.offset_x)
    return (
        np.where(at.is_round, 1.0 - at.out, left),
        np.minimum(ranges.twist_high - at.twist, at.twist - ranges.twist_low),
        np.minimum(ranges.above_z - at.offset_z, ranges.below_z + at.offset_z),
    )


def measure_curvatures(ranges: SwingTwistRange, turn: Array, edges: Edges) -> Array:
    """Return how normals change with turns along edges, (n, 3 edges, 3, 3, B), symmetric.

    Zero where edges are not flagged, or end within ``APART``. The end of a twist is flat: turns
    across its normal leave the twist as it is, however large.

    Source: differences of the normals along the edge; derived for this project and tested in
    tests/core/kinematics/test_near_edges.py.
    """
    curved = np.zeros((*edges.normals.shape[:2], 3, 3, edges.normals.shape[-1]))
    for edge in (0, 2):
        if not edges.is_on[:, edge].any():
            continue
        # What the three axes make with a normal spans what is across it, evenly.
        across = np.moveaxis(skew(edges.normals[:, edge]), 2, 0)
        steps = turns.from_vectors(APART * np.concatenate((across, -across)))
        at = joint_limits.decompose_turns(ranges, turns.multiply(steps, turn))
        found = find_edges(ranges, at, NEAR)
        stays = found.is_on[:, :, edge].all(axis=0) & edges.is_on[:, edge]
        after, before = np.split(found.normals[:, :, edge], 2)
        change = np.einsum("tnib,tnjb->nijb", after - before, across) * (0.25 / APART)
        curved[:, edge] = np.where(stays[:, None, None], change + change.swapaxes(1, 2), 0.0)
    return curved


def _flag_edges(
    m: Arithmetic, ranges: SwingTwistRange, at: SwingTwist, near: float
) -> tuple[tuple[Condition, ...], Condition, tuple[Condition, ...]]:
    """Return which edges turns are near to, which of them are ellipses, and which are high ends."""
    # Where a range ends at its middle, a quarter of an ellipse meets that end at a right angle.
    x, z = m.minimum(ranges.above_x, ranges.below_x), m.minimum(ranges.above_z, ranges.below_z)
    at_corner = (m.absolute(at.offset_x) <= ON_EDGE) & (x <= HELD)
    at_corner = at_corner | (m.absolute(at.offset_z) <= ON_EDGE) & (z <= HELD)
    on_ellipse = at.is_round & (at.out >= 1.0 - near) & m.negate(at_corner)
    # An ellipse bounds more than its box does.
    by = near if near == ON_EDGE else m.where(at.is_round, ON_EDGE, near)
    on_x, high_x = _find_end(at.offset_x, -ranges.below_x, ranges.above_x, by)
    on_z, high_z = _find_end(at.offset_z, -ranges.below_z, ranges.above_z, by)
    on_y, high_y = _find_end(at.twist, ranges.twist_low, ranges.twist_high, near)
    is_on = on_ellipse | on_x, on_y, on_z & m.negate(on_ellipse)
    return is_on, on_ellipse, (high_x, high_y, high_z)


def _find_end(
    value: Number, low: Number, high: Number, near: Number
) -> tuple[Condition, Condition]:
    """Return which values are near to an end, and which to the high one; of two the nearer one."""
    is_high = (value >= high - near) & (high - value <= value - low)
    return is_high | (value <= low + near), is_high


def _find_swing_normals(
    m: Arithmetic, at: SwingTwist, on_ellipse: Condition, sign_x: Number, sign_z: Number
) -> tuple[Vector, Vector]:
    """Return how s_x and s_z grow with turns, at unit length; the first on an ellipse its normal.

    From s_x = y_z / (2 c), s_z = -y_x / (2 c), c^2 = (1 + y_y) / 2 with y the swung Y axis, whose
    components change with a turn w by dy = w x y.
    """
    sx, sz, c = at.swing_x, at.swing_z, at.cosine
    x, y, z = -2.0 * c * sz, 1.0 - 2.0 * (sx * sx + sz * sz), 2.0 * c * sx
    half = 0.5 / m.maximum(c, LEAST_COSINE)
    of_x, of_z = half * half * sx, half * half * sz
    by_x: Vector = (y * half + z * of_x, -x * half, -x * of_x)
    by_z: Vector = (z * of_z, -z * half, y * half - x * of_z)
    wide_x, wide_z = m.where(on_ellipse, at.half_x, 1.0), m.where(on_ellipse, at.half_z, 1.0)
    pull_x, pull_z = at.offset_x / (wide_x * wide_x), at.offset_z / (wide_z * wide_z)
    across = add(scale(by_x, pull_x), scale(by_z, pull_z))
    first = choose(m, on_ellipse, across, scale(by_x, sign_x))
    return unit(m, first, ZERO), unit(m, scale(by_z, sign_z), ZERO)


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
