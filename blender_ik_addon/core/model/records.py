"""What all records share: arrays that are checked, copied and frozen, and rows taken from them."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ..algebra.arithmetic import Array, Counts
from .errors import IKError

Flags = npt.NDArray[np.bool_]
Shape = tuple[int | str, ...]
"""Sizes of axes; a word stands for any size."""
Record = TypeVar("Record")


def check_array(
    values: npt.ArrayLike,
    shape: Shape,
    name: str,
    error: type[IKError],
    *,
    can_be_infinite: bool = False,
) -> Array:
    """Return a frozen copy of numbers in the wanted shape.

    Args:
        values: What was given.
        shape: Wanted.
        name: What to call it.
        error: What to raise.
        can_be_infinite: Whether infinite numbers are good ones.

    Raises:
        IKError: If these are not finite numbers of that shape; says what to do.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise error(f"The {name} must be made of numbers: give an array of floats.") from None
    if array.shape != shape:
        check_shape(array.shape, shape, name, error)
    if can_be_infinite:
        is_sound = not np.isnan(array).any()
    elif array.ndim == 1:
        # A sum of finite numbers that overflows is as useless as a number that is not finite.
        is_sound = math.isfinite(sum(array.tolist()))
    else:
        is_sound = bool(np.isfinite(array).all())
    if not is_sound:
        raise error(f"The {name} must be finite: check the transforms behind the numbers.")
    array.setflags(write=False)
    return array


def check_shape(
    found: tuple[int, ...],
    shape: Shape,
    name: str,
    error: type[IKError],
    advice: str = "give an array like that",
) -> None:
    """Raise if a shape is not the wanted one.

    Raises:
        IKError: With both shapes, and the advice.
    """
    is_alike = len(found) == len(shape) and all(
        isinstance(wanted, str) or size == wanted for size, wanted in zip(found, shape, strict=True)
    )
    if not is_alike:
        words = ", ".join(map(str, shape)) + "," * (len(shape) == 1)
        raise error(f"The {name} must have shape ({words}), not {found}: {advice}.")


def freeze(record: object, name: str, value: object) -> None:
    """Set an attribute of a frozen record while it is made."""
    object.__setattr__(record, name, value)


def take_record(kind: type[Record], record: Any, rows: Counts | int | None) -> Record:
    """Return a record with some of the rows of another one; it needs no check.

    Args:
        kind: Of the new record; its fields are those of the other one.
        record: The other one.
        rows: Indices; a single one takes the leading axis away, None adds one. Plain numbers hold
            for all rows.
    """
    taken = object.__new__(kind)
    for name in record.__dataclass_fields__:
        value = getattr(record, name)
        if isinstance(value, np.ndarray):
            value = value[rows]
            value = value.item() if isinstance(value, np.generic) else value
        elif hasattr(value, "shape") and hasattr(value, "__dataclass_fields__"):
            value = take_record(type(value), value, rows)
        taken.__dict__[name] = value
    return taken
