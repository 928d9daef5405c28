"""The boundaries of what joints allow, as lines to be drawn: just where the clamp stops.

Directions are unit vectors in the axes of a joint at its zero. A swing or bend carries the bone's Y
axis along its boundary; a twist carries the bone's Z axis, in the axes that the swing has led to.
Both are sampled from the compiled range that the clamp takes.
"""

from __future__ import annotations

import enum
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...core import JointKind
from ...core.algebra.arithmetic import ARRAYS, FLOATS, Array
from ...core.kinematics import swing_twist
from ...core.kinematics.joint_limits import ELBOWS, FREE, HINGES
from ...core.kinematics.swing_twist import HELD, SwingTwistRange
from ..reading.spec import Axes

# Points of a quarter of a swing's boundary, and of an arc for each radian.
QUARTER = 12
ARC_DENSITY = 16.0
# Farther than any swing reaches, in sines.
BEYOND = 4.0
# The quarters one after the other, by the sides of the middle about X and Z.
SIDES = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


class LimitPart(enum.Enum):
    """What a line bounds."""

    BEND = "BEND"
    SWING = "SWING"
    TWIST = "TWIST"


class Arc(NamedTuple):
    """A range of turns about one axis.

    Attributes:
        axis: 0, 1 or 2 for X, Y or Z.
        least: Where it begins, radians.
        most: Where it ends.
        has_ends: Whether something stops it there; else it goes all around.
    """

    axis: int
    least: float
    most: float
    has_ends: bool

    def trace(self) -> Array:
        """Return the directions from its least turn to its greatest one, shape (m, 3)."""
        count = 2 + math.ceil(ARC_DENSITY * (self.most - self.least))
        return point_arc(self.axis, np.linspace(self.least, self.most, count))


class Bound(NamedTuple):
    """One boundary of what a joint allows.

    Attributes:
        part: What it bounds.
        arc: Axis and ends of a bend or twist; None for a swing.
        line: Its directions, shape (m, 3); those of a swing are a closed line.
    """

    part: LimitPart
    arc: Arc | None
    line: Array


# So many are kept: more than the joints of one chain.
@lru_cache(maxsize=256)
def find_bounds(kind: JointKind, least: Axes, most: Axes) -> tuple[Bound, ...]:
    """Return the boundaries of a joint.

    Args:
        kind: What it is.
        least: Least turns about X, Y and Z in radians, -inf for no limit.
        most: Greatest turns.
    """
    found = list[Bound]()
    if (axis := {**HINGES, **ELBOWS}.get(kind)) not in (None, 1):
        bend = find_arc(axis, least[axis], most[axis])
        found.append(Bound(LimitPart.BEND, bend, bend.trace()))
    if kind in (JointKind.BALL, JointKind.SWING):
        swing = trace_swing(swing_twist.compile_range(FLOATS, least, most))
        found += [] if swing is None else [Bound(LimitPart.SWING, None, swing)]
    twist = find_arc(1, least[1], most[1])
    # A free twist is nothing to be seen; an axis to turn about is, also where nothing stops it.
    if FREE[kind][1] and twist.has_ends:
        found.append(Bound(LimitPart.TWIST, twist, twist.trace()))
    return tuple(found)


def find_arc(axis: int, low: float, high: float) -> Arc:
    """Return the arc of a range about an axis; one without an end stops half a turn from zero."""
    least = low if math.isfinite(low) else min(-math.pi, high)
    most = high if math.isfinite(high) else max(math.pi, low)
    if most - least >= math.tau or (math.isinf(low) and math.isinf(high)):
        return Arc(axis, -math.pi, math.pi, has_ends=False)
    return Arc(axis, least, most, has_ends=True)


def point_arc(axis: int, angles: Array) -> Array:
    """Return where turns (m,) about an axis carry Y, or Z where the axis is Y, shape (m, 3)."""
    cosine, sine, nothing = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    parts = ((nothing, cosine, sine), (sine, nothing, cosine), (-sine, cosine, nothing))
    return np.column_stack(parts[axis])


def trace_swing(ranges: SwingTwistRange) -> Array | None:
    """Return the boundary of a swing, a closed line of directions (m, 3); None without limits."""
    rooms = ranges.above_x, ranges.below_x, ranges.above_z, ranges.below_z
    if all(math.isinf(room) for room in rooms):
        return None
    quarters = [_trace_quarter(ranges, *sides) for sides in SIDES]
    # Each begins where the one before ends: about X, then about Z, and back.
    quarters[1::2] = [quarter[::-1] for quarter in quarters[1::2]]
    x, z = np.concatenate(quarters).T
    held = swing_twist.clamp_swing(ARRAYS, ranges, x, z, np.zeros_like(x))
    return point_swing(held.swing_x, held.swing_z)


def point_swing(x: Array, z: Array) -> Array:
    """Return where swings carry the Y axis, (..., 3), given as sin(angle / 2) about X and Z."""
    square = np.minimum(x * x + z * z, 1.0)
    cosine = 2.0 * np.sqrt(1.0 - square)
    return np.stack((-cosine * z, 1.0 - 2.0 * square, cosine * x), axis=-1)


def _trace_quarter(ranges: SwingTwistRange, side_x: float, side_z: float) -> Array:
    """Return a quarter of a swing's boundary, sines about X and Z, from the X axis to Z, (m, 2)."""
    half_x = ranges.above_x if side_x > 0.0 else ranges.below_x
    half_z = ranges.above_z if side_z > 0.0 else ranges.below_z
    middle = np.array([ranges.middle_x, ranges.middle_z])
    sides = np.array([side_x, side_z])
    if min(half_x, half_z) > HELD and math.isfinite(half_x + half_z):
        angle = 0.5 * math.pi * np.linspace(0.0, 1.0, QUARTER)
        ellipse = np.column_stack((half_x * np.cos(angle), half_z * np.sin(angle)))
        round_quarter: Array = middle + sides * ellipse
        return round_quarter
    # Middles as seen from this side.
    at_x, at_z = side_x * ranges.middle_x, side_z * ranges.middle_z
    up = _trace_edge(half_x, half_z, at_x, at_z)
    back = _trace_edge(half_z, half_x, at_z, at_x)[::-1, ::-1]
    box: Array = middle + sides * np.vstack((up, back))
    return box


def _trace_edge(half: float, other: float, middle: float, other_middle: float) -> Array:
    """Return one side of a box, from the middle of the side to the corner, shape (m, 2).

    One without an end lies beyond half a turn, where the clamp takes all of it to one direction.
    """
    if math.isinf(half):
        return np.array([[BEYOND, 0.0]])
    end = other
    if math.isinf(end):
        across = min(1.0, abs(middle + half))
        end = math.sqrt(1.0 - across * across) - other_middle
    # Denser toward half a turn, where little of a sine is much of an angle.
    steps = end * np.sin(0.5 * math.pi * np.linspace(0.0, 1.0, QUARTER))
    return np.column_stack((np.full(QUARTER, half), steps))


def swing_axes(directions: Array) -> Array:
    """Return the axes, (..., 3, 3), that the shortest swings of Y to directions lead to."""
    x, y, z = np.moveaxis(directions, -1, 0)
    # Of half a turn there is no shortest one.
    share = 1.0 / np.maximum(1.0 + y, swing_twist.HALF_TURN)
    across = -x * z * share
    rows = (
        *(1.0 - x * x * share, x, across),
        *(-x, y, -z),
        *(across, z, 1.0 - z * z * share),
    )
    return np.stack(rows, axis=-1).reshape(*directions.shape, 3)
