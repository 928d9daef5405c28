"""How long something takes."""

from __future__ import annotations

from collections.abc import Callable

# The most repeats, and the seconds after which there are no more.
REPEATS, ENOUGH = 8, 0.1


def quickest(first: float, again: Callable[[], float]) -> float:
    """Return the shortest time of several runs, in seconds; repeated only while that is cheap.

    Args:
        first: The time of the first run.
        again: Runs it once more and returns the time of that.
    """
    least = spent = first
    for _ in range(REPEATS):
        if spent > ENOUGH:
            break
        seconds = again()
        least, spent = min(least, seconds), spent + seconds
    return least
