"""The base of all records: arrays that are checked, copied and frozen, and rows of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ..algebra.arithmetic import Array, Counts
from .errors import IKError

Shape = tuple[int | str, ...]
"""Sizes of axes; a word stands for any size."""
MAX_NUMBER = 1e100
"""Absolute value that no finite number reaches: products of squares would overflow to infinity."""
Kind = TypeVar("Kind")


def check_array(
    values: npt.ArrayLike,
    shape: Shape,
    name: str,
    error: type[IKError],
    *,
    can_be_infinite: bool = False,
) -> Array:
    """Return a frozen copy of numbers of a shape, or raise ``error`` with advice."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"The {name} must contain only numbers: give an array of floats.") from None
    if array.shape != shape:
        check_shape(array.shape, shape, name, error)
    if can_be_infinite:
        is_valid = not np.isnan(array).any()
    elif array.ndim == 1:
        # Of few numbers this is faster than NumPy.
        is_valid = math.hypot(*array.tolist()) < MAX_NUMBER
    else:
        is_valid = bool((np.abs(array) < MAX_NUMBER).all())
    if not is_valid:
        raise error(
            f"The {name} must be finite: check its source for NaN, infinity and huge numbers."
        )
    array.setflags(write=False)
    return array


def check_shape(
    actual: tuple[int, ...],
    shape: Shape,
    name: str,
    error: type[IKError],
    advice: str = "give an array of this shape",
) -> None:
    """Raise ``error`` with advice if a shape is not the required one."""
    pairs = zip(actual, shape, strict=False)
    wrong = [size for size, required in pairs if size != required and not isinstance(required, str)]
    if wrong or len(actual) != len(shape):
        words = str(shape).replace("'", "")
        raise error(f"The {name} must have shape {words}, not {actual}: {advice}.")


def check_kind(value: object, kind: type, name: str, error: type[IKError]) -> None:
    """Raise ``error`` with advice if a value is not a record of a class."""
    if not isinstance(value, kind):
        expected, actual = kind.__name__, type(value).__name__
        raise error(f"The {name} must be of the class {expected}, not {actual}: give {expected}.")


def freeze(record: object, name: str, value: object) -> None:
    """Set an attribute of a frozen record during its construction."""
    object.__setattr__(record, name, value)


class Record:
    """Frozen arrays of one chain; with one more leading axis, of many similar chains."""

    def take(self, rows: Counts | int) -> Self:
        """Return the record of some of the chains, or of one."""
        return take_record(type(self), self, rows)

    def _freeze_arrays(
        self,
        error: type[IKError],
        owner: str = "",
        *,
        can_be_infinite: bool = False,
        **shapes: Shape,
    ) -> None:
        """Replace arrays by checked copies; None stands for the default, which may be None.

        If the default is a number, a number stands for an array full of it.
        """
        for name, shape in shapes.items():
            values, default = getattr(self, name), getattr(type(self), name, ())
            if values is None:
                values = default
            if values is None:
                continue
            if isinstance(default, float) and np.ndim(values) == 0:
                values = np.broadcast_to(np.asarray(values), [int(size) for size in shape])
            words = owner + name.replace("_", " ")
            array = check_array(values, shape, words, error, can_be_infinite=can_be_infinite)
            freeze(self, name, array)


def take_record(kind: type[Kind], record: Any, rows: Counts | int | None) -> Kind:
    """Return some rows of a record as a record of another class, without a check.

    A single index removes the leading axis, None adds one. Plain numbers apply to all rows.
    """
    result = object.__new__(kind)
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if isinstance(value, np.ndarray):
            value = value[rows]
            value = value.item() if isinstance(value, np.generic) else value
        elif isinstance(value, Record):
            value = take_record(type(value), value, rows)
        result.__dict__[name] = value
    return result


def join_records(records: Sequence[Kind]) -> Kind:
    """Return one record with the rows of all records, one record after the other.

    Fields that are no arrays must be the same in all records.
    """
    first: Any = records[0]
    joined: Kind = object.__new__(type(first))
    # Only its fields, not what it has cached for its own rows.
    for name in first.__dataclass_fields__:
        value = getattr(first, name)
        if isinstance(value, np.ndarray):
            value = np.concatenate([getattr(record, name) for record in records])
        joined.__dict__[name] = value
    return joined
