"""Comparisons, random numbers and records of calls, for the tests of core and of Blender."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def make_rng(seed: int) -> np.random.Generator:
    """Return a generator whose random numbers are the same on every run."""
    return np.random.default_rng(seed)


def assert_positions_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6
) -> None:
    """Check that points (..., 3) in the same space differ by no more than the tolerance."""
    _assert_close(actual, expected, tolerance, (1.0,))


def assert_rotations_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6
) -> None:
    """Check that unit quaternions wxyz (..., 4) are the same rotations: q and -q are equal.

    The tolerance bounds the distance of the quaternions, about half the angle in radians.
    """
    _assert_close(actual, expected, tolerance, (1.0, -1.0))


def vector_angles(one: npt.ArrayLike, other: npt.ArrayLike) -> Array:
    """Return the angles in radians between vectors (..., 3), exact for small angles too."""
    cross = np.linalg.norm(np.cross(one, other), axis=-1)
    return np.arctan2(cross, np.sum(np.multiply(one, other), axis=-1))


def angles_between(one: npt.ArrayLike, other: npt.ArrayLike) -> Array:
    """Return the angles in radians between rotations, unit quaternions wxyz (..., 4)."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    distances = np.minimum(*(np.linalg.norm(one - sign * other, axis=-1) for sign in (1.0, -1.0)))
    return 4.0 * np.arcsin(0.5 * distances)


def record_calls(monkeypatch: Any, owner: object, name: str) -> list[Any]:
    """Return a list to which every call of a function appends its first argument."""
    arguments, original = [], getattr(owner, name)

    def record(first: Any, *others: Any, **keywords: Any) -> Any:
        arguments.append(first)
        return original(first, *others, **keywords)

    monkeypatch.setattr(owner, name, record)
    return arguments


def _assert_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float, signs: tuple[float, ...]
) -> None:
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    distances = np.min([np.linalg.norm(actual - s * expected, axis=-1) for s in signs], axis=0)
    # This comparison fails for NaN too.
    assert np.all(distances <= tolerance), (
        f"{np.max(distances):.3g} apart, allowed {tolerance:.3g}\n{actual}\n{expected}"
    )
