"""One chain at a time in plain floats: the same solutions as ``positions`` gives for a batch.

NumPy's calls cost as much for one number as for a hundred. For a few chains it is quicker to write
the three components out and to keep NumPy for what goes along the segments of a chain. What is
decided here, and why, is told where the batch does it: in ``bend``, ``seed``, ``newton``,
``two_bone`` and ``reach``; tests/core/test_batch.py holds the two paths together.
"""

from __future__ import annotations

from math import atan2, cos, hypot, sin, sqrt
from typing import NamedTuple

import numpy as np

from . import single_newton
from .bend import AT_ROOT, JUST_OPPOSITE, POLE_GIVES_NO_SIDE, POLE_RULES
from .chain import Solver
from .single_start import SingleStart, Vector
from .two_bone import AT_ROOT as PAIR_AT_ROOT
from .two_bone import SAME_LENGTH, SMALLEST_BASE
from .vectors import NO_DIRECTION, Array

Quaternion = tuple[float, float, float, float]
SOLVERS = frozenset((Solver.TWO_BONE, Solver.NEWTON))
"""The solvers that this path knows."""


class SingleTask(NamedTuple):
    """What is asked of one chain; as ``Task``, armature space.

    Attributes:
        target: Point.
        pole: Point, or None.
        pole_angle: Radians.
        use_flip: Bend to the other side.
        tolerance: In units of the chain's start.
        iterations: Cap.
    """

    target: Vector
    pole: Vector | None
    pole_angle: float
    use_flip: bool
    tolerance: float
    iterations: int


class SinglePositions(NamedTuple):
    """As ``Positions``, for one chain; joints in armature space, shape (n + 1, 3)."""

    joints: Array
    rotation_wxyz: Quaternion
    iterations: int
    is_too_far: bool
    is_too_near: bool


class SingleBend(NamedTuple):
    """As ``Bend``, for one chain, with the distance from root to target in units of the start."""

    chord: Vector
    side: Vector
    rotation_wxyz: Quaternion
    distance: float


def positioned(start: SingleStart, task: SingleTask, solver: Solver) -> SinglePositions:
    """Return the joints that bring the effector of a chain to its target."""
    chord, side, rotation, distance = bend_to(start, task.target, task.pole, task.pole_angle)
    frame = np.array((chord, side, cross(chord, side)))
    is_too_far = distance >= start.reach
    is_too_near = 0.0 < start.least and distance <= start.least
    used = 0
    if is_too_far or is_too_near:
        local = _along_chord(start, is_folded=is_too_near and not is_too_far)
    elif solver is Solver.TWO_BONE:
        local = _two_bone(start, distance, use_flip=task.use_flip)
    else:
        local, used = single_newton.solved(start, distance, task.tolerance, task.iterations)
        _turn_to_side(local, start, has_pole=task.pole is not None, use_flip=task.use_flip)
    joints = local.dot(frame)
    if start.unit != 1.0:
        joints *= start.unit
    joints += start.origin
    return SinglePositions(joints, rotation, used, is_too_far, is_too_near)


def bend_to(
    start: SingleStart, target: Vector, pole: Vector | None, pole_angle: float
) -> SingleBend:
    """Return how a chain shall lie for its target and pole, as ``bend.wanted_bend``."""
    way = _relative(target, start)
    distance = sqrt(dot(way, way))
    chord = _chord(start, way, distance)
    side, rotation = swung(start.chord, start.side, chord)
    if pole is not None:
        side, rotation = swivelled(chord, side, rotation, _relative(pole, start), pole_angle)
    return SingleBend(chord, side, rotation, distance)


def pole_side(start: SingleStart, target: Vector, pole: Vector, pole_angle: float) -> Vector:
    """Return the unit direction that a chain with a pole bends toward, as ``bend.wanted_bend``."""
    return bend_to(start, target, pole, pole_angle).side


def chord_to(start: SingleStart, target: Vector) -> Vector:
    """Return the unit direction from a chain's root to a target in armature space."""
    to_target = _relative(target, start)
    return _chord(start, to_target, sqrt(dot(to_target, to_target)))


def _chord(start: SingleStart, target: Vector, distance: float) -> Vector:
    if distance < AT_ROOT * start.reach:
        return start.chord
    return (target[0] / distance, target[1] / distance, target[2] / distance)


def _relative(point: Vector, start: SingleStart) -> Vector:
    (x, y, z), (ox, oy, oz), unit = point, start.root, start.unit
    return ((x - ox) / unit, (y - oy) / unit, (z - oz) / unit)


def dot(a: Vector, b: Vector) -> float:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    ax, ay, az = a
    bx, by, bz = b
    return (ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx)


def swung(chord0: Vector, side0: Vector, chord: Vector) -> tuple[Vector, Quaternion]:
    """Return the start's side swung with its chord onto the new one, and the swing."""
    cosine = dot(chord0, chord)
    source, side = chord0, side0
    axis: Vector | None = None
    if cosine < 0.0:
        axis = _half_turn_axis(chord0, side0, chord)
        source = (-chord0[0], -chord0[1], -chord0[2])
        twice = 2.0 * dot(axis, side0)
        side = (
            twice * axis[0] - side0[0],
            twice * axis[1] - side0[1],
            twice * axis[2] - side0[2],
        )
        cosine = -cosine
    share = dot(chord, side) / (1.0 + cosine)
    side = (
        side[0] - (source[0] + chord[0]) * share,
        side[1] - (source[1] + chord[1]) * share,
        side[2] - (source[2] + chord[2]) * share,
    )
    w = sqrt(0.5 * (1.0 + cosine))
    x, y, z = cross(source, chord)
    rotation = (w, x / (2.0 * w), y / (2.0 * w), z / (2.0 * w))
    if axis is not None:
        rotation = multiply(rotation, (0.0, *axis))
    return side, rotation


def _half_turn_axis(chord0: Vector, side0: Vector, chord: Vector) -> Vector:
    x, y, z = cross(chord0, chord)
    along = x * chord0[0] + y * chord0[1] + z * chord0[2]
    x, y, z = x - along * chord0[0], y - along * chord0[1], z - along * chord0[2]
    size = sqrt(x * x + y * y + z * z)
    return (x / size, y / size, z / size) if size > NO_DIRECTION else cross(chord0, side0)


def multiply(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the quaternion that rotates by ``b`` first, then by ``a``."""
    aw, ax, ay, az = a
    bw, bx, by, bz = b
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def swivelled(
    chord: Vector, side: Vector, rotation: Quaternion, pole: Vector, pole_angle: float
) -> tuple[Vector, Quaternion]:
    """Return side and rotation turned about the chord toward a pole, as ``bend._swivel`` does."""
    distance = sqrt(dot(pole, pole))
    along = dot(pole, chord)
    part = (
        pole[0] - along * chord[0],
        pole[1] - along * chord[1],
        pole[2] - along * chord[2],
    )
    sine = sqrt(dot(part, part)) / (distance if distance > 0.0 else 1.0)
    share = smoothstep(sine, POLE_GIVES_NO_SIDE, POLE_RULES)
    angle = atan2(dot(cross(side, part), chord), dot(side, part))
    if angle < JUST_OPPOSITE:
        angle += 2.0 * np.pi
    angle = share * angle + pole_angle
    half = 0.5 * angle
    s = sin(half)
    rotation = multiply((cos(half), chord[0] * s, chord[1] * s, chord[2] * s), rotation)
    x, y, z = cross(chord, side)
    c, s = cos(angle), sin(angle)
    return (side[0] * c + x * s, side[1] * c + y * s, side[2] * c + z * s), rotation


def smoothstep(x: float, low: float, high: float) -> float:
    """Return 0 below ``low``, 1 above ``high`` and the cubic 3s^2 - 2s^3 between."""
    s = (x - low) / (high - low)
    s = 0.0 if s < 0.0 else 1.0 if s > 1.0 else s
    return s * s * (3.0 - 2.0 * s)


def _two_bone(start: SingleStart, distance: float, *, use_flip: bool) -> Array:
    foot, height, distance = elbow(start, distance)
    if use_flip:
        height = -height
    return np.array(((0.0, 0.0, 0.0), (foot, height, 0.0), (distance, 0.0, 0.0)))


def elbow(start: SingleStart, distance: float) -> tuple[float, float, float]:
    """Return the elbow's foot on the chord, its height over it, and the distance, as solved."""
    first, second = start.pair
    most = first + second
    distance = max(distance, SMALLEST_BASE * most)
    if distance < PAIR_AT_ROOT * most and abs(first - second) < SAME_LENGTH * most:
        first = second = 0.5 * most
    difference = first - second
    least = abs(difference)
    foot = 0.5 * distance + difference * most / (2.0 * distance)
    area = (most - distance) * (most + distance) * (distance - least) * (distance + least)
    return foot, sqrt(max(area, 0.0)) / (2.0 * distance), distance


def _along_chord(start: SingleStart, *, is_folded: bool) -> Array:
    steps = start.lengths
    if is_folded:
        steps = -steps
        steps[start.first_longest] *= -1.0
    local = np.zeros((start.count + 1, 3))
    np.cumsum(steps, out=local[1:, 0])
    return local


def _turn_to_side(local: Array, start: SingleStart, *, has_pole: bool, use_flip: bool) -> None:
    """Turn, then mirror a pose in its frame, in place, as ``bend`` does for a batch."""
    if not (has_pole or use_flip) or start.count < 2:
        return
    _, y, z = (local[1:-1].sum(axis=0) / (start.count - 1)).tolist()
    size = hypot(y, z)
    if has_pole and size > AT_ROOT * start.reach:
        c, s = y / size, z / size
        y, z = size, 0.0
        local[:, 1:] = local[:, 1:].dot(np.array(((c, -s), (s, c))))
    if use_flip:
        y, z = (y / size, z / size) if size > NO_DIRECTION else (1.0, 0.0)
        twice = 2.0 * (local[:, 1] * y + local[:, 2] * z)
        local[:, 1] -= twice * y
        local[:, 2] -= twice * z
