"""What an edit is: what is drawn for it and found, and what is printed meanwhile."""

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

Known = dict[str, Any]
"""What has been drawn and found for an edit, by name; ``machine`` is the machine."""


class Found(NamedTuple):
    """What an edit takes hold of, drawn as a number; without it the edit does nothing.

    Attributes:
        find: Returns it, told the number and what is known before it.
        numbers: What the number is drawn of.
    """

    find: Callable[[int, Known], Any]
    numbers: Draw = THING


Drawn = dict[str, Any]
"""By name and in order: what draws a value, ``Found``, or the value itself."""


class Edit(NamedTuple):
    """What an edit does, and what is drawn for it."""

    function: Callable[[Known], None]
    drawn: Drawn

    def carry_out(self, machine: Any, values: dict[str, Any]) -> None:
        known = {"machine": machine}
        for name, value in values.items():
            thing = self.drawn[name]
            known[name] = thing.find(value, known) if isinstance(thing, Found) else value
            if isinstance(thing, Found) and known[name] is None:
                return
        self.function(known)


EDITS: dict[str, Edit] = {}
"""All edits by name; the modules of ``kinds`` add theirs."""


def edit(*of: Drawn, **drawn: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function an edit: it is told what it names of what is drawn and found."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        names = inspect.signature(function).parameters
        all_drawn = {name: each for part in (*of, drawn) for name, each in part.items()}
        EDITS[function.__name__] = Edit(
            lambda known: function(**{name: known[name] for name in names}), all_drawn
        )
        return function

    return added


def setters(of: Drawn, **edits: tuple[Any, ...]) -> None:
    """Add edits that set a property of what is found last in ``of``.

    Args:
        of: What is found.
        edits: By name of the edit the path of the property, in which ``{}`` is drawn as well, and
            what is drawn for it, the value last; "" for pairs of both.
    """
    for name, (path, *drawn) in edits.items():
        numbered = {f"drawn {i}": each for i, each in enumerate(drawn)}
        EDITS[name] = Edit(
            functools.partial(_set, path, list(of)[-1], list(numbered)), of | numbered
        )


def _set(path: str, owner: str, names: list[str], known: Known) -> None:
    *words, value = [known[name] for name in names]
    put(known[owner], *((path.format(*words), value) if path else value))


def put(holder: Any, path: str, value: object) -> None:
    """Set a property by its path."""
    *above, name = path.split(".")
    for each in above:
        holder = getattr(holder, each)
    if name.isdecimal():
        holder[int(name)] = value
    else:
        setattr(holder, name, value)


def buttons(of: Drawn, **edits: tuple[Any, Drawn]) -> None:
    """Add edits that press a button: its operator and options, each of them drawn or as it is."""
    for name, (operator, options) in edits.items():
        function = functools.partial(_press, list(options))
        EDITS[name] = Edit(function, {**of, "operator": operator, **options})


def _press(options: list[str], known: Known) -> None:
    operator = getattr(bpy.ops.pose, f"chain_ik_{known['operator']}")
    press(operator, **{name: known[name] for name in options})


def press(operator: Callable[..., set[str]], **settings: object) -> None:
    """Run an operator as its button does; a sentence with which it refuses is all right."""
    try:
        operator("EXEC_DEFAULT", True, **settings)
    except RuntimeError as error:
        if is_fault(str(error)):
            raise


def draw(drawn: Drawn, seed: str) -> dict[str, Any]:
    """Return the values of an edit: the same for the same seed, whatever was drawn before."""
    rng, found = random.Random(seed), {}
    for name, each in drawn.items():
        drawing = each.numbers if isinstance(each, Found) else each
        found[name] = drawing.value(rng) if isinstance(drawing, Draw) else drawing
    return found


# Blender prints what a handler raises to Python's stderr, and what an operator raises to the
# process's own stdout: it goes on after both.
SIGNS = ("Traceback", "Error: Python")


class Output:
    """Collects what is printed."""

    def __init__(self) -> None:
        # Left open: what the extension logs may go there for as long as it stays registered.
        self._file = tempfile.TemporaryFile("w+", errors="replace")

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what is printed meanwhile."""
        sys.stdout.flush()
        kept = [os.dup(number) for number in (1, 2)]
        _flush()
        for number in (1, 2):
            os.dup2(self._file.fileno(), number)
        try:
            with contextlib.redirect_stderr(self._file):
                yield
        finally:
            self._file.flush()
            _flush()
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)

    def taken(self) -> str:
        """Return what has been printed since the last call."""
        self._file.seek(0)
        found = self._file.read()
        self._file.seek(0)
        self._file.truncate()
        return found


def _flush() -> None:
    """Have the C library write what it has buffered."""
    ctypes.CDLL(None).fflush(None)


def is_fault(text: str) -> bool:
    """Tell whether a text tells of an exception."""
    return any(sign in text for sign in SIGNS)
