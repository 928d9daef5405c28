"""Count the NumPy calls of a solve, without a clock.

Arrays of a class of their own count the ufuncs and functions that they pass through; functions that
make arrays are wrapped. Methods such as ``reshape`` and indexing are not counted.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable
from unittest import mock

import numpy as np

MAKERS = (
    *("array", "asarray", "ascontiguousarray", "empty", "zeros", "ones", "full", "arange", "eye"),
    *("identity", "linspace", "fromiter"),
)
calls = [0]


class Counted(np.ndarray):  # type: ignore[type-arg]
    """An array that counts what it passes through."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _compute(getattr(ufunc, method), inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _compute(func, args, kwargs)


def _compute(work: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """Count, and compute on plain arrays."""
    calls[0] += 1
    out = options.get("out")
    found = work(*_seen_as(np.ndarray, inputs), **_seen_as(np.ndarray, options))
    if out is None:
        return _seen_as(Counted, found)
    return out[0] if isinstance(out, tuple) and len(out) == 1 else out


def _seen_as(kind: type[np.ndarray], value: Any) -> Any:
    """Return arrays, also within what holds some, as one of the two classes."""
    if isinstance(value, np.ndarray):
        return value.view(kind)
    if isinstance(value, dict):
        return {name: _seen_as(kind, each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        each = [_seen_as(kind, one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else type(value)(each)
    return value


def _counting(make: Any) -> Any:
    def made(*args: Any, **options: Any) -> Any:
        return _compute(make, args, options)

    return made


def count_calls(prepare: Callable[[], Callable[[], Any]]) -> dict[str, int]:
    """Return the calls of a solve that has been done once before, and the most iterations.

    Args:
        prepare: Makes the chains, and returns what solves them.
    """
    with contextlib.ExitStack() as stack:
        for name in MAKERS:
            counted = _counting(getattr(np, name))
            stack.enter_context(mock.patch.object(np, name, counted))
        solve = prepare()
        # Then all is compiled.
        solve()
        calls[0] = 0
        found = solve()
    return {"calls": calls[0], "iterations": int(np.max(found.iterations))}
