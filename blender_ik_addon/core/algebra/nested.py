"""Tuples of numbers, nested in any way, as one: poses, bones, and what a loop carries along."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from inspect import signature
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

from .arithmetic import ARRAYS, Array, Condition, Counts, Flags, Number

T = TypeVar("T")
Nested = Any
"""A number, None, or a tuple of such; named tuples stay what they are."""


def lift(
    formula: Callable[..., Nested],
    split: Callable[[Array], Nested],
    join: Callable[[Nested], Array],
    split_first: Callable[[Array], Nested] | None = None,
) -> Callable[..., Array]:
    """Return a formula of tuples of numbers for arrays, which are split into them and joined."""
    numbers = partial(formula, ARRAYS) if "m" in signature(formula).parameters else formula

    @wraps(formula)
    def lifted(first: Array, *others: Any) -> Array:
        return join(numbers((split_first or split)(first), *[split(each) for each in others]))

    return lifted


def transform_leaves(function: Callable[..., Any], first: Nested, *others: Nested) -> Nested:
    """Return what a function makes of the arrays in one nesting, or in several that are alike.

    What is no array, such as the number of an axis, stays as it is in the first one. Records of
    rows are given to the function whole.
    """
    if isinstance(first, tuple):
        parts = [transform_leaves(function, *each) for each in zip(first, *others, strict=True)]
        make = getattr(type(first), "_make", tuple)
        return make(parts)
    return function(first, *others) if isinstance(first, np.ndarray | Rows) else first


def choose(condition: Condition, yes: Nested, no: Nested) -> Nested:
    """Return one nesting of numbers or the other; row by row where they are arrays (..., B)."""
    if not isinstance(condition, np.ndarray):
        return yes if condition else no
    if condition.all():
        return yes
    if not condition.any():
        return no

    def chosen(one: Any, other: Any) -> Any:
        if isinstance(one, Rows):
            return type(one)(*transform_leaves(chosen, one.parts(), other.parts()))
        return np.where(condition, one, other)

    return transform_leaves(chosen, yes, no)


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

    def put(self, rows: Counts, some: Self) -> Self:
        """Return the record with some chains as another one has them."""
        return type(self)(*put_rows(self.parts(), rows, some.parts()))

    def choose(self, is_own: Flags, other: Self) -> Self:
        """Return the record with the chains that are flagged (B,), the others of another one."""
        chosen: Self = choose(is_own, self, other)
        return chosen

    def parts(self) -> tuple[Any, ...]:
        """Return the fields."""
        names = getattr(self, "__dataclass_fields__", {})
        return tuple([getattr(self, name) for name in names])


def take_rows(nested: T, rows: Counts | Flags) -> T:
    """Return some rows of arrays (..., B) and records, laid out in memory as all arrays are."""
    # Indexing with a list of rows would put the rows first in memory.
    index: Any = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows

    def take(part: Array | Rows) -> Array | Rows:
        return part.take(index) if isinstance(part, Rows) else part.take(index, axis=-1)

    some: T = transform_leaves(take, nested)
    return some


def repeat_single(rows: Counts, count: int) -> Counts:
    """Return indices of some of so many rows, a single one of several twice.

    NumPy adds the numbers of one row up in another order than those of several: what comes of a
    row would depend, in its last digit, on whether others go with it, and where two poses are as
    good as each other the last digit chooses.
    """
    return np.repeat(rows, 2) if len(rows) == 1 < count else rows


def are_all(rows: Counts, count: int) -> bool:
    """Tell whether these are all of so many rows, in their order."""
    return len(rows) == count and bool((rows == np.arange(count)).all())


def put_rows(nested: Nested, rows: Counts, some: Nested) -> Nested:
    """Return arrays (..., B) in which some rows are others."""

    def replaced(values: Any, new: Any) -> Any:
        if isinstance(values, Rows):
            return values.put(rows, new)
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


def split(stack: Nested) -> Nested:
    """Return the components (..., B) of vectors or quaternions (..., components, B).

    Numbers (B,), and what is no array, are their only one.
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
"""What makes a formula take, and return, arrays (..., components, B)."""


def to_floats(array: Array | Counts, row: int) -> Nested:
    """Return one row of an array (..., B) as nested tuples of floats."""
    return _tupled(array[..., row].tolist())


def _tupled(values: Any) -> Nested:
    if not isinstance(values, list):
        return values
    is_deep = values and isinstance(values[0], list)
    return tuple(map(_tupled, values)) if is_deep else tuple(values)
