"""The nearest poses of chains of ball joints within a range, found in other ways than the core's.

Swings and twists are sines of coordinates without bounds: the edge of a range is a fold, and a
smooth minimiser runs along it. It is L-BFGS with Armijo's rule, on many poses side by side. Chains
start at the origin along Y and are 1 long; all joints have one range about X, Y and Z.

Source: the transformation of bounded parameters of MINUIT (James and Roos, 1975); Nocedal and
Wright, "Numerical Optimization", 2006, algorithm 7.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

MEMORY = 8
# Slopes of half the squared distance that count as none, in squares of the length.
FLAT = 1e-9
# Distances that count as none, in lengths.
ARRIVED = 1e-6
# Coordinates move no farther in one step, in radians.
LARGEST_STEP = 0.5
# Starts are kept off the fold, where the slope across the edge is none: a share of the range.
OFF_FOLD = 1e-4


def draw(rng: np.random.Generator, bones: int, count: int) -> Array:
    """Return random coordinates (n, 3, B): swings spread evenly over their disc, and twists."""
    radius, around = np.arcsin(np.sqrt(rng.random((2, bones, count))))
    around = 2.0 * np.pi * rng.random((bones, count))
    twist = np.arcsin(rng.uniform(-1.0, 1.0, (bones, count)))
    return np.stack((radius * np.cos(around), twist, radius * np.sin(around)), axis=1)


def coordinates_of(wxyz: Array, limit: float, off_fold: float = OFF_FOLD) -> Array:
    """Return the coordinates (n, 3, B) of local rotations (B, n, 4) inside the range."""
    most = 1.0 - off_fold
    w, x, y, z = np.moveaxis(wxyz, -1, 0).swapaxes(1, 2)
    cosine = np.maximum(np.hypot(w, y), 1e-300)
    twist = 2.0 * np.arctan2(y, w)
    twist = (twist + np.pi) % (2.0 * np.pi) - np.pi
    swing = np.stack(((w * x + y * z) / cosine, (w * z - x * y) / cosine))
    size = np.hypot(*swing)
    share = np.minimum(size / np.sin(limit / 2.0), most)
    swing = swing * (np.arcsin(share) / np.maximum(size, 1e-300))
    turned = np.arcsin(np.clip(twist / limit, -most, most))
    return np.stack((swing[0], turned, swing[1]), axis=1)


def pose(coordinates: Array, limit: float) -> tuple[Array, Array]:
    """Return local rotations wxyz (B, n, 4) and joints (B, n + 1, 3) of coordinates."""
    posed = _Posed.at(coordinates, limit)
    points = np.stack([np.zeros_like(posed.points[0]), *posed.points])
    return np.stack(posed.local).transpose(2, 0, 1), points.transpose(2, 0, 1)


def find_nearest(start: Array, targets: Array, limit: float, steps: int) -> tuple[Array, Array]:
    """Return the coordinates of nearest poses, and their distances from the targets (B,).

    Args:
        start: Coordinates, shape (n, 3, B).
        targets: Shape (B, 3).
        limit: Radians.
        steps: Most poses that are looked at, for each row.
    """
    at, distances = start.copy(), np.zeros(len(targets))
    rows, goal = np.arange(len(targets)), targets.T
    run = _Run.begin(start, goal, limit)
    for count in range(steps):
        run.step(goal, limit, count % MEMORY)
        is_left = ~run.is_done()
        if is_left.mean() < 0.7 or count == steps - 1:
            at[..., rows] = run.at.reshape(*at.shape[:2], -1)
            distances[rows] = np.sqrt(2.0 * run.value)
            rows, goal = rows[is_left], goal[:, is_left]
            run.keep(is_left)
        if not rows.size:
            break
    return at, distances


class _Posed(NamedTuple):
    """Local rotations, rotations before joints, and ends of bones, of B poses: (4 or 3, B)."""

    local: list[Array]
    before: list[Array]
    points: list[Array]

    @classmethod
    def at(cls, coordinates: Array, limit: float) -> _Posed:
        frame = np.zeros((4, coordinates.shape[-1]))
        frame[0], point, posed = 1.0, 0.0, cls([], [], [])
        for p in coordinates:
            x, z, twist = *(p[::2] * (np.sin(limit / 2.0) * _sinc(p))), limit * np.sin(p[1])
            w, c, s = np.sqrt(1.0 - x * x - z * z), np.cos(twist / 2.0), np.sin(twist / 2.0)
            turn = np.stack((w * c, x * c - z * s, w * s, z * c + x * s))
            posed.local.append(turn)
            posed.before.append(frame)
            frame = _multiply(frame, turn)
            point = point + _y_axis(frame) / len(coordinates)
            posed.points.append(point)
        return posed


def _find_slope(coordinates: Array, goal: Array, limit: float) -> tuple[Array, Array]:
    """Return half the squared distances (B,) and their slopes (n, 3, B)."""
    posed, slope = _Posed.at(coordinates, limit), np.empty_like(coordinates)
    off = posed.points[-1] - goal
    for bone, p in enumerate(coordinates):
        head = posed.points[bone - 1] if bone else np.zeros_like(off)
        torque = _turn_back(posed.before[bone], _cross(posed.points[-1] - head, off))
        tx, ty, tz = torque
        radius, share = np.hypot(p[0], p[2]), _sinc(p)
        x, z = p[::2] * (np.sin(limit / 2.0) * share)
        w = np.sqrt(1.0 - x * x - z * z)
        # How the turn goes with swing and twist: R = S T, S = (w, x, 0, z).
        along = x * tx + z * tz
        gx = 2.0 * (x * along / w + w * tx + z * ty)
        gz = 2.0 * (z * along / w + w * tz - x * ty)
        axis = np.stack((-2.0 * w * z, 1.0 - 2.0 * (x * x + z * z), 2.0 * w * x))
        unit = p[::2] / np.maximum(radius, 1e-300)
        outward = gx * unit[0] + gz * unit[1]
        fold = np.sin(limit / 2.0) * (np.cos(radius) - share) * outward
        slope[bone, 0] = np.sin(limit / 2.0) * share * gx + fold * unit[0]
        slope[bone, 2] = np.sin(limit / 2.0) * share * gz + fold * unit[1]
        slope[bone, 1] = limit * np.cos(p[1]) * (axis * torque).sum(axis=0)
    return 0.5 * (off * off).sum(axis=0), slope


class _Run:
    """L-BFGS on B poses: a try at a time, accepted or halved, each row by itself."""

    def __init__(self, at: Array, value: Array, slope: Array) -> None:
        self.at, self.value, self.slope = at, value, slope
        self.way, self.share = self._shorten(-slope), np.ones_like(value)
        self.moves, self.changes = np.zeros((2, MEMORY, *at.shape))
        self.weights = np.zeros((MEMORY, at.shape[-1]))

    @classmethod
    def begin(cls, start: Array, goal: Array, limit: float) -> _Run:
        value, slope = _find_slope(start, goal, limit)
        return cls(start.reshape(-1, len(value)), value, slope.reshape(-1, len(value)))

    def is_done(self) -> npt.NDArray[np.bool_]:
        return (
            (np.abs(self.slope).max(axis=0) < FLAT)
            | (2.0 * self.value < ARRIVED**2)
            | (self.share < 1e-9)
        )

    def step(self, goal: Array, limit: float, place: int) -> None:
        tried = self.at + self.share * self.way
        value, slope = _find_slope(tried.reshape(-1, 3, tried.shape[-1]), goal, limit)
        slope = slope.reshape(tried.shape)
        promised = (self.way * self.slope).sum(axis=0) * self.share
        is_lower = value <= self.value + 1e-4 * promised
        move, change = tried - self.at, slope - self.slope
        bend = (move * change).sum(axis=0)
        is_kept = is_lower & (bend > 1e-12 * (change * change).sum(axis=0))
        self.moves[place], self.changes[place] = move, change
        self.weights[place] = np.where(is_kept, 1.0 / np.where(is_kept, bend, 1.0), 0.0)
        self.at = np.where(is_lower, tried, self.at)
        self.slope = np.where(is_lower, slope, self.slope)
        self.value = np.where(is_lower, value, self.value)
        self.way = np.where(is_lower, self._find_way(place), self.way)
        self.share = np.where(is_lower, 1.0, 0.3 * self.share)

    def _find_way(self, newest: int) -> Array:
        order = [(newest - back) % MEMORY for back in range(MEMORY)]
        way, shares = self.slope.copy(), np.zeros_like(self.weights)
        for i in order:
            shares[i] = self.weights[i] * (self.moves[i] * way).sum(axis=0)
            way -= shares[i] * self.changes[i]
        bend = 1.0 / np.where(self.weights > 0.0, self.weights, 1.0)
        size = (self.changes * self.changes).sum(axis=1)
        scale = np.ones_like(self.value)
        for i in reversed(order):
            scale = np.where(self.weights[i] > 0.0, bend[i] / np.maximum(size[i], 1e-300), scale)
        way *= scale
        for i in reversed(order):
            way += self.moves[i] * (shares[i] - self.weights[i] * (self.changes[i] * way).sum(0))
        is_down = (way * self.slope).sum(axis=0) > 0.0
        return self._shorten(np.where(is_down, -way, -self.slope))

    def _shorten(self, way: Array) -> Array:
        return way * (LARGEST_STEP / np.maximum(np.abs(way).max(axis=0), LARGEST_STEP))

    def keep(self, rows: npt.NDArray[np.bool_]) -> None:
        for name, each in vars(self).items():
            setattr(self, name, each[..., rows])


def _sinc(p: Array) -> Array:
    return np.sinc(np.hypot(p[0], p[2]) / np.pi)


def _multiply(a: Array, b: Array) -> Array:
    return np.stack(
        (
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        )
    )


def _y_axis(q: Array) -> Array:
    w, x, y, z = q
    return np.stack((2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z + w * x)))


def _cross(a: Array, b: Array) -> Array:
    return np.stack(
        (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])
    )


def _turn_back(q: Array, v: Array) -> Array:
    twice = -2.0 * _cross(q[1:], v)
    return v + q[0] * twice - _cross(q[1:], twice)
