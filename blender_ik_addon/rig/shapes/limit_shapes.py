"""The boundaries of what joints allow, as lines to draw, exactly where the clamp stops.

Directions are unit vectors in the axes of a joint at its zero. A swing or bend carries the bone's Y
axis along its boundary. A twist carries the bone's Z axis, in the axes after the swing. Swings are
clamped with the compiled range that the solvers use.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...core import JointKind
from ...core.algebra.arithmetic import ARRAYS, FLOATS, Array
from ...core.kinematics import swing_twist
from ...core.kinematics.joint_limits import ELBOWS, FREE, HINGES
from ...core.kinematics.swing_twist import LOCKED_WIDTH, SwingTwistRange
from ..reading.spec import Axes

# Number of points on a quarter of a swing's boundary, and per radian of an arc.
QUARTER_POINTS = 12
ARC_POINTS_PER_RADIAN = 16.0
# A sine that no swing reaches.
UNREACHABLE_SINE = 4.0
# The quarters in their order on the boundary, by the sides of the middle about X and Z.
QUARTER_SIDES = ((1.0, 1.0), (-1.0, 1.0), (-1.0, -1.0), (1.0, -1.0))


class Arc(NamedTuple):
    """A range of turns about one axis.

    Attributes:
        axis: 0, 1 or 2 for X, Y or Z.
        least: Least turn, radians.
        most: Greatest turn, radians.
        has_ends: Whether the joint stops at both turns; otherwise the arc is a full circle.
    """

    axis: int
    least: float
    most: float
    has_ends: bool

    def trace(self) -> Array:
        """Return the directions from its least turn to its greatest one, shape (m, 3)."""
        count = 2 + math.ceil(ARC_POINTS_PER_RADIAN * (self.most - self.least))
        return point_arc(self.axis, np.linspace(self.least, self.most, count))


Bound = tuple[Arc | None, Array]
"""The arc of a bend or twist, None for a swing, and its directions (m, 3): of a swing closed."""


# The cache has more entries than one chain has joints.
@lru_cache(maxsize=256)
def find_bounds(kind: JointKind, least: Axes, most: Axes) -> tuple[Bound, ...]:
    """Return the boundaries of a joint with least and most turns in radians, -inf and inf for none.

    The arc of a twist is about Y.
    """
    bounds = list[Bound]()
    if (axis := {**HINGES, **ELBOWS}.get(kind)) not in (None, 1):
        bend = find_arc(axis, least[axis], most[axis])
        bounds.append((bend, bend.trace()))
    if kind in (JointKind.BALL, JointKind.SWING):
        swing = trace_swing(swing_twist.compile_range(FLOATS, least, most))
        bounds += [] if swing is None else [(None, swing)]
    twist = find_arc(1, least[1], most[1])
    # A free twist is not drawn. The axis of a hinge or elbow is, even where nothing stops it.
    if FREE[kind][1] and twist.has_ends:
        bounds.append((twist, twist.trace()))
    return tuple(bounds)


def find_arc(axis: int, low: float, high: float) -> Arc:
    """Return the arc of a range about an axis; a side without a limit ends at half a turn."""
    least = low if math.isfinite(low) else min(-math.pi, high)
    most = high if math.isfinite(high) else max(math.pi, low)
    if most - least >= math.tau or (math.isinf(low) and math.isinf(high)):
        return Arc(axis, -math.pi, math.pi, has_ends=False)
    return Arc(axis, least, most, has_ends=True)


def point_arc(axis: int, angles: Array) -> Array:
    """Return the directions of Y, or of Z if the axis is Y, after turns (m,), shape (m, 3)."""
    cosine, sine, zero = np.cos(angles), np.sin(angles), np.zeros_like(angles)
    carried = ((zero, cosine, sine), (sine, zero, cosine), (-sine, cosine, zero))
    return np.column_stack(carried[axis])


def trace_swing(ranges: SwingTwistRange) -> Array | None:
    """Return the boundary of a swing, a closed line of directions (m, 3); None without limits."""
    halves = ranges.above_x, ranges.below_x, ranges.above_z, ranges.below_z
    if all(math.isinf(half) for half in halves):
        return None
    quarters = [_trace_quarter(ranges, *sides) for sides in QUARTER_SIDES]
    # Reverse every second quarter, so that each quarter begins where the last one ends.
    quarters[1::2] = [quarter[::-1] for quarter in quarters[1::2]]
    x, z = np.concatenate(quarters).T
    clamped = swing_twist.clamp_swing(ARRAYS, ranges, x, z, np.zeros_like(x))
    return point_swing(clamped.swing_x, clamped.swing_z)


def point_swing(x: Array, z: Array) -> Array:
    """Return the Y axis after swings, shape (..., 3), from sin(angle / 2) about X and Z."""
    square = np.minimum(x * x + z * z, 1.0)
    cosine = 2.0 * np.sqrt(1.0 - square)
    return np.stack((-cosine * z, 1.0 - 2.0 * square, cosine * x), axis=-1)


def _trace_quarter(ranges: SwingTwistRange, side_x: float, side_z: float) -> Array:
    """Return a quarter of a swing's boundary from the X axis to Z, sines about both, (m, 2)."""
    half_x = ranges.above_x if side_x > 0.0 else ranges.below_x
    half_z = ranges.above_z if side_z > 0.0 else ranges.below_z
    middle = np.array([ranges.middle_x, ranges.middle_z])
    sides = np.array([side_x, side_z])
    if min(half_x, half_z) > LOCKED_WIDTH and math.isfinite(half_x + half_z):
        angle = 0.5 * math.pi * np.linspace(0.0, 1.0, QUARTER_POINTS)
        ellipse = np.column_stack((half_x * np.cos(angle), half_z * np.sin(angle)))
        round_quarter: Array = middle + sides * ellipse
        return round_quarter
    # Middles, positive toward this side.
    middle_x, middle_z = side_x * ranges.middle_x, side_z * ranges.middle_z
    edge_x = _trace_edge(half_x, half_z, middle_x, middle_z)
    edge_z = _trace_edge(half_z, half_x, middle_z, middle_x)[::-1, ::-1]
    box: Array = middle + sides * np.vstack((edge_x, edge_z))
    return box


def _trace_edge(half: float, other: float, middle: float, other_middle: float) -> Array:
    """Return one side of a box, from the middle of the side to the corner, shape (m, 2).

    A side without a limit lies beyond half a turn; the clamp brings all of it to one direction.
    """
    if math.isinf(half):
        return np.array([[UNREACHABLE_SINE, 0.0]])
    end = other
    if math.isinf(end):
        across = min(1.0, abs(middle + half))
        end = math.sqrt(1.0 - across * across) - other_middle
    # Denser toward half a turn, where a small change of the sine is a large change of the angle.
    steps = end * np.sin(0.5 * math.pi * np.linspace(0.0, 1.0, QUARTER_POINTS))
    return np.column_stack((np.full(QUARTER_POINTS, half), steps))


def swing_axes(directions: Array) -> Array:
    """Return the axes after the shortest swings of Y to directions, shape (..., 3, 3)."""
    x, y, z = np.moveaxis(directions, -1, 0)
    # A swing of half a turn has no shortest way.
    factor = 1.0 / np.maximum(1.0 + y, swing_twist.MIN_SWING_COSINE)
    across = -x * z * factor
    rows = (
        *(1.0 - x * x * factor, x, across),
        *(-x, y, -z),
        *(across, z, 1.0 - z * z * factor),
    )
    return np.stack(rows, axis=-1).reshape(*directions.shape, 3)
