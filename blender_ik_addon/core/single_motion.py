"""The step of ``limited_newton`` for one chain in plain floats: joint motions and their system."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from . import limited_newton as batch
from .single import Quaternion
from .single_joints import Joint, rotated
from .single_start import Vector

# Normals nearer to the span of others than this sine are among them.
NO_NORMAL = 1e-6
NOWHERE: Vector = (0.0, 0.0, 0.0)
Growths = tuple[list[Vector], float]
"""Of a fourth thing to cancel besides the three of the position: how it grows with the turns of
each joint, and what it lacks."""


def gap(target: Vector, effector: Vector) -> float:
    """Return the distance of two points."""
    x, y, z = target[0] - effector[0], target[1] - effector[1], target[2] - effector[2]
    return sqrt(x * x + y * y + z * z)


def least_step(
    joints: Sequence[Joint],
    frames: list[Quaternion],
    heads: list[Vector],
    target: Vector,
    aim: Growths | None,
    damping: float,
) -> list[Vector]:
    """Return the least turns, told outside of the frames, that cancel the error to first order.

    Args:
        joints: The joints, which know their edges.
        frames: Theirs.
        heads: The joints and the effector.
        target: Where the effector shall be.
        aim: What shall be met besides, or None.
        damping: Compared with the system's diagonal.
    """
    tip = heads[-1]
    error = (target[0] - tip[0], target[1] - tip[1], target[2] - tip[2])
    growths = [NOWHERE] * len(joints) if aim is None else aim[0]
    motions = [
        _Motion(each, frame, (tip[0] - head[0], tip[1] - head[1], tip[2] - head[2]), growth)
        for each, frame, head, growth in zip(joints, frames, heads, growths, strict=False)
    ]
    for _ in range(batch.MOST_PASSES):
        system = [0.0] * 10
        for motion in motions:
            motion.add_to(system)
        if aim is None:
            multiplier, share = _solved(system, error, damping), 0.0
        else:
            multiplier, share = _solved_with(system, error, aim[1], damping)
        moves = [motion.turned(multiplier, share) for motion in motions]
        has_changed = False
        for motion, move in zip(motions, moves, strict=True):
            if motion.edges and motion.presses(move, multiplier, share):
                has_changed = True
        if not has_changed:
            break
    return moves


class _Motion:
    """What the turns of one joint do to the effector, and to the aim.

    A joint that turns any way does so but for the normals in ``shut``; another turns about
    ``axes`` only.
    """

    __slots__ = ("_free", "_locked", "axes", "edges", "growth", "lever", "shut")

    def __init__(self, each: Joint, frame: Quaternion, lever: Vector, growth: Vector) -> None:
        self.lever, self.growth = lever, growth
        free = each.free
        self._free = None if free is None else [rotated(frame, axis) for axis in free]
        # Each with whether neither way is free, and whether it is shut now.
        self.edges = [(rotated(frame, normal), held, held) for normal, held in each.edges]
        self._shut()
        self._locked = self.shut

    def add_to(self, system: list[float]) -> None:
        """Add what the joint can do to the entries xx, yy, zz, xy, xz, yz, xw, yw, zw, ww."""
        x, y, z = self.lever
        if self.axes is None:
            square = x * x + y * y + z * z
            system[0] += square - x * x
            system[1] += square - y * y
            system[2] += square - z * z
            system[3] -= x * y
            system[4] -= x * z
            system[5] -= y * z
            lines, sign = self.shut, -1.0
        else:
            lines, sign = self.axes, 1.0
        for a, b, c in lines:
            p, q, r = b * z - c * y, c * x - a * z, a * y - b * x
            system[0] += sign * p * p
            system[1] += sign * q * q
            system[2] += sign * r * r
            system[3] += sign * p * q
            system[4] += sign * p * r
            system[5] += sign * q * r
        if self.growth is not NOWHERE:
            self._add_aim_to(system)

    def _add_aim_to(self, system: list[float]) -> None:
        x, y, z = self.lever
        a, b, c = self._allowed(self.growth)
        system[6] += b * z - c * y
        system[7] += c * x - a * z
        system[8] += a * y - b * x
        d, e, f = self.growth
        system[9] += a * d + b * e + c * f

    def turned(self, multiplier: Vector, share: float) -> Vector:
        """Return the turn that a pull on the effector makes, and a share of what the aim asks."""
        return self._allowed(self._pull(multiplier, share))

    def _pull(self, multiplier: Vector, share: float) -> Vector:
        x, y, z = self.lever
        u, v, w = multiplier
        d, e, f = self.growth
        return (
            y * w - z * v + share * d,
            z * u - x * w + share * e,
            x * v - y * u + share * f,
        )

    def _allowed(self, turn: Vector) -> Vector:
        """Return what the joint allows of a turn."""
        p, q, r = turn
        a = b = c = 0.0
        for d, e, f in self.shut if self.axes is None else self.axes:
            share = d * p + e * q + f * r
            a, b, c = a + share * d, b + share * e, c + share * f
        return (p - a, q - b, r - c) if self.axes is None else (a, b, c)

    def presses(self, move: Vector, multiplier: Vector, share: float) -> bool:
        """Shut edges that the turn leaves by, open those that nothing presses on; tell if any."""
        a, b, c = move
        d, e, f = pull = self._pull(multiplier, share)
        for x, y, z in self._locked:
            along = x * pull[0] + y * pull[1] + z * pull[2]
            d, e, f = d - along * x, e - along * y, f - along * z
        least, edges = batch.LEAST_LEAVING, []
        for normal, is_held, is_shut in self.edges:
            x, y, z = normal
            if is_shut:
                is_pressed = x * d + y * e + z * f > -least
            else:
                is_pressed = x * a + y * b + z * c > least
            edges.append((normal, is_held, is_held or is_pressed))
        if edges == self.edges:
            return False
        self.edges = edges
        self._shut()
        return True

    def _shut(self) -> None:
        """Take the shut edges' normals from what is free."""
        self.axes = self._free
        self.shut: list[Vector] = []
        for (x, y, z), _, is_shut in self.edges:
            if not is_shut:
                continue
            if self.axes is not None:
                # The normals are the axes themselves, or opposite to them.
                self.axes = [a for a in self.axes if abs(a[0] * x + a[1] * y + a[2] * z) < 0.5]
                continue
            for a, b, c in self.shut:
                share = a * x + b * y + c * z
                x, y, z = x - share * a, y - share * b, z - share * c
            size = sqrt(x * x + y * y + z * z)
            if size > NO_NORMAL:
                self.shut.append((x / size, y / size, z / size))


def _solved(system: list[float], error: Vector, damping: float) -> Vector:
    """Solve the damped system of a position by its LDL factors."""
    xx, yy, zz, xy, xz, yz = system[:6]
    least = batch.LEAST_SYSTEM * max(xx + yy + zz, 0.0) + batch.NOTHING
    floor = max((xx + yy + zz) / 3.0 * damping, least)
    return _three((xx + floor, yy + floor, zz + floor, xy, xz, yz), error)


def _three(system: Sequence[float], right: Vector) -> Vector:
    xx, yy, zz, xy, xz, yz = system
    p, q = xy / xx, xz / xx
    second = yy - p * xy
    r = (yz - p * xz) / second
    third = zz - q * xz - r * r * second
    a, b = right[0], right[1] - p * right[0]
    c = (right[2] - q * a - r * b) / third
    b = b / second - r * c
    return (a / xx - p * b - q * c, b, c)


def _solved_with(
    system: list[float], error: Vector, lacking: float, damping: float
) -> tuple[Vector, float]:
    """Solve the damped system of a position and an aim: multipliers of the two."""
    xx, yy, zz, xy, xz, yz, xw, yw, zw, ww = system
    least = batch.LEAST_WITH_AIMS * max(xx + yy + zz + ww, 0.0) + batch.NOTHING
    floor = max((xx + yy + zz) / 3.0 * damping, least)
    three = (xx + floor, yy + floor, zz + floor, xy, xz, yz)
    ww += max(ww * damping, least)
    without = _three(three, error)
    back = _three(three, (xw, yw, zw))
    left = ww - (xw * back[0] + yw * back[1] + zw * back[2])
    share = (lacking - (xw * without[0] + yw * without[1] + zw * without[2])) / left
    multiplier = (
        without[0] - share * back[0],
        without[1] - share * back[1],
        without[2] - share * back[2],
    )
    return multiplier, share
