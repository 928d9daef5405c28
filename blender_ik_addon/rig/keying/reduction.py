"""Keys of one property left out where the others play the same, up to a tolerance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.algebra.arithmetic import Array, Indices

Metric = Callable[[Array, Array], Array]

ROTATIONS_OF_FOUR = ("rotation_quaternion", "rotation_axis_angle")
# The parts of a zero quaternion or axis stay zero when they are divided by this.
TINY = 1e-30


def needed(
    frames: Array, values: Array, prop: str, bone_length: float, tolerance: float
) -> Indices:
    """Return which keys are needed, so that linear keys play what was there at each frame.

    Keys are added where the curves are farthest off, in each segment at once, until none is off by
    more than the tolerance. Source: Ramer (1972), Douglas and Peucker (1973), with all channels of
    the property as one curve.

    Args:
        frames: In rising order, shape (f,).
        values: Of the keyed channels of the property, shape (f, k).
        prop: Name of the property, such as ``rotation_quaternion``.
        bone_length: What locations are measured by.
        tolerance: Radians that the bone may turn; how much it may move or grow, in its own
            lengths. Zero keeps all keys.

    Returns:
        Indices in rising order, with the first and the last one.
    """
    count, size = values.shape
    if tolerance <= 0.0 or (prop in ROTATIONS_OF_FOUR and size < 4):
        # With a locked number among the four, the others do not tell the rotation.
        return np.arange(count)
    metric = _metric(prop, bone_length)
    keys = np.unique([0, count - 1])
    while True:
        played = np.column_stack([np.interp(frames, frames[keys], each[keys]) for each in values.T])
        off = metric(played, values)
        off[keys] = 0.0
        segments = np.searchsorted(keys, np.arange(count), side="right") - 1
        is_worst = off == np.maximum.reduceat(off, keys)[segments]
        # What is not a number is kept.
        worst = np.flatnonzero(is_worst & ~(off <= tolerance) | np.isnan(off))
        if not len(worst):
            return keys
        _, firsts = np.unique(segments[worst], return_index=True)
        keys = np.union1d(keys, worst[firsts])


def _metric(prop: str, bone_length: float) -> Metric:
    """Return what tells how far values (f, k) of a property are from others, shape (f,)."""
    if prop == "rotation_quaternion":
        return _angles
    if prop == "rotation_axis_angle":
        return lambda one, other: _angles(_quaternions(one), _quaternions(other))
    if prop == "rotation_euler":
        # One turn after the other, so never less than the angle between both rotations.
        return lambda one, other: np.abs(one - other).sum(axis=1)
    unit = bone_length if prop == "location" else 1.0
    return lambda one, other: np.linalg.norm(one - other, axis=1) / unit


def _angles(one: Array, other: Array) -> Array:
    """Return the angles between rotations, quaternions of any length; shape (f,)."""
    one, other = _unit(one), _unit(other)
    # Exact for small angles as well, where the scalar product is not.
    ways = (np.linalg.norm(one - sign * other, axis=1) for sign in (1.0, -1.0))
    return 4.0 * np.arcsin(np.clip(0.5 * np.minimum(*ways), 0.0, 1.0))


def _quaternions(turns: Array) -> Array:
    """Return the quaternions of angles and axes."""
    halves = 0.5 * turns[:, :1]
    return np.hstack((np.cos(halves), np.sin(halves) * _unit(turns[:, 1:])))


def _unit(vectors: Array) -> Array:
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), TINY)
