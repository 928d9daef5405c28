"""Edits: their parameters, how these are drawn, and the text printed during an edit."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import inspect
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import bpy

from tests.blender.edits.random_values import THING, Draw

Arguments = dict[str, Any]
"""Drawn values and things of one call of an edit, by name; ``machine`` is the machine."""


class Lookup(NamedTuple):
    """A thing that an edit changes, drawn as a number; without the thing the edit does nothing.

    Attributes:
        find: Function of the number and the arguments before it that returns the thing.
        numbers: Draw of the number.
    """

    find: Callable[[int, Arguments], Any]
    numbers: Draw = THING


Parameters = dict[str, Any]
"""Parameters of an edit by name, in drawing order: a draw, a lookup, or the value itself."""


class Edit(NamedTuple):
    """The function of an edit, and its parameters."""

    function: Callable[[Arguments], None]
    drawn: Parameters

    def carry_out(self, machine: Any, values: dict[str, Any]) -> None:
        arguments = {"machine": machine}
        for name, value in values.items():
            source = self.drawn[name]
            arguments[name] = source.find(value, arguments) if isinstance(source, Lookup) else value
            if isinstance(source, Lookup) and arguments[name] is None:
                return
        self.function(arguments)


EDITS: dict[str, Edit] = {}
"""All edits by name; the modules of ``kinds`` register them."""


def edit(*shared: Parameters, **extra: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as an edit; it is called with the arguments that it names."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        names = inspect.signature(function).parameters
        all_parameters = {name: p for part in (*shared, extra) for name, p in part.items()}
        EDITS[function.__name__] = Edit(
            lambda arguments: function(**{name: arguments[name] for name in names}), all_parameters
        )
        return function

    return register


def add_setters(shared: Parameters, **edits: tuple[Any, ...]) -> None:
    """Register edits that set a property of the last thing of ``shared``.

    Args:
        shared: Parameters of all these edits.
        edits: Path of the property and its draws by name of the edit. The last draw is the value,
            the ones before fill each ``{}`` of the path. An empty path: pairs of path and value.
    """
    for name, (path, *sources) in edits.items():
        numbered = {f"drawn {i}": source for i, source in enumerate(sources)}
        EDITS[name] = Edit(
            functools.partial(_set, path, list(shared)[-1], list(numbered)), shared | numbered
        )


def _set(path: str, owner: str, names: list[str], arguments: Arguments) -> None:
    *words, value = [arguments[name] for name in names]
    set_by_path(arguments[owner], *((path.format(*words), value) if path else value))


def set_by_path(holder: Any, path: str, value: object) -> None:
    """Set a property by its path."""
    *above, name = path.split(".")
    for word in above:
        holder = getattr(holder, word)
    if name.isdecimal():
        holder[int(name)] = value
    else:
        setattr(holder, name, value)


def add_buttons(shared: Parameters, **edits: tuple[Any, Parameters]) -> None:
    """Register edits that press a button: its operator and options, drawn or constant."""
    for name, (operator, options) in edits.items():
        function = functools.partial(_press, list(options))
        EDITS[name] = Edit(function, {**shared, "operator": operator, **options})


def _press(options: list[str], arguments: Arguments) -> None:
    operator = getattr(bpy.ops.pose, f"chain_ik_{arguments['operator']}")
    press(operator, **{name: arguments[name] for name in options})


def press(operator: Callable[..., set[str]], **settings: object) -> None:
    """Run an operator as its button does; it may refuse with a message."""
    try:
        operator("EXEC_DEFAULT", True, **settings)
    except RuntimeError as error:
        if is_fault(str(error)):
            raise


def draw(parameters: Parameters, seed: str) -> dict[str, Any]:
    """Return the values of an edit, which depend on the seed only."""
    rng, values = random.Random(seed), {}
    for name, parameter in parameters.items():
        source = parameter.numbers if isinstance(parameter, Lookup) else parameter
        values[name] = source.value(rng) if isinstance(source, Draw) else source
    return values


# Blender prints the exception of a handler to Python's stderr, that of an operator to the
# stdout of the process, and continues after both.
FAULT_SIGNS = ("Traceback", "Error: Python")


class Output:
    """The collected text that Blender and Python print."""

    def __init__(self) -> None:
        # It stays open: the extension may log to it as long as it is registered.
        self._file = tempfile.TemporaryFile("w+", errors="replace")

    @contextlib.contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect what is printed in this block."""
        sys.stdout.flush()
        copies = [os.dup(number) for number in (1, 2)]
        _flush()
        for number in (1, 2):
            os.dup2(self._file.fileno(), number)
        try:
            with contextlib.redirect_stderr(self._file):
                yield
        finally:
            self._file.flush()
            _flush()
            for number, copy in zip((1, 2), copies, strict=True):
                os.dup2(copy, number)
                os.close(copy)

    def take(self) -> str:
        """Return the text printed since the last call, and clear it."""
        self._file.seek(0)
        text = self._file.read()
        self._file.seek(0)
        self._file.truncate()
        return text


def _flush() -> None:
    """Have the C library write what it has buffered."""
    ctypes.CDLL(None).fflush(None)


def is_fault(text: str) -> bool:
    """Return whether a text reports an exception."""
    return any(sign in text for sign in FAULT_SIGNS)
