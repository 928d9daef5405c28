"""Tuples of numbers, nested in any way, as one: poses, bones, and what a loop carries along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .arithmetic import Array, Condition, Counts, Flags, Number

T = TypeVar("T")
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


class Rows:
    """A record of B chains: the chains are the last axis of its arrays.

    Records in it, and in its tuples, are taken with it; whatever else is in it holds of all chains.
    """

    found: ClassVar[tuple[str, ...]] = ()
    """Cached properties that hold of some of the chains as they do of all."""

    def take(self, rows: Counts | Flags) -> Self:
        """Return the record of some of the chains."""
        names = getattr(self, "__dataclass_fields__", {})
        some = object.__new__(type(self))
        some.__dict__.update({name: take_rows(getattr(self, name), rows) for name in names})
        some.__dict__.update({name: getattr(self, name) for name in self.found})
        return some


def take_rows(nested: T, rows: Counts | Flags) -> T:
    """Return some rows of arrays (..., B) and records, laid out in memory as all arrays are."""
    # Indexing with a list of rows would put the rows first in memory.
    index: Any = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    some: T = _take(nested, index)
    return some


def _take(nested: Any, index: Any) -> Any:
    if isinstance(nested, np.ndarray):
        return np.take(nested, index, axis=-1)
    if isinstance(nested, Rows):
        return nested.take(index)
    if isinstance(nested, tuple):
        make = getattr(type(nested), "_make", tuple)
        return make([_take(part, index) for part in nested])
    return nested


def repeat_single(rows: Counts, count: int) -> Counts:
    """Return indices of some of so many rows, a single one of several twice.

    NumPy adds the numbers of one row up in another order than those of several: what comes of a
    row would depend, in its last digit, on whether others go with it, and where two poses are as
    good as each other the last digit chooses.
    """
    return np.repeat(rows, 2) if len(rows) == 1 < count else rows


def put_rows(nested: Nested, rows: Counts, some: Nested) -> Nested:
    """Return arrays (..., B) in which some rows are others."""

    def replaced(values: Array, new: Array) -> Array:
        result = values.copy()
        result[..., rows] = new
        return result

    return transform_leaves(replaced, nested, some)


def to_numbers(array: Array | Counts, depth: int = 1) -> Nested:
    """Return an array as tuples of so many levels; a last axis beyond them stays an array."""
    if depth == array.ndim:
        return _tupled(array.tolist())
    if depth == 0:
        return array
    return tuple(to_numbers(part, depth - 1) for part in array)


def split(stack: Array) -> Nested:
    """Return the components (..., B) of vectors or quaternions (..., components, B)."""
    return tuple(stack[..., i, :] for i in range(stack.shape[-2]))


def join(components: tuple[Number, ...]) -> Array:
    """Return components (..., B) as vectors or quaternions (..., components, B)."""
    shape = components[0].shape
    stack = np.empty((*shape[:-1], len(components), shape[-1]))
    for i, component in enumerate(components):
        stack[..., i, :] = component
    return stack


def to_floats(array: Array | Counts, row: int) -> Nested:
    """Return one row of an array (..., B) as nested tuples of floats."""
    return _tupled(array[..., row].tolist())


def _tupled(values: Any) -> Nested:
    if not isinstance(values, list):
        return values
    is_deep = values and isinstance(values[0], list)
    return tuple(map(_tupled, values)) if is_deep else tuple(values)
