"""What an edit is: a function whose values are drawn, and what it takes hold of."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import bpy

from tests.blender.edits.random_output import is_fault
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
