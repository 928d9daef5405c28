"""The joints of one chain in plain floats, as ``limits`` has them for many."""

from __future__ import annotations

from math import atan2, cos, hypot, inf, isfinite, pi, sin, sqrt
from typing import Protocol

from .joints import JointKind
from .limits import FREE, HINGES
from .single import Quaternion
from .single_start import Vector
from .swings import HALF_TURN, HELD, ON_EDGE

Edge = tuple[Vector, bool]
"""The way out of a range at whose edge a joint stands, told in the joint's frame, and whether the
way back is closed as well."""

TURN = 2.0 * pi
AXES: tuple[Vector, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


class Joint(Protocol):
    """One joint.

    Attributes:
        free: How it turns: None for any way, else the unit axes that it turns about, told in its
            frame, at the turn given last.
        edges: The edges that it stands on, likewise.
    """

    free: tuple[Vector, ...] | None
    edges: tuple[Edge, ...]

    def placed(self, turn: Quaternion) -> Quaternion:
        """Bring a turn into the range, note what it may do from there, and return it."""


def joint(kind: JointKind, low: Vector, high: Vector) -> Joint:
    """Return a joint of a kind with its least and greatest turns in radians."""
    if kind is JointKind.FIXED:
        return Fixed()
    if kind in HINGES:
        return Hinge(HINGES[kind], low, high)
    free = FREE[kind]
    low = (low[0] if free[0] else 0.0, low[1], low[2] if free[2] else 0.0)
    high = (high[0] if free[0] else 0.0, high[1], high[2] if free[2] else 0.0)
    return Ball(low, high, twists=free[1])


class Range:
    """Turns about one axis, from a least to a greatest angle."""

    __slots__ = ("high", "is_held", "low", "middle")

    def __init__(self, low: float, high: float) -> None:
        self.low, self.high = low, high
        is_closed = isfinite(low) and isfinite(high)
        self.middle = 0.5 * (low + high) if is_closed else 0.0
        self.is_held = high - low < HELD

    def clipped(self, angle: float) -> float:
        """Return an angle in the range; one outside goes to the edge nearer on the circle."""
        # ``round`` takes halves to even numbers, as NumPy does.
        angle -= TURN * round((angle - self.middle) / TURN)
        return min(max(angle, self.low), self.high)

    def edge(self, angle: float, axis: Vector) -> tuple[Edge, ...]:
        """Return the edge that a clipped angle about an axis stands on, or none."""
        if angle >= self.high - ON_EDGE:
            return ((axis, self.is_held),)
        if angle <= self.low + ON_EDGE:
            return (((-axis[0], -axis[1], -axis[2]), self.is_held),)
        return ()


class Fixed:
    """A joint that does not turn."""

    free: tuple[Vector, ...] | None = ()
    edges: tuple[Edge, ...] = ()

    def placed(self, _turn: Quaternion) -> Quaternion:
        """As ``Joint.placed``."""
        return (1.0, 0.0, 0.0, 0.0)


class Hinge:
    """A joint that turns about one axis."""

    def __init__(self, axis: int, low: Vector, high: Vector) -> None:
        """Take the axis by number."""
        self._axis, self._range = axis, Range(low[axis], high[axis])
        self.free: tuple[Vector, ...] | None = (AXES[axis],)
        self.edges: tuple[Edge, ...] = ()

    def placed(self, turn: Quaternion) -> Quaternion:
        """As ``Joint.placed``."""
        axis = self._axis
        angle = self._range.clipped(about(turn, axis))
        self.edges = self._range.edge(angle, AXES[axis])
        return about_axis(axis, angle)


class Ball:
    """A joint that swings, and twists unless it is one that does not."""

    free: tuple[Vector, ...] | None = None

    def __init__(self, low: Vector, high: Vector, *, twists: bool) -> None:
        """Take the ranges."""
        self._twist, self._twists = Range(low[1], high[1]), twists
        self._x, self._z = _Swing(low[0], high[0]), _Swing(low[2], high[2])
        self.edges: tuple[Edge, ...] = ()

    def placed(self, turn: Quaternion) -> Quaternion:
        """As ``Joint.placed``."""
        w, x, y, z = turn
        cosine = hypot(w, y)
        cw, cy = (w / cosine, y / cosine) if cosine > HALF_TURN else (1.0, 0.0)
        sx, sz = x * cw + z * cy, z * cw - x * cy
        twist = self._twist.clipped(2.0 * atan2(cy, cw)) if self._twists else 0.0
        u, v = sx - self._x.middle, sz - self._z.middle
        a, b = self._x.half(u), self._z.half(v)
        is_round = HELD < a < inf and HELD < b < inf
        if is_round:
            out = hypot(u / a, v / b)
            if out > 1.0:
                u, v, out = u / out, v / out, 1.0
        else:
            out = 0.0
            u, v = min(max(u, -a), a), min(max(v, -b), b)
        sx, sz = u + self._x.middle, v + self._z.middle
        size = hypot(sx, sz)
        if size > 1.0:
            sx, sz = sx / size, sz / size
        cosine = sqrt(max(1.0 - sx * sx - sz * sz, 0.0))
        half = 0.5 * twist
        ct, st = cos(half), sin(half)
        is_corner = self._x.ends_at(u) or self._z.ends_at(v)
        is_out = is_round and out >= 1.0 - ON_EDGE and not is_corner
        gradient = (-sz, cosine, sx)
        self.edges = self._twist.edge(twist, gradient) if self._twists else ((gradient, True),)
        side_x, side_z = self._x.side(u), self._z.side(v)
        if is_out or side_x or side_z:
            by_x, by_z = _swing_gradients(sx, sz, cosine)
            if is_out:
                gx, gz = u / (a * a), v / (b * b)
                self.edges += ((_unit_sum(by_x, gx, by_z, gz), False),)
            elif side_x:
                self.edges += ((_unit_sum(by_x, side_x, by_z, 0.0), self._x.is_held),)
            if side_z and not is_out:
                self.edges += ((_unit_sum(by_x, 0.0, by_z, side_z), self._z.is_held),)
        return (cosine * ct, sx * ct - sz * st, cosine * st, sz * ct + sx * st)


class _Swing:
    """A swing's range about X or Z, as sines of half angles."""

    __slots__ = ("_high", "_low", "is_held", "middle")

    def __init__(self, low: float, high: float) -> None:
        self.middle = _sine(min(max(0.0, low), high))
        self._low, self._high = self.middle - _sine(low), _sine(high) - self.middle
        self.is_held = high - low < HELD

    def half(self, offset: float) -> float:
        """Return the half axis of the range on the side of an offset from its middle."""
        return self._high if offset >= 0.0 else self._low

    def ends_at(self, offset: float) -> bool:
        """Tell whether the range ends at its middle, and an offset is there."""
        return abs(offset) <= ON_EDGE and (self._high <= HELD or self._low <= HELD)

    def side(self, offset: float) -> float:
        """Return which end of the range an offset stands on, 1 or -1, or 0 for none."""
        if offset >= self._high - ON_EDGE:
            return 1.0
        return -1.0 if offset <= ON_EDGE - self._low else 0.0


def _sine(angle: float) -> float:
    if not isfinite(angle):
        return angle
    return sin(0.5 * min(max(angle, -pi), pi))


def _swing_gradients(sx: float, sz: float, cosine: float) -> tuple[Vector, Vector]:
    """As ``limits``: how the swing grows with turns."""
    x, y, z = -2.0 * cosine * sz, 1.0 - 2.0 * (sx * sx + sz * sz), 2.0 * cosine * sx
    cosine = max(cosine, 1e-6)
    half, quarter = 0.5 / cosine, 0.25 / (cosine * cosine)
    of_x, of_z = quarter * sx, quarter * sz
    by_x = (y * half + z * of_x, -x * half, -x * of_x)
    by_z = (z * of_z, -z * half, y * half - x * of_z)
    return by_x, by_z


def _unit_sum(a: Vector, share_a: float, b: Vector, share_b: float) -> Vector:
    """Return the direction of a weighted sum."""
    x = a[0] * share_a + b[0] * share_b
    y = a[1] * share_a + b[1] * share_b
    z = a[2] * share_a + b[2] * share_b
    size = sqrt(x * x + y * y + z * z) or 1.0
    return (x / size, y / size, z / size)


def about(turn: Quaternion, axis: int) -> float:
    """Return the part of a turn about a frame axis; as in ``limits``."""
    w, x, y, z = turn
    if axis == 0:
        return atan2(2.0 * (w * x - y * z), w * w - x * x - y * y + z * z)
    if axis == 2:
        return atan2(2.0 * (w * z - x * y), w * w + x * x - y * y - z * z)
    angle = 2.0 * atan2(y, w)
    return angle - TURN * round(angle / TURN)


def about_axis(axis: int, angle: float) -> Quaternion:
    """Return the turn about a frame axis by an angle."""
    cosine, sine = cos(0.5 * angle), sin(0.5 * angle)
    if axis == 0:
        return (cosine, sine, 0.0, 0.0)
    return (cosine, 0.0, sine, 0.0) if axis == 1 else (cosine, 0.0, 0.0, sine)


def along(turn: Quaternion) -> Vector:
    """Return where a turn carries the Y axis."""
    w, x, y, z = turn
    return (2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x))


def rotated(turn: Quaternion, vector: Vector) -> Vector:
    """Return a vector turned."""
    w, x, y, z = turn
    a, b, c = vector
    p, q, r = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (a + w * p + y * r - z * q, b + w * q + z * p - x * r, c + w * r + x * q - y * p)
