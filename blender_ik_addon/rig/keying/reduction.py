"""Reduction of keys: leave out keys of a property that the others replace, up to a tolerance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array, Indices

Metric = Callable[[Array, Array], Array]

ROTATIONS_OF_FOUR = ("rotation_quaternion", "rotation_axis_angle")


def needed_keys(
    frames: Array, values: Array, prop: str, bone_length: float, tolerance: float
) -> Indices:
    """Return the keys that are needed for linear keys to play the given values at each frame.

    Keys are added where the curves are farthest off, in each segment at once, until the error is
    within the tolerance. Source: Ramer (1972), Douglas and Peucker (1973), with all channels of the
    property as one curve.

    Args:
        frames: Frames in rising order, shape (f,).
        values: Values of the keyed channels of the property, shape (f, k).
        prop: Name of the property, for example ``rotation_quaternion``.
        bone_length: Unit of length for locations.
        tolerance: Radians for rotations, bone lengths for locations, factors for scales. Zero
            keeps all keys.

    Returns:
        Indices in rising order, with the first and the last one.
    """
    count, size = values.shape
    if tolerance <= 0.0 or (prop in ROTATIONS_OF_FOUR and size < 4):
        # If one of four components is locked, the others do not define the rotation.
        return np.arange(count)
    metric = _metric(prop, bone_length)
    keys = np.unique([0, count - 1])
    while True:
        played = np.column_stack([np.interp(frames, frames[keys], row[keys]) for row in values.T])
        error = metric(played, values)
        error[keys] = 0.0
        segments = np.searchsorted(keys, np.arange(count), side="right") - 1
        is_worst = error == np.maximum.reduceat(error, keys)[segments]
        # Keep values that are not a number.
        worst = np.flatnonzero(is_worst & ~(error <= tolerance) | np.isnan(error))
        if not len(worst):
            return keys
        _, firsts = np.unique(segments[worst], return_index=True)
        keys = np.union1d(keys, worst[firsts])


def _metric(prop: str, bone_length: float) -> Metric:
    """Return a function of two values (f, k) of a property that gives their distances, (f,)."""
    if prop == "rotation_quaternion":
        return _angles
    if prop == "rotation_axis_angle":
        return lambda *pair: _angles(*map(rotation.quaternion_from_axis_angle, pair))
    if prop == "rotation_euler":
        # The sum of the three turns is never less than the angle between both rotations.
        return lambda first, second: np.abs(first - second).sum(axis=1)
    unit = bone_length if prop == "location" else 1.0
    return lambda first, second: np.linalg.norm(first - second, axis=1) / unit


def _angles(first: Array, second: Array) -> Array:
    """Return the angles between rotations as quaternions of any length, shape (f,)."""
    first, second = rotation.unit(first), rotation.unit(second)
    # Unlike the scalar product, this is exact for small angles as well.
    distances = (np.linalg.norm(first - sign * second, axis=1) for sign in (1.0, -1.0))
    return 4.0 * np.arcsin(np.clip(0.5 * np.minimum(*distances), 0.0, 1.0))
