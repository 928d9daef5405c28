"""Comparisons and random numbers that the tests of core and of Blender share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def make_rng(seed: int) -> np.random.Generator:
    """Return random numbers that are the same on every run."""
    return np.random.default_rng(seed)


def assert_positions_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6
) -> None:
    """Check that points are no farther apart than the tolerance.

    Args:
        actual: Points, shape (..., 3).
        expected: Points in the same space, same shape.
        tolerance: Largest allowed distance.
    """
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    distances = np.linalg.norm(actual - expected, axis=-1)
    # Written so that NaN fails too.
    assert np.all(distances <= tolerance), (
        f"{np.max(distances):.3g} apart, allowed {tolerance:.3g}\n{actual}\n{expected}"
    )


def assert_rotations_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6
) -> None:
    """Check that quaternions are the same rotations: q and -q are equal.

    Args:
        actual: Unit quaternions wxyz, shape (..., 4).
        expected: The same, same shape.
        tolerance: Largest allowed distance between the quaternions, about half the angle in
            radians.
    """
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    same_side = np.linalg.norm(actual - expected, axis=-1)
    other_side = np.linalg.norm(actual + expected, axis=-1)
    distances = np.minimum(same_side, other_side)
    assert np.all(distances <= tolerance), (
        f"{np.max(distances):.3g} apart, allowed {tolerance:.3g}\n{actual}\n{expected}"
    )
