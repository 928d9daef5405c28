"""Tuples of numbers, nested in any way, as one: poses, bones, and what a loop carries along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .arithmetic import Array, Condition

Counts = npt.NDArray[np.int64]

Nested = Any
"""A number, None, or a tuple of such; named tuples stay what they are."""


def transform_leaves(function: Callable[..., Any], first: Nested, *others: Nested) -> Nested:
    """Return what a function makes of the arrays in one nesting, or in several that are alike.

    What is no array, such as the number of an axis, stays as it is in the first one.
    """
    if isinstance(first, tuple):
        parts = [transform_leaves(function, *each) for each in zip(first, *others, strict=True)]
        make = getattr(type(first), "_make", tuple)
        return make(parts)
    return function(first, *others) if isinstance(first, np.ndarray) else first


def choose(condition: Condition, yes: Nested, no: Nested) -> Nested:
    """Return one nesting of numbers or the other; row by row where they are arrays (..., B)."""
    if not isinstance(condition, np.ndarray):
        return yes if condition else no
    if condition.all():
        return yes
    return transform_leaves(lambda one, other: np.where(condition, one, other), yes, no)


def take_rows(nested: Nested, rows: Counts) -> Nested:
    """Return some rows of arrays (..., B), laid out in memory as all arrays are."""
    return transform_leaves(lambda values: np.take(values, rows, axis=-1), nested)


def put_rows(nested: Nested, rows: Counts, some: Nested) -> Nested:
    """Return arrays (..., B) in which some rows are others."""

    def replaced(values: Array, new: Array) -> Array:
        result = values.copy()
        result[..., rows] = new
        return result

    return transform_leaves(replaced, nested, some)


def to_numbers(array: Array | Counts, depth: int = 1) -> Nested:
    """Return an array as tuples of so many levels; its last axis, the rows, stays an array."""
    if depth == 0:
        return array
    return tuple(to_numbers(part, depth - 1) for part in array)


def to_array(nested: Nested) -> Array:
    """Return tuples of numbers as one array."""
    array: Array = np.array(nested)
    return array


def to_floats(array: Array | Counts, row: int) -> Nested:
    """Return one row of an array (..., B) as nested tuples of floats."""
    return _tupled(array[..., row].tolist())


def _tupled(values: Any) -> Nested:
    return tuple(_tupled(each) for each in values) if isinstance(values, list) else values
