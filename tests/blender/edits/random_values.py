"""Draws of the values of edits: numbers that stand for things, and choices."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple


class Draw(NamedTuple):
    """A function that draws a value with a random generator."""

    value: Callable[[random.Random], Any]


def integers(least: int, most: int) -> Draw:
    return Draw(lambda rng: rng.randint(least, most))


def sampled(values: Iterable[Any]) -> Draw:
    choices = list(values)
    return Draw(lambda rng: rng.choice(choices))


def maybe(source: Draw) -> Draw:
    """Return a draw that gives None half of the time."""
    return Draw(lambda rng: source.value(rng) if rng.random() < 0.5 else None)


def one_of(words: str) -> Draw:
    return sampled(words.split())


def pairs(**values: tuple[Any, ...]) -> Draw:
    """Return a draw of a property and one of its values."""
    return sampled((name, value) for name, choices in values.items() for value in choices)


THING = integers(0, 31)
"""Number of an object, bone or chain, taken modulo their count."""
SEED = integers(0, 99)
"""Small numbers that stand for places, rotations and rigs."""
FLAG = sampled((False, True))
AXIS = integers(0, 2)
SCALE = sampled(
    (
        *((1, 1, 1), (2, 2, 2), (-1, 1, 1), (1, -0.5, 1), (-1, -1, -1), (0.5, 2, 1), (1, 3, 1)),
        *((0, 1, 1), (0, 0, 0), (1e6, 1e6, 1e6), (1e-6, 1e-6, 1e-6), (1e-3, 1e3, 1)),
    )
)
