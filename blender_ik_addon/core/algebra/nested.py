"""Nested tuples of numbers, handled as one: poses, bones, and the state of a loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .arithmetic import ARRAYS, Array, Condition, Counts, Flags, Number

T = TypeVar("T")
Nested = Any
"""A number, None, or a tuple of nestings; named tuples keep their class."""


def lift(
    formula: Callable[..., Nested],
    split: Callable[[Array], Nested],
    join: Callable[[Nested], Array],
    split_first: Callable[[Array], Nested] | None = None,
) -> Callable[..., Array]:
    """Return a formula of tuples of numbers as a function of arrays, which it splits and joins."""
    on_numbers = partial(formula, ARRAYS) if "m" in signature(formula).parameters else formula

    @wraps(formula)
    def lifted(first: Array, *others: Any) -> Array:
        return join(on_numbers((split_first or split)(first), *[split(other) for other in others]))

    return lifted


def transform_leaves(function: Callable[..., Any], first: Nested, *others: Nested) -> Nested:
    """Apply a function to the arrays of a nesting, or of nestings with the same structure.

    A ``Rows`` record is one argument of the function. Other values, for example the index of an
    axis, come from the first nesting.
    """
    if isinstance(first, tuple):
        parts = [transform_leaves(function, *parts) for parts in zip(first, *others, strict=True)]
        make = getattr(type(first), "_make", tuple)
        return make(parts)
    return function(first, *others) if isinstance(first, np.ndarray | Rows) else first


def choose(condition: Condition, yes: Nested, no: Nested) -> Nested:
    """Return one nesting of numbers or the other; row by row if they are arrays (..., B)."""
    if not isinstance(condition, np.ndarray):
        return yes if condition else no
    if condition.all():
        return yes
    if not condition.any():
        return no

    def choose_rows(one: Any, other: Any) -> Any:
        if isinstance(one, Rows):
            return type(one)(*transform_leaves(choose_rows, one.parts(), other.parts()))
        return np.where(condition, one, other)

    return transform_leaves(choose_rows, yes, no)


class Rows:
    """A record of B chains, which are the last axis of its arrays.

    Its methods include records in its fields and tuples. Other values apply to all chains.
    """

    inherited: ClassVar[tuple[str, ...]] = ()
    """Cached properties that some of the chains take over from the record of all."""

    def take(self, rows: Counts | Flags) -> Self:
        """Return the record of some of the chains."""
        names = getattr(self, "__dataclass_fields__", {})
        taken = object.__new__(type(self))
        taken.__dict__.update({name: take_rows(getattr(self, name), rows) for name in names})
        taken.__dict__.update({name: getattr(self, name) for name in self.inherited})
        return taken

    def put(self, rows: Counts, other: Self) -> Self:
        """Return the record with some of its chains replaced by those of another record."""
        return type(self)(*put_rows(self.parts(), rows, other.parts()))

    def choose(self, flags: Flags, other: Self) -> Self:
        """Return the record with its flagged chains (B,), and the others of another record."""
        chosen: Self = choose(flags, self, other)
        return chosen

    def parts(self) -> tuple[Any, ...]:
        """Return the values of the fields."""
        names = getattr(self, "__dataclass_fields__", {})
        return tuple([getattr(self, name) for name in names])


def take_rows(nested: T, rows: Counts | Flags) -> T:
    """Return some rows of nested arrays (..., B) and records, in the usual layout in memory."""
    # Indexing with a list of rows would put the rows first in memory.
    index: Any = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows

    def take(part: Array | Rows) -> Array | Rows:
        return part.take(index) if isinstance(part, Rows) else part.take(index, axis=-1)

    taken: T = transform_leaves(take, nested)
    return taken


def repeat_single(rows: Counts, count: int) -> Counts:
    """Return indices of some of ``count`` rows; a single index is repeated if there are more rows.

    NumPy sums the numbers of one row in another order than those of more rows. So the last digit of
    a row's result would depend on the number of rows, and between two equally good poses the last
    digit chooses.
    """
    return np.repeat(rows, 2) if len(rows) == 1 < count else rows


def are_all(rows: Counts, count: int) -> bool:
    """Tell whether these are the indices of all ``count`` rows, in order."""
    return len(rows) == count and bool((rows == np.arange(count)).all())


def put_rows(nested: Nested, rows: Counts, others: Nested) -> Nested:
    """Return nested arrays (..., B) with some of the rows replaced by others."""

    def replace(values: Any, new: Any) -> Any:
        if isinstance(values, Rows):
            return values.put(rows, new)
        result = values.copy()
        result[..., rows] = new
        return result

    return transform_leaves(replace, nested, others)


def to_numbers(array: Array | Counts, depth: int = 1) -> Nested:
    """Return an array as nested tuples of ``depth`` levels; a last axis below stays an array."""
    if depth == array.ndim:
        return _to_tuples(array.tolist())
    if depth == 0:
        return array
    return tuple(to_numbers(part, depth - 1) for part in array)


def split(stack: Nested) -> Nested:
    """Return the components (..., B) of vectors or quaternions (..., components, B).

    Numbers (B,), and values other than arrays, are returned as they are.
    """
    if not isinstance(stack, np.ndarray) or stack.ndim == 1:
        return stack
    return tuple([stack[..., i, :] for i in range(stack.shape[-2])])


def join(components: tuple[Number, ...]) -> Array:
    """Return components (..., B) as vectors or quaternions (..., components, B)."""
    shape = components[0].shape
    stack = np.empty((*shape[:-1], len(components), shape[-1]))
    for i, component in enumerate(components):
        stack[..., i, :] = component
    return stack


in_columns = partial(lift, split=split, join=join)
"""Return a formula as a function of arrays (..., components, B)."""


def to_floats(array: Array | Counts, row: int) -> Nested:
    """Return one row of an array (..., B) as nested tuples of floats."""
    return _to_tuples(array[..., row].tolist())


def _to_tuples(values: Any) -> Nested:
    if not isinstance(values, list):
        return values
    is_deep = values and isinstance(values[0], list)
    return tuple(map(_to_tuples, values)) if is_deep else tuple(values)
