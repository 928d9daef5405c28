"""What an edit is: a function whose values are drawn, and what it takes hold of."""

from __future__ import annotations

import functools
import inspect
import random
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.internal.conjecture.data import ConjectureData
from hypothesis.strategies import SearchStrategy

THING = st.integers(0, 31)
"""Which object, bone or chain: counted round as many as there are."""
SEED = st.integers(0, 99)
"""Small numbers stand for places, turns and rigs."""
FLAG = st.booleans()
AXIS = st.integers(0, 2)
SCALE = st.sampled_from(
    (
        *((1, 1, 1), (2, 2, 2), (-1, 1, 1), (1, -0.5, 1), (-1, -1, -1), (0.5, 2, 1), (1, 3, 1)),
        *((0, 1, 1), (0, 0, 0), (1e6, 1e6, 1e6), (1e-6, 1e-6, 1e-6), (1e-3, 1e3, 1)),
    )
)


class Found(NamedTuple):
    """What an edit takes hold of, drawn as a number; without it the edit does nothing.

    Attributes:
        find: Returns it, told the number and what has been found before it, by name.
        numbers: What the number is drawn of.
    """

    find: Callable[[int, dict[str, Any]], Any]
    numbers: SearchStrategy[int] = THING


Drawn = dict[str, SearchStrategy[Any] | Found]


class Edit(NamedTuple):
    """An edit.

    Attributes:
        function: Carries it out, told what is drawn and found by name; ``machine`` is the machine.
        drawn: What is drawn, by name and in order.
    """

    function: Callable[..., None]
    drawn: Drawn

    def draw(self, seed: str) -> dict[str, Any]:
        return draw(self.drawn, seed)

    def carry_out(self, machine: Any, values: dict[str, Any]) -> None:
        known = {"machine": machine}
        for name, value in values.items():
            thing = self.drawn[name]
            known[name] = thing.find(value, known) if isinstance(thing, Found) else value
            if isinstance(thing, Found) and known[name] is None:
                return
        parameters = inspect.signature(self.function).parameters.values()
        wanted = [each.name for each in parameters if each.default is each.empty]
        self.function(**{name: known[name] for name in wanted})


EDITS: dict[str, Edit] = {}
"""All edits by name; the modules of ``kinds`` add theirs."""


def edit(*of: Drawn, **drawn: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function an edit: what it is told is drawn, and the machine looks after it."""

    def added(function: Callable[..., None]) -> Callable[..., None]:
        all_drawn = {name: each for part in (*of, drawn) for name, each in part.items()}
        EDITS[function.__name__] = Edit(function, all_drawn)
        return function

    return added


def setters(of: Drawn, **edits: Drawn) -> None:
    """Add edits that set a property of what is found last in ``of``.

    Args:
        of: What is found.
        edits: By name of the edit the property and its values; "" for pairs of both.
    """
    *others, last = of
    for name, values in edits.items():
        ((path, drawn),) = values.items()
        things = {**{each: of[each] for each in others}, "thing": of[last], "value": drawn}
        EDITS[name] = Edit(functools.partial(_set, path=path), things)


def _set(thing: Any, value: Any, path: str) -> None:
    put(thing, *((path, value) if path else value))


def put(holder: Any, path: str, value: object) -> None:
    """Set a property by its path."""
    *above, name = path.split(".")
    for each in above:
        holder = getattr(holder, each)
    setattr(holder, name, value)


def pairs(**values: tuple[Any, ...]) -> SearchStrategy[tuple[str, Any]]:
    """Return what draws a property and one of its values."""
    return st.sampled_from([(name, each) for name, found in values.items() for each in found])


def draw(drawn: Drawn, seed: str) -> dict[str, Any]:
    """Return the values of an edit: the same for the same seed, whatever was drawn before."""
    source = ConjectureData(random=random.Random(seed))
    return {
        name: source.draw(each.numbers if isinstance(each, Found) else each)
        for name, each in drawn.items()
    }
