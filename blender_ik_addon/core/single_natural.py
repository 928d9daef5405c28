"""``natural_start`` for one chain in plain floats."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import NamedTuple

from . import rotation, single
from .chain import Solver
from .natural_start import NaturalStart
from .single import Quaternion, SingleTask, cross, dot, multiply, swung
from .single_joints import Joint, rotated
from .single_start import SingleStart, Vector
from .turns import NO_AXIS
from .vectors import Array


class Aim(NamedTuple):
    """What is asked of one chain; armature space.

    Attributes:
        target: Point.
        pole: Point, or None.
        pole_angle: Radians.
        use_flip: Bend to the other side.
    """

    target: Vector
    pole: Vector | None
    pole_angle: float
    use_flip: bool


class SingleNatural:
    """What one chain bends from; as ``NaturalStart``, of frames that turn and scale only."""

    def __init__(self, natural: NaturalStart) -> None:
        """Take a batch of one."""
        start = natural.start
        self.start, self.is_straight = SingleStart(start), natural.is_straight.item()
        self._ahead = _vector((start.root + start.points[-1] * start.unit)[:, 0])
        self._turns = [_wxyz(turn) for turn in natural.turn[..., 0]]
        inner = rotation.quaternion_from_matrix(natural.inner[..., 0])
        self._inner = [_wxyz(turn) for turn in inner]
        segments = start.points[1:, :, 0] - start.points[:-1, :, 0]
        self._directions = [_vector(row) for row in segments / start.lengths]

    def bent(
        self, joints: Sequence[Joint], aim: Aim, tolerance: float, iterations: int
    ) -> list[Quaternion] | None:
        """Return the turns, inside their ranges, that lead the chain toward its target.

        None where a bone turns half round, of which ``natural_start`` knows how.
        """
        pole, angle = aim.pole, aim.pole_angle
        if pole is None and self.is_straight:
            pole, angle = self._ahead, 0.0
        task = SingleTask(aim.target, pole, angle, aim.use_flip, tolerance, iterations)
        free = single.positioned(self.start, task, Solver.NEWTON)
        whole = self._swing(aim.target) if self.is_straight else free.rotation_wxyz
        segments = (free.joints[1:] - free.joints[:-1]) / (self.start.columns * self.start.unit)
        found, parent = [], (1.0, 0.0, 0.0, 0.0)
        for each, turn, inner, start, now in zip(
            joints, self._turns, self._inner, self._directions, segments.tolist(), strict=True
        ):
            swing = _between(rotated(whole, start), now)
            if swing is None:
                return None
            bone = multiply(swing, whole)
            moved = multiply((parent[0], -parent[1], -parent[2], -parent[3]), bone)
            # As a vector, a turn and its opposite are one.
            x, y, z = rotated(inner, moved[1:])
            found.append(each.placed(multiply((moved[0], x, y, z), turn)))
            parent = bone
        return found

    def _swing(self, target: Vector) -> Quaternion:
        start = self.start
        return swung(start.chord, start.side, single.chord_to(start, target))[1]


def _between(source: Vector, target: Vector) -> Quaternion | None:
    """Return the shortest turn taking unit vectors to each other; None for opposite ones."""
    axis = cross(source, target)
    (a, b, c), (d, e, f) = source, target
    size = sqrt(dot(axis, axis))
    cosine = 0.5 * sqrt((a + d) ** 2 + (b + e) ** 2 + (c + f) ** 2)
    if size < NO_AXIS:
        return (1.0, 0.0, 0.0, 0.0) if cosine > 0.5 else None
    scale = 0.5 * sqrt((a - d) ** 2 + (b - e) ** 2 + (c - f) ** 2) / size
    return (cosine, axis[0] * scale, axis[1] * scale, axis[2] * scale)


def _wxyz(row: Array) -> Quaternion:
    w, x, y, z = row.tolist()
    return (w, x, y, z)


def _vector(row: Array) -> Vector:
    x, y, z = row.tolist()
    return (x, y, z)
