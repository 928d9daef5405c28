"""Comparisons, random numbers and notes of calls that the tests of core and of Blender share."""

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def make_rng(seed: int) -> np.random.Generator:
    """Return random numbers that are the same on every run."""
    return np.random.default_rng(seed)


def assert_positions_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6
) -> None:
    """Check that points (..., 3) in the same space are no farther apart than the tolerance."""
    _assert_close(actual, expected, tolerance, (1.0,))


def assert_rotations_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float = 1e-6
) -> None:
    """Check that unit quaternions wxyz (..., 4) are the same rotations: q and -q are equal.

    The tolerance is that of the distance between the quaternions, about half the angle in radians.
    """
    _assert_close(actual, expected, tolerance, (1.0, -1.0))


def angles_of_ways(one: npt.ArrayLike, other: npt.ArrayLike) -> Array:
    """Return the angles in radians between vectors (..., 3), exact for small ones too."""
    cross = np.linalg.norm(np.cross(one, other), axis=-1)
    return np.arctan2(cross, np.sum(np.multiply(one, other), axis=-1))


def angles_between(one: npt.ArrayLike, other: npt.ArrayLike) -> Array:
    """Return the angles in radians between rotations, unit quaternions wxyz (..., 4)."""
    one, other = np.asarray(one, float), np.asarray(other, float)
    ways = np.minimum(*(np.linalg.norm(one - sign * other, axis=-1) for sign in (1.0, -1.0)))
    return 4.0 * np.arcsin(0.5 * ways)


def noted(monkeypatch: Any, owner: object, name: str) -> list[Any]:
    """Return a list that grows by the first argument of every call of a function."""
    found, wrapped = [], getattr(owner, name)

    def note(first: Any, *others: Any, **named: Any) -> Any:
        found.append(first)
        return wrapped(first, *others, **named)

    monkeypatch.setattr(owner, name, note)
    return found


def _assert_close(
    actual: npt.ArrayLike, expected: npt.ArrayLike, tolerance: float, signs: tuple[float, ...]
) -> None:
    actual, expected = np.asarray(actual, float), np.asarray(expected, float)
    assert actual.shape == expected.shape, f"shapes {actual.shape} and {expected.shape}"
    distances = np.min([np.linalg.norm(actual - s * expected, axis=-1) for s in signs], axis=0)
    # Written so that NaN fails too.
    assert np.all(distances <= tolerance), (
        f"{np.max(distances):.3g} apart, allowed {tolerance:.3g}\n{actual}\n{expected}"
    )
