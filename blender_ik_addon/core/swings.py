"""The ranges of swing and twist, for all joints of many chains at once.

Every joint is one: a hinge is a swing about one axis whose other axes have no room, and likewise
the rest. Layout as in ``vectors``: turns (..., 4, B). A swing is told by s = sin(angle / 2) times
its axis, which has an X and a Z only.

Source: what Blender's own IK solver allows, /intern/iksolver/ of its source, restated; proved
against its evaluated bones in tests/blender/test_joint_clamp.py. Normals are derived for this
project and tested in tests/core/test_swings.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from . import turns
from .vectors import Array, Counts, Flags, taken

# A joint nearer to an edge of its range than this, in radians or sines, stands on it.
ON_EDGE = 1e-9
# Nearer to a swing by half a turn than this cosine there is no telling swing from twist.
HALF_TURN = 1e-9
# A range narrower than this holds its axis.
HELD = 1e-9
WHOLE_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class Ranges:
    """Ranges compiled; arrays of shape (..., 2, B) have one row for X and one for Z.

    Attributes:
        middle: Of the swing's range, in s: the rest pose unless the range excludes it.
        below: Half axes of the range on its low side, from the middle, inf for none.
        above: Half axes on the high side.
        twist_low: Radians, -inf for none, shape (..., B).
        twist_high: Shape (..., B).
        twist_middle: Shape (..., B).
        is_held: Which axes X, Y and Z have no room, shape (..., 3, B).
    """

    middle: Array
    below: Array
    above: Array
    twist_low: Array
    twist_high: Array
    twist_middle: Array
    is_held: Flags

    @cached_property
    def are_round(self) -> bool:
        """Whether an ellipse bounds every swing, and none has a corner."""
        is_limited = np.isfinite(self.below) & np.isfinite(self.above)
        return bool((is_limited & (self.below > HELD) & (self.above > HELD)).all())

    @cached_property
    def ends_there(self) -> Flags:
        """Which ranges of swings end at their middles, shape (..., 2, B)."""
        ends: Flags = (self.above <= HELD) | (self.below <= HELD)
        return ends

    @cached_property
    def has_twists(self) -> bool:
        """Whether any twist has an end."""
        is_endless = np.isneginf(self.twist_low) & np.isposinf(self.twist_high)
        return not is_endless.all()

    @cached_property
    def has_middles(self) -> bool:
        """Whether any range of swings has its middle elsewhere than at rest."""
        return bool(self.middle.any())

    def take(self, chains: Counts | Flags) -> Ranges:
        """Return the ranges of some of the chains."""
        some = self._mapped(lambda values: taken(values, chains))
        # What holds of all holds of some.
        for name in ("are_round", "has_twists", "has_middles"):
            some.__dict__[name] = getattr(self, name)
        return some

    def at(self, bone: int | list[int]) -> Ranges:
        """Return the ranges of one bone of all chains."""
        return self._mapped(lambda values: values[bone])

    def _mapped(self, pick: Callable[[Any], Any]) -> Ranges:
        return Ranges(*(pick(getattr(self, field.name)) for field in fields(self)))


def compiled(low: Array, high: Array) -> Ranges:
    """Return ranges from least and greatest turns about X, Y and Z, (..., 3, B), in radians."""
    low_swing, high_swing = low[..., ::2, :], high[..., ::2, :]
    middle = _sine(np.clip(0.0, low_swing, high_swing))
    return Ranges(
        middle=middle,
        below=middle - _sine(low_swing),
        above=_sine(high_swing) - middle,
        twist_low=low[..., 1, :],
        twist_high=high[..., 1, :],
        twist_middle=middle_of(low[..., 1, :], high[..., 1, :]),
        is_held=high - low < HELD,
    )


def middle_of(low: Array, high: Array) -> Array:
    """Return the middles of ranges, zero for those without both ends."""
    is_closed = np.isfinite(low) & np.isfinite(high)
    middle: Array = 0.5 * (np.where(is_closed, low, 0.0) + np.where(is_closed, high, 0.0))
    return middle


def in_range(angle: Array, low: Array, high: Array, middle: Array) -> Array:
    """Return angles inside ranges; one outside goes to the edge that is nearer on the circle."""
    wound = angle - WHOLE_TURN * np.round((angle - middle) / WHOLE_TURN)
    return np.minimum(np.maximum(wound, low), high)


@dataclass(frozen=True)
class Placed:
    """Turns inside their ranges, taken apart; arrays of shape (..., B).

    Attributes:
        swing: The s of the swings, shape (..., 2, B).
        cosine: Of half the swing, at least 0.
        twist: Radians about Y.
        offset: The s from the middle of the range, shape (..., 2, B).
        half: The half axes on that side, shape (..., 2, B).
        out: How far out swings lie in the ellipses that bound them, 1 on the edge.
        is_round: Which swings an ellipse bounds; the others a box.
    """

    swing: Array
    cosine: Array
    twist: Array
    offset: Array
    half: Array
    out: Array
    is_round: Flags

    @property
    def turn(self) -> Array:
        """The turns, shape (..., 4, B)."""
        cosine, sine = np.cos(0.5 * self.twist), np.sin(0.5 * self.twist)
        c, x, z = self.cosine, self.swing[..., 0, :], self.swing[..., 1, :]
        turn = np.empty((*c.shape[:-1], 4, c.shape[-1]))
        turn[..., 0, :], turn[..., 1, :] = c * cosine, x * cosine - z * sine
        turn[..., 2, :], turn[..., 3, :] = c * sine, z * cosine + x * sine
        return turn


def placed(ranges: Ranges, turn: Array) -> Placed:
    """Return turns (..., 4, B) brought inside their ranges."""
    w, x, y, z = turn[..., 0, :], turn[..., 1, :], turn[..., 2, :], turn[..., 3, :]
    cosine = np.sqrt(w * w + y * y)
    has_twist = cosine > HALF_TURN
    if has_twist.all():
        w, y = w / cosine, y / cosine
    else:
        divisor = np.where(has_twist, cosine, 1.0)
        w, y = np.where(has_twist, w / divisor, 1.0), np.where(has_twist, y / divisor, 0.0)
    twist = 2.0 * np.arctan2(y, w)
    if ranges.has_twists:
        twist = in_range(twist, ranges.twist_low, ranges.twist_high, ranges.twist_middle)
    swing = np.empty((*w.shape[:-1], 2, w.shape[-1]))
    np.add(x * w, z * y, out=swing[..., 0, :])
    np.subtract(z * w, x * y, out=swing[..., 1, :])
    return _bounded(ranges, swing, twist)


def _bounded(ranges: Ranges, swing: Array, twist: Array) -> Placed:
    """Return swings (..., 2, B) brought inside their ellipses and boxes, with their twists."""
    offset = swing - ranges.middle if ranges.has_middles else swing
    half = np.where(offset >= 0.0, ranges.above, ranges.below)
    if ranges.are_round:
        is_round = np.broadcast_to(True, twist.shape)
        scaled = offset / half
        out = np.sqrt(scaled[..., 0, :] ** 2 + scaled[..., 1, :] ** 2)
        offset = offset / np.maximum(out, 1.0)[..., None, :]
    else:
        limited = np.isfinite(half) & (half > HELD)
        is_round = limited[..., 0, :] & limited[..., 1, :]
        scaled = np.where(is_round[..., None, :], offset / np.where(limited, half, 1.0), 0.0)
        out = np.sqrt(scaled[..., 0, :] ** 2 + scaled[..., 1, :] ** 2)
        boxed = np.minimum(np.maximum(offset, -half), half)
        drawn = offset / np.maximum(out, 1.0)[..., None, :]
        offset = np.where(is_round[..., None, :], drawn, boxed)
    swing = offset + ranges.middle if ranges.has_middles else offset
    square = swing[..., 0, :] ** 2 + swing[..., 1, :] ** 2
    if (square > 1.0).any():
        swing = swing / np.sqrt(np.maximum(square, 1.0))[..., None, :]
        square = np.minimum(square, 1.0)
    cosine = np.sqrt(1.0 - square)
    return Placed(swing, cosine, twist, offset, half, np.minimum(out, 1.0), is_round)


@dataclass(frozen=True)
class Edges:
    """The edges of ranges that joints stand on: those about X, about Y and about Z.

    Attributes:
        normals: Unit vectors along which a turn would leave the range, told before the joint's own
            turn, shape (..., 3 edges, 3, B). That of an ellipse is the first.
        is_on: Which edges joints stand on, shape (..., 3 edges, B).
        is_held: Which of them leave neither way free, shape (..., 3 edges, B).
    """

    normals: Array
    is_on: Flags
    is_held: Flags


def edges(ranges: Ranges, at: Placed, near: float = ON_EDGE) -> Edges:
    """Return the edges of their ranges that turns stand on, or are as near to as told."""
    shape = (*at.swing.shape[:-2], 3, at.swing.shape[-1])
    normals, is_on = np.zeros((*shape[:-1], 3, shape[-1])), np.zeros(shape, dtype=np.bool_)
    on_ellipse, on_high = at.is_round & (at.out >= 1.0 - near), None
    if ranges.are_round and near == ON_EDGE:
        is_on[..., 0, :] = on_ellipse
    else:
        # Of two ends that are near the nearer one. An ellipse bounds more than its box does.
        by = near if near == ON_EDGE else np.where(at.is_round, ON_EDGE, near)[..., None, :]
        on_high = at.offset >= ranges.above - by
        on_high &= ranges.above - at.offset <= ranges.below + at.offset
        on_box = on_high | (at.offset <= by - ranges.below)
        # Where a range ends at its middle, a quarter of an ellipse meets that end at a right angle.
        on_ellipse &= ~(ranges.ends_there & (np.abs(at.offset) <= ON_EDGE)).any(axis=-2)
        is_on[..., 0, :] = on_ellipse | on_box[..., 0, :]
        is_on[..., 2, :] = on_box[..., 1, :] & ~on_ellipse
    if is_on[..., ::2, :].any():
        _fill_swing(
            normals, at, on_ellipse, None if on_high is None else np.where(on_high, 1.0, -1.0)
        )
    if not ranges.has_twists:
        return Edges(normals, is_on, ranges.is_held)
    is_high = at.twist >= ranges.twist_high - near
    is_high &= ranges.twist_high - at.twist <= at.twist - ranges.twist_low
    is_on[..., 1, :] = is_high | (at.twist <= ranges.twist_low + near)
    # By which turn the twist grows at once: half-way between the Y axis before and after the swing.
    sign = np.where(is_high, 1.0, -1.0)
    normals[..., 1, 0, :] = -at.swing[..., 1, :] * sign
    normals[..., 1, 1, :] = at.cosine * sign
    normals[..., 1, 2, :] = at.swing[..., 0, :] * sign
    return Edges(normals, is_on, ranges.is_held)


def stands(ranges: Ranges, at: Placed) -> Flags:
    """Tell which turns stand on any edge that leaves a way free, shape (..., B)."""
    on = at.is_round & (at.out >= 1.0 - ON_EDGE)
    if not ranges.are_round:
        on_box = at.offset >= ranges.above - ON_EDGE
        on_box |= at.offset <= ON_EDGE - ranges.below
        on = on | (on_box & ~ranges.is_held[..., ::2, :]).any(axis=-2)
    if ranges.has_twists:
        on_end = at.twist >= ranges.twist_high - ON_EDGE
        on_end |= at.twist <= ranges.twist_low + ON_EDGE
        on = on | (on_end & ~ranges.is_held[..., 1, :])
    return on


def _fill_swing(normals: Array, at: Placed, on_ellipse: Flags, sign: Array | None) -> None:
    """Fill in how s_x and s_z grow with turns, at unit length; on an ellipse, its normal.

    Signs of the ends of boxes have the shape (..., 2, B); None where there are only ellipses.

    From s_x = y_z / (2 c), s_z = -y_x / (2 c), c^2 = (1 + y_y) / 2 with y the swung Y axis, whose
    components change with a turn w by dy = w x y.
    """
    sx, sz = at.swing[..., 0, :], at.swing[..., 1, :]
    x, y, z = -2.0 * at.cosine * sz, 1.0 - 2.0 * (sx * sx + sz * sz), 2.0 * at.cosine * sx
    cosine = np.maximum(at.cosine, 1e-6)
    half, quarter = 0.5 / cosine, 0.25 / (cosine * cosine)
    of_x, of_z = quarter * sx, quarter * sz
    by_x = _vector(y * half + z * of_x, -x * half, -x * of_x)
    by_z = _vector(z * of_z, -z * half, y * half - x * of_z)
    shown = on_ellipse[..., None, :]
    pull = np.where(shown, at.offset / np.where(shown, at.half, 1.0) ** 2, 0.0)
    across = by_x * pull[..., :1, :] + by_z * pull[..., 1:, :]
    if sign is None:
        normals[..., 0, :, :] = _unit(across)
        return
    normals[..., 0, :, :] = _unit(np.where(shown, across, by_x * sign[..., :1, :]))
    normals[..., 2, :, :] = _unit(by_z * sign[..., 1:, :])


def _vector(x: Array, y: Array, z: Array) -> Array:
    """Return vectors (..., 3, B) of components (..., B)."""
    vector = np.empty((*x.shape[:-1], 3, x.shape[-1]))
    vector[..., 0, :], vector[..., 1, :], vector[..., 2, :] = x, y, z
    return vector


def blocked(mobility: Array, normal: Array, is_blocked: Flags) -> Array:
    """Return mobilities (..., 3, 3, B) without turns along flagged normals (..., 3, B).

    What is left gives the least turn that stays across the normal, in the same measure.
    """
    along = np.einsum("...ijb,...jb->...ib", mobility, normal)
    size = np.einsum("...ib,...ib->...b", along, normal)
    has_any = is_blocked & (size > 1e-12)
    share = np.where(has_any, 1.0 / np.where(has_any, size, 1.0), 0.0)
    scaled = along * share[..., None, :]
    left: Array = mobility - scaled[..., :, None, :] * along[..., None, :, :]
    return left


def _sine(angle: Array) -> Array:
    """Return sin(angle / 2), endless for an angle without limit; more than half a turn is half."""
    sine = np.sin(0.5 * np.minimum(np.maximum(angle, -np.pi), np.pi))
    return np.where(np.isfinite(angle), sine, np.copysign(np.inf, angle))


def _unit(vector: Array) -> Array:
    size = np.sqrt(np.einsum("...ib,...ib->...b", vector, vector))
    unit: Array = vector / np.where(size > 0.0, size, 1.0)[..., None, :]
    return unit


def clamped(ranges: Ranges, turn: Array) -> Array:
    """Return turns (..., 4, B) brought inside their ranges."""
    return placed(ranges, turn).turn


def stiff(turn: Array, weights: Array) -> Array:
    """Return the mobilities (..., 3, 3, B) of joints that turn unequally about their own axes.

    Args:
        turn: Shape (..., 4, B).
        weights: About X, Y and Z of the posed bone, shape (..., 3, B).
    """
    axes = turns.matrices(turn)
    whole: Array = np.einsum("...ikb,...kb,...jkb->...ijb", axes, weights, axes)
    return whole
