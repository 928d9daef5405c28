"""Vectors: tuples of three numbers."""

from __future__ import annotations

from typing import TypeVar

from .arithmetic import Arithmetic, Condition, Number

Vector = tuple[Number, Number, Number]
Numbers = TypeVar("Numbers", bound=tuple[Number, ...])

ZERO: Vector = (0.0, 0.0, 0.0)
# Direction of a bone in its axes.
BONE_DIRECTION: Vector = (0.0, 1.0, 0.0)
# A shorter vector of a chain scaled to unit length has no usable direction.
MIN_LENGTH = 1e-14


def add(a: Vector, b: Vector) -> Vector:
    """Return the sum."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def subtract(a: Vector, b: Vector) -> Vector:
    """Return the first vector minus the second."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def scale(a: Vector, by: Number) -> Vector:
    """Return a vector times a number."""
    return a[0] * by, a[1] * by, a[2] * by


def dot(a: Vector, b: Vector) -> Number:
    """Return the scalar product."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def norm(m: Arithmetic, a: Vector) -> Number:
    """Return the length."""
    return m.length(a[0], a[1], a[2])


def choose(m: Arithmetic, condition: Condition, yes: Numbers, no: Numbers) -> Numbers:
    """Return the first tuple of numbers if a condition is true, otherwise the second."""
    chosen: Numbers = m.choose(condition, yes, no)
    return chosen


def unit(m: Arithmetic, a: Vector, fallback: Vector) -> Vector:
    """Return the unit vector of a vector; the fallback if that has no direction."""
    size = norm(m, a)
    has_direction = size > MIN_LENGTH
    direction = scale(a, m.divide(1.0, size))
    return direction if m.all(has_direction) else choose(m, has_direction, direction, fallback)


def reject(a: Vector, axis: Vector) -> Vector:
    """Return the part of a vector across a unit axis."""
    return subtract(a, scale(axis, dot(a, axis)))


def perpendicular(m: Arithmetic, axis: Vector) -> Vector:
    """Return a unit vector across a unit axis, from the frame axis that is least aligned."""
    x, y, z = m.absolute(axis[0]), m.absolute(axis[1]), m.absolute(axis[2])
    is_x = (x <= y) & (x <= z)
    is_y = m.negate(is_x) & (y <= z)
    is_z = m.negate(is_x | is_y)
    frame_axis = m.where(is_x, 1.0, 0.0), m.where(is_y, 1.0, 0.0), m.where(is_z, 1.0, 0.0)
    aside = reject(frame_axis, axis)
    return scale(aside, m.divide(1.0, norm(m, aside)))


def smoothstep(m: Arithmetic, x: Number, low: Number, high: Number) -> Number:
    """Return 0 below ``low``, 1 above ``high`` and the cubic 3s^2 - 2s^3 between."""
    s = m.minimum(m.maximum((x - low) / (high - low), 0.0), 1.0)
    return s * s * (3.0 - 2.0 * s)
