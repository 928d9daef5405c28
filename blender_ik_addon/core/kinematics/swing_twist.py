"""Rotations of joints brought inside their ranges of swing and twist.

A rotation is a *swing* S, which carries the bone's Y axis the short way, after a *twist* T about
it: R = S T. The swing is given by sin(angle / 2) times its axis, which has an X and a Z only. Its
range is bounded by a quarter of an ellipse in each quadrant about a middle, or by a box where an
axis has no room or no end. Every joint is one: a hinge is a swing about one axis whose other axes
have no room.

Source: what Blender's own IK solver allows, /intern/iksolver/ of its source, restated; proved
against its evaluated bones in tests/blender/test_joint_clamp.py.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from ..algebra.arithmetic import Arithmetic, Condition, Number
from ..algebra.quaternions import Quaternion

# A range narrower than this holds its axis, in sines.
HELD = 1e-9
# Nearer to a swing by half a turn than this cosine there is no telling swing from twist.
HALF_TURN = 1e-9
WHOLE_TURN = 2.0 * math.pi


class SwingTwistRange(NamedTuple):
    """The range of a joint.

    Attributes:
        middle_x: The middle of the swing's range about X, sin(angle / 2).
        middle_z: About Z.
        below_x: Half axis of the range on the low side of the middle, inf for none.
        above_x: On the high side; likewise about Z.
        below_z: See ``below_x``.
        above_z: See ``above_x``.
        twist_low: Radians, -inf for none.
        twist_high: Radians, inf for none.
        twist_middle: Radians; zero for a range without both ends.
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


class SwingTwist(NamedTuple):
    """A rotation inside its range, taken apart.

    Attributes:
        swing_x: Swing about X, sin(angle / 2).
        swing_z: About Z.
        cosine: Of half the swing, at least zero.
        twist: Radians about Y.
        offset_x: Of the swing from the middle of its range.
        offset_z: About Z.
        half_x: The half axes of the range on that side.
        half_z: About Z.
        out: How far out the swing lies in the ellipse that bounds it, 1 on its edge; zero in a box.
        is_round: Whether an ellipse bounds it.
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


def clamp_angle(m: Arithmetic, angle: Number, low: Number, high: Number, middle: Number) -> Number:
    """Return an angle inside its range; one outside goes to the edge nearer on the circle."""
    wound = angle - WHOLE_TURN * m.round((angle - middle) / WHOLE_TURN)
    return m.minimum(m.maximum(wound, low), high)


def clamp(m: Arithmetic, ranges: SwingTwistRange, q: Quaternion) -> Quaternion:
    """Return a unit quaternion brought inside its range."""
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
    has_twist = cosine > HALF_TURN
    w, y = (
        m.where(has_twist, m.divide(w, cosine), 1.0),
        m.where(has_twist, m.divide(y, cosine), 0.0),
    )
    twist = clamp_angle(
        m, 2.0 * m.atan2(y, w), ranges.twist_low, ranges.twist_high, ranges.twist_middle
    )
    offset_x, offset_z = x * w + z * y - ranges.middle_x, z * w - x * y - ranges.middle_z
    half_x = m.where(offset_x >= 0.0, ranges.above_x, ranges.below_x)
    half_z = m.where(offset_z >= 0.0, ranges.above_z, ranges.below_z)
    is_round = (m.minimum(half_x, half_z) > HELD) & m.is_finite(half_x + half_z)
    part_x, part_z = m.divide(offset_x, half_x), m.divide(offset_z, half_z)
    out = m.where(is_round, m.sqrt(part_x * part_x + part_z * part_z), 0.0)
    over = m.maximum(out, 1.0)
    offset_x = m.where(is_round, offset_x / over, m.minimum(m.maximum(offset_x, -half_x), half_x))
    offset_z = m.where(is_round, offset_z / over, m.minimum(m.maximum(offset_z, -half_z), half_z))
    swing_x, swing_z = offset_x + ranges.middle_x, offset_z + ranges.middle_z
    square = swing_x * swing_x + swing_z * swing_z
    if m.any(square > 1.0):
        size = m.sqrt(m.maximum(square, 1.0))
        swing_x, swing_z, square = swing_x / size, swing_z / size, m.minimum(square, 1.0)
    return SwingTwist(
        swing_x,
        swing_z,
        m.sqrt(1.0 - square),
        twist,
        offset_x,
        offset_z,
        half_x,
        half_z,
        m.minimum(out, 1.0),
        is_round,
    )
