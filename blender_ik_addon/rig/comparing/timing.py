"""How long something takes."""

from __future__ import annotations

from collections.abc import Callable

# What is done is timed so many times more at most, while no more than so many seconds have gone.
REPEATS, ENOUGH = 8, 0.1


def quickest(first: float, again: Callable[[], float]) -> float:
    """Return the least of the seconds that something takes, done again while that is cheap.

    Args:
        first: What it has taken.
        again: Does it once more and returns what that has taken.
    """
    least = spent = first
    for _ in range(REPEATS):
        if spent > ENOUGH:
            break
        seconds = again()
        least, spent = min(least, seconds), spent + seconds
    return least
