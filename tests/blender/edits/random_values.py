"""What draws the values of edits: numbers that count things, and choices."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Draw(NamedTuple):
    """What draws a value, of random numbers."""

    value: Callable[[random.Random], Any]


def integers(least: int, most: int) -> Draw:
    return Draw(lambda rng: rng.randint(least, most))


def sampled(values: Iterable[Any]) -> Draw:
    known = list(values)
    return Draw(lambda rng: rng.choice(known))


def maybe(drawn: Draw) -> Draw:
    """Return what draws None half of the time."""
    return Draw(lambda rng: drawn.value(rng) if rng.random() < 0.5 else None)


def one_of(words: str) -> Draw:
    return sampled(words.split())


def pairs(**values: tuple[Any, ...]) -> Draw:
    """Return what draws a property and one of its values."""
    return sampled((name, each) for name, found in values.items() for each in found)


THING = integers(0, 31)
"""Which object, bone or chain: counted round as many as there are."""
SEED = integers(0, 99)
"""Small numbers stand for places, turns and rigs."""
FLAG = sampled((False, True))
AXIS = integers(0, 2)
SCALE = sampled(
    (
        *((1, 1, 1), (2, 2, 2), (-1, 1, 1), (1, -0.5, 1), (-1, -1, -1), (0.5, 2, 1), (1, 3, 1)),
        *((0, 1, 1), (0, 0, 0), (1e6, 1e6, 1e6), (1e-6, 1e-6, 1e-6), (1e-3, 1e3, 1)),
    )
)
