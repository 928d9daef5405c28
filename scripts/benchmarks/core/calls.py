"""Count the NumPy calls of a solve, without a clock.

Arrays of a class of their own count the ufuncs and functions that they pass through; functions that
make arrays are wrapped. Methods such as ``reshape`` and indexing are not counted.
"""

from __future__ import annotations

import contextlib
import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Callable
from unittest import mock

import numpy as np

MAKERS = (
    *("array", "asarray", "ascontiguousarray", "empty", "zeros", "ones", "full", "arange", "eye"),
    *("identity", "linspace", "fromiter"),
)
calls: Counter[str] = Counter()
"""By the file of the step around them, "" for none."""
steps: Counter[str] = Counter()
"""How often the functions `step` in solvers/, one iteration each, were called, by their file."""
under_way = [""]


def _note_step(frame: FrameType, event: str, _: object) -> None:
    """Keep the files of the steps that are under way."""
    if frame.f_code.co_name != "step" or "solvers" not in frame.f_code.co_filename:
        return
    if event == "call":
        under_way.append(f"solvers/{Path(frame.f_code.co_filename).name}")
        steps[under_way[-1]] += 1
    elif event == "return":
        under_way.pop()


class Counted(np.ndarray):  # type: ignore[type-arg]
    """An array that counts what it passes through."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return _compute(getattr(ufunc, method), inputs, options)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _compute(func, args, kwargs)


def _compute(work: Any, inputs: Any, options: dict[str, Any]) -> Any:
    """Count, and compute on plain arrays."""
    calls[under_way[-1]] += 1
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


def count_calls(prepare: Callable[[], Callable[[], Any]]) -> dict[str, Any]:
    """Return the calls of a solve that has been done once before: then all is compiled.

    Args:
        prepare: Makes the chains, and returns what solves them.

    Returns:
        Calls, iterations (of the row that takes most), and by the file of a step how often it was
        called, and the calls within each.
    """
    with contextlib.ExitStack() as stack:
        for name in MAKERS:
            counted = _counting(getattr(np, name))
            stack.enter_context(mock.patch.object(np, name, counted))
        solve = prepare()
        solve()
        calls.clear()
        steps.clear()
        sys.setprofile(_note_step)
        try:
            found = solve()
        finally:
            sys.setprofile(None)
    return {
        "calls": sum(calls.values()),
        "iterations": int(np.max(found.iterations)),
        "steps": {file: [often, calls[file] / often] for file, often in steps.items()},
    }
