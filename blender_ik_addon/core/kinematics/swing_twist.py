"""Rotations of joints brought inside their ranges of swing and twist.

A rotation R = S T is a *twist* T about the bone's Y axis and then a *swing* S, which carries this
axis the short way. The swing is given as sin(angle / 2) times its axis, which has only X and Z. In
each quadrant about a middle, a quarter of an ellipse bounds it; a box does if an axis is locked or
has no end. All joints fit this: a hinge is a swing about one axis, and its other axes are locked.

Source: the limits of Blender's IK solver, /intern/iksolver/ of its source, restated; tested against
its evaluated bones in tests/blender/joints/test_joint_clamp.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..algebra.angles import wind_angle
from ..algebra.arithmetic import ARRAYS, Arithmetic, Array, Condition, Flags, Number
from ..algebra.nested import join
from ..algebra.quaternions import Quaternion
from ..algebra.vectors import Vector

# An axis with a range narrower than this, in sines, is locked.
LOCKED_WIDTH = 1e-9
# Below this cosine of half the swing, near half a turn, the twist is undefined.
MIN_SWING_COSINE = 1e-9


class SwingTwistRange(NamedTuple):
    """The range of a joint.

    The range of the swing has a middle about X and Z, as sin(angle / 2), and half axes below and
    above it, inf for no limit. The range of the twist has ends in radians, infinite for no limit,
    and a middle, zero without both ends.
    """

    middle_x: Number
    middle_z: Number
    below_x: Number
    above_x: Number
    below_z: Number
    above_z: Number
    twist_low: Number
    twist_high: Number
    twist_middle: Number

    def at(self, bone: int | list[int]) -> SwingTwistRange:
        """Return the ranges of some bones, if numbers are arrays (n, B)."""
        return SwingTwistRange(*(number[bone] for number in self))

    @property
    def is_held(self) -> Flags:
        """Whether the axes X, Y and Z are locked, shape (..., 3, B), if numbers are arrays."""
        rooms = (
            self.below_x + self.above_x,
            self.twist_high - self.twist_low,
            self.below_z + self.above_z,
        )
        held: Flags = join(rooms) < LOCKED_WIDTH
        return held

    @property
    def has_ends(self) -> Flags:
        """Whether the axes X, Y and Z have a limit on a side, shape (..., 3, B), likewise."""
        nearest = (
            np.minimum(self.below_x, self.above_x),
            np.minimum(self.twist_high, -self.twist_low),
            np.minimum(self.below_z, self.above_z),
        )
        ends: Flags = join(nearest) < np.inf
        return ends


class SwingTwist(NamedTuple):
    """A rotation inside its range, as swing and twist.

    The swing is sin(angle / 2) about X and Z, ``cosine`` that of half its angle, at least zero, and
    the twist is about Y in radians. ``offset`` is the swing relative to the middle of its range,
    and ``half`` the half axis of the range on that side. ``out`` is the distance from the middle in
    the ellipse that bounds the swing: 1 on its edge, zero in a box. ``is_round`` tells whether an
    ellipse bounds it.
    """

    swing_x: Number
    swing_z: Number
    cosine: Number
    twist: Number
    offset_x: Number
    offset_z: Number
    half_x: Number
    half_z: Number
    out: Number
    is_round: Condition


def compile_range(m: Arithmetic, low: Vector, high: Vector) -> SwingTwistRange:
    """Return a range from the smallest and the greatest turns about X, Y and Z, in radians."""
    ends = []
    for axis in (0, 2):
        middle = _find_sine(m, m.minimum(m.maximum(0.0, low[axis]), high[axis]))
        ends.append((middle, middle - _find_sine(m, low[axis]), _find_sine(m, high[axis]) - middle))
    (middle_x, below_x, above_x), (middle_z, below_z, above_z) = ends
    middle = find_middle(m, low[1], high[1])
    return SwingTwistRange(
        middle_x, middle_z, below_x, above_x, below_z, above_z, low[1], high[1], middle
    )


def _find_sine(m: Arithmetic, angle: Number) -> Number:
    """Return sin(angle / 2), infinite for an infinite angle; beyond half a turn that of half."""
    sine = m.sin(0.5 * m.minimum(m.maximum(angle, -math.pi), math.pi))
    return m.where(m.is_finite(angle), sine, angle)


def find_middle(m: Arithmetic, low: Number, high: Number) -> Number:
    """Return the middle of a range, zero for one without both ends."""
    is_closed = m.is_finite(low) & m.is_finite(high)
    return 0.5 * (m.where(is_closed, low, 0.0) + m.where(is_closed, high, 0.0))


def clamp_angle(m: Arithmetic, angle: Number, low: Number, high: Number, middle: Number) -> Number:
    """Return an angle inside its range; one outside goes to the edge nearer on the circle."""
    return m.minimum(m.maximum(wind_angle(m, angle, middle), low), high)


def clamp(m: Arithmetic, ranges: SwingTwistRange, q: Quaternion) -> Quaternion:
    """Return a unit quaternion brought inside its range; one inside changes only by rounding."""
    return compose(m, decompose(m, ranges, q))


def compose(m: Arithmetic, at: SwingTwist) -> Quaternion:
    """Return the rotation of a swing after a twist."""
    x, z, c = at.swing_x, at.swing_z, at.cosine
    cosine, sine = m.cos(0.5 * at.twist), m.sin(0.5 * at.twist)
    return c * cosine, x * cosine - z * sine, c * sine, z * cosine + x * sine


def decompose(m: Arithmetic, ranges: SwingTwistRange, q: Quaternion) -> SwingTwist:
    """Return swing and twist of a unit quaternion, brought inside their ranges."""
    w, x, y, z = q
    cosine = m.sqrt(w * w + y * y)
    has_twist = cosine > MIN_SWING_COSINE
    if m.all(has_twist):
        w, y = w / cosine, y / cosine
    else:
        cosine = m.where(has_twist, cosine, 1.0)
        w, y = m.where(has_twist, w / cosine, 1.0), m.where(has_twist, y / cosine, 0.0)
    twist = clamp_angle(
        m, 2.0 * m.atan2(y, w), ranges.twist_low, ranges.twist_high, ranges.twist_middle
    )
    return clamp_swing(m, ranges, x * w + z * y, z * w - x * y, twist)


def clamp_swing(
    m: Arithmetic, ranges: SwingTwistRange, x: Number, z: Number, twist: Number
) -> SwingTwist:
    """Return a swing brought inside its ellipse or box, with its twist."""
    offset_x, offset_z = x - ranges.middle_x, z - ranges.middle_z
    half_x = m.where(offset_x >= 0.0, ranges.above_x, ranges.below_x)
    half_z = m.where(offset_z >= 0.0, ranges.above_z, ranges.below_z)
    is_round = (m.minimum(half_x, half_z) > LOCKED_WIDTH) & m.is_finite(half_x + half_z)
    are_round = m.all(is_round)
    x, z = half_x, half_z
    if not are_round:
        x, z = m.where(is_round, x, 1.0), m.where(is_round, z, 1.0)
    x, z = offset_x / x, offset_z / z
    out = m.sqrt(x * x + z * z)
    over = m.maximum(out, 1.0)
    x, z = offset_x / over, offset_z / over
    if not are_round:
        out = m.where(is_round, out, 0.0)
        x = m.where(is_round, x, m.minimum(m.maximum(offset_x, -half_x), half_x))
        z = m.where(is_round, z, m.minimum(m.maximum(offset_z, -half_z), half_z))
    offset_x, offset_z = x, z
    x, z = offset_x + ranges.middle_x, offset_z + ranges.middle_z
    square = x * x + z * z
    if m.any(square > 1.0):
        size = m.sqrt(m.maximum(square, 1.0))
        x, z, square = x / size, z / size, m.minimum(square, 1.0)
    cosine, out = m.sqrt(1.0 - square), m.minimum(out, 1.0)
    return SwingTwist(x, z, cosine, twist, offset_x, offset_z, half_x, half_z, out, is_round)


class RangeArrays(NamedTuple):
    """Ranges of joints side by side, components first, then two axes of any length.

    Attributes:
        middle: Middles of swings about X and Z, shape (2, ...).
        below: Half axes of swings below the middles, likewise.
        above: Half axes of swings above the middles.
        low: Lowest offset about X, twist, and offset about Z, shape (3, ...).
        high: Highest ones.
        twist_middle: Middles of twists, shape (...).
        is_round: Whether ellipses bound a swing on all sides, shape (...).
        are_round: Whether that is so for all joints.
    """

    middle: Array
    below: Array
    above: Array
    low: Array
    high: Array
    twist_middle: Array
    is_round: Flags
    are_round: bool


class TurnParts(NamedTuple):
    """Turns inside their ranges, as swing and twist, components first.

    Attributes:
        spot: Swing about X and Z, the cosine of half its angle, and one, shape (4, ...).
        value: Offset about X from the middle of the range, twist, offset about Z, shape (3, ...).
        half: Half axes of the range on that side, shape (2, ...).
        out: As in ``SwingTwist``, like ``is_round``.
        is_round: Whether an ellipse bounds the swing.
    """

    spot: Array
    value: Array
    half: Array
    out: Array
    is_round: Flags


_FLIP_SIGNS, _NO_TWIST = np.array([1.0, -1.0])[:, None, None], np.array([1.0, 0.0])[:, None, None]


def stack_ranges(ranges: SwingTwistRange) -> RangeArrays:
    """Return ranges whose numbers are arrays of one shape with components first."""
    stack: Array = np.array(ranges)
    below, above, low, high = stack[2:6:2], stack[3:6:2], *np.empty((2, 3, *stack.shape[1:]))
    low[::2], low[1], high[::2], high[1] = -below, stack[6], above, stack[7]
    is_round = ((stack[2:6] > LOCKED_WIDTH) & (stack[2:6] < np.inf)).all(axis=0)
    ends = below, above, low, high
    return RangeArrays(stack[:2], *ends, stack[8], is_round, bool(is_round.all()))


def split_swing_twist(ranges: RangeArrays, turn: Array) -> TurnParts:
    """Return unit quaternions (4, any, any) brought inside their ranges, as swing and twist.

    It is ``decompose`` for many joints, with fewer calls of NumPy.
    """
    w, _, y, _ = turn
    cosine = np.sqrt(w * w + y * y)
    if cosine.min(initial=1.0) > MIN_SWING_COSINE:
        phase = turn[::2] / cosine
    else:
        has_twist = cosine > MIN_SWING_COSINE
        phase = np.where(has_twist, turn[::2] / np.where(has_twist, cosine, 1.0), _NO_TWIST)
    swing = turn[1::2] * phase[0] + _flip(turn[1::2]) * phase[1]
    value = np.empty((3, *cosine.shape))
    twist = 2.0 * np.arctan2(phase[1], phase[0])
    value[1] = clamp_angle(ARRAYS, twist, ranges.low[1], ranges.high[1], ranges.twist_middle)
    offset = swing - ranges.middle
    half = np.where(offset >= 0.0, ranges.above, ranges.below)
    return _clamp_offsets(ranges, offset, half, value)


def _clamp_offsets(ranges: RangeArrays, offset: Array, half: Array, value: Array) -> TurnParts:
    """Return the parts of turns with offsets of swings (2, ...) brought inside their ranges."""
    divisor, is_round = half, ranges.is_round
    if not ranges.are_round:
        is_round = ((half > LOCKED_WIDTH) & (half < np.inf)).all(axis=0)
        divisor = np.where(is_round, half, 1.0)
    share = offset / divisor
    out = np.sqrt((share * share).sum(axis=0))
    inside = offset / np.maximum(out, 1.0)
    if not ranges.are_round:
        out = np.where(is_round, out, 0.0)
        inside = np.where(is_round, inside, np.clip(offset, -half, half))
    value[::2], spot = inside, np.empty((4, *out.shape))
    spot[:2], spot[3] = inside + ranges.middle, 1.0
    square = (spot[:2] * spot[:2]).sum(axis=0)
    if square.max(initial=0.0) > 1.0:
        spot[:2] /= np.sqrt(np.maximum(square, 1.0))
        square = np.minimum(square, 1.0)
    spot[2] = np.sqrt(1.0 - square)
    return TurnParts(spot, value, half, np.minimum(out, 1.0), is_round)


def join_swing_twist(parts: TurnParts, axis: int) -> Array:
    """Return the quaternions of swings and twists; it is ``compose`` for many joints.

    They have the shape of the numbers (any, any), with components inserted as ``axis``.
    """
    half, phase = 0.5 * parts.value[1], np.empty_like(parts.half)
    np.cos(half, out=phase[0])
    np.sin(half, out=phase[1])
    shape = list(half.shape)
    shape.insert(axis, 4)
    whole = np.empty(shape)
    turn = whole.transpose(axis, *(other for other in range(3) if other != axis))
    turn[::2] = parts.spot[2] * phase
    turn[1::2] = parts.spot[:2] * phase[0] - _flip(parts.spot[:2]) * phase[1]
    return whole


def _flip(pair: Array) -> Array:
    """Return pairs (2, ...) turned back by a right angle."""
    flipped: Array = pair[::-1] * _FLIP_SIGNS
    return flipped
