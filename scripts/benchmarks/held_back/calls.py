"""Count the NumPy calls of a solve, without a clock.

Arrays of a class of their own count the ufuncs and functions that they pass through; functions that
make arrays are wrapped. Methods such as ``reshape`` and indexing are not counted.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePath
from types import FrameType
from typing import Any
from unittest import mock

import numpy as np

MAKERS = (
    *("array", "asarray", "ascontiguousarray", "empty", "zeros", "ones", "full", "arange", "eye"),
    *("identity", "linspace", "fromiter"),
)
STEP = "step"
"""What the functions in solvers/ are called that do one iteration."""


class Tally:
    """What has been counted.

    Attributes:
        calls: By file of the core and by the file of the step around it, "" for none.
        steps: How often the step of each file was called.
    """

    def __init__(self) -> None:
        """Begin at nothing."""
        self.calls: Counter[tuple[str, str]] = Counter()
        self.steps: Counter[str] = Counter()
        self.is_on = False

    def add(self) -> None:
        """Count a call by the innermost function of the core around it."""
        if not self.is_on:
            return
        frame: FrameType | None = sys._getframe(2)
        file, around = "", ""
        while frame is not None:
            path = _core_file(frame)
            file = file or path
            if _is_step(frame, path):
                around = path
                break
            frame = frame.f_back
        if file:
            self.calls[file, around] += 1

    def watch(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call of a step; a profile function."""
        if event == "call" and frame.f_code.co_name == STEP:
            path = _core_file(frame)
            if _is_step(frame, path):
                self.steps[path] += 1

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Count what is called within."""
        before = sys.getprofile()
        self.is_on = True
        sys.setprofile(self.watch)
        try:
            yield
        finally:
            sys.setprofile(before)
            self.is_on = False


def _core_file(frame: FrameType) -> str:
    return _in_core(frame.f_code.co_filename)


@functools.cache
def _in_core(path: str) -> str:
    parts = PurePath(path).parts
    if "core" not in parts or parts[parts.index("core") - 1] != "blender_ik_addon":
        return ""
    return "/".join(parts[parts.index("core") + 1 :])


def _is_step(frame: FrameType, path: str) -> bool:
    return frame.f_code.co_name == STEP and path.startswith("solvers/")


TALLY = Tally()


class Counted(np.ndarray):  # type: ignore[type-arg]
    """An array that counts what it passes through."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """Count, and compute on plain arrays."""
        TALLY.add()
        out = options.get("out")
        if out is not None:
            options["out"] = _plain(out)
        found = getattr(ufunc, method)(
            *_plain(inputs), **{k: _plain(v) for k, v in options.items()}
        )
        return out[0] if out is not None and len(out) == 1 else _counted(found)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Count, and compute on plain arrays."""
        TALLY.add()
        out = kwargs.get("out")
        found = func(*_plain(args), **_plain(kwargs))
        return _counted(found) if out is None else out


def _plain(value: Any) -> Any:
    if isinstance(value, Counted):
        return value.view(np.ndarray)
    return _each(value, _plain)


def _counted(value: Any) -> Any:
    if type(value) is np.ndarray:
        return value.view(Counted)
    return _each(value, _counted)


def _each(value: Any, change: Any) -> Any:
    if isinstance(value, dict):
        return {name: change(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        each = [change(one) for one in value]
        return type(value)(*each) if hasattr(value, "_fields") else type(value)(each)
    return value


@contextlib.contextmanager
def counted_arrays() -> Iterator[None]:
    """Make all arrays that are made within by the core count."""

    def wrapped(make: Any) -> Any:
        def made(*args: Any, **options: Any) -> Any:
            TALLY.add()
            return _counted(make(*_plain(args), **_plain(options)))

        return made

    with contextlib.ExitStack() as stack:
        for name in MAKERS:
            stack.enter_context(mock.patch.object(np, name, wrapped(getattr(np, name))))
        yield


def count(bones: int, solver: str, many: int) -> dict[str, Any]:
    """Return the calls of a solve of one chain or of many, held back by their limits.

    Returns:
        Calls a solve, iterations (of the row that takes most), calls a step by its file, steps, and
        calls a step by the files they stand in.
    """
    from benchmarks.held_back import held_chains, measured
    from blender_ik_addon.core import Goal, Goals, solve, solve_batch

    targets, options = held_chains.goals_of(bones).held[:many], measured.options_of(solver)
    rotations = np.repeat(held_chains.start_rotations(bones)[None], many, axis=0)
    with counted_arrays():
        if many == 1:
            work = (solve, held_chains.make_chain(bones), Goal(targets[0]), options)
        else:
            work = (solve_batch, held_chains.chains_from(rotations), Goals(targets), options)
        work[0](*work[1:])
        TALLY.calls.clear()
        TALLY.steps.clear()
        with TALLY.counting():
            found = work[0](*work[1:])
    iterations = int(np.max(found.iterations))
    by_step: Counter[str] = Counter()
    by_file: Counter[str] = Counter()
    for (file, around), calls in TALLY.calls.items():
        by_step[around] += calls
        by_file[file] += calls if around else 0
    steps = sum(TALLY.steps.values())
    return {
        "calls": sum(TALLY.calls.values()),
        "iterations": iterations,
        "steps": dict(TALLY.steps),
        "a_step": {file: by_step[file] / often for file, often in TALLY.steps.items()},
        "by_file": {file: calls / steps for file, calls in by_file.most_common()},
    }
