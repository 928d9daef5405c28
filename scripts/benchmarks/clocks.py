"""Repeat something for a while and time it: the same rule for everybody who is compared."""

from __future__ import annotations

import statistics
import time
from typing import Callable

# A round repeats its work so often, or stops earlier after so many seconds.
LEAST_REPEATS = 3
MOST_REPEATS = 40
SECONDS = 0.6


def round_milliseconds(
    prepare: Callable[[], object], work: Callable[[], object], most: int = MOST_REPEATS
) -> float:
    """Return the median time of one round's repetitions, in milliseconds.

    Args:
        prepare: Called before each repetition, outside of the clock.
        work: What is timed.
        most: Repetitions, unless they take too long.
    """
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < most:
        if len(times) >= LEAST_REPEATS and time.perf_counter() - begin > SECONDS:
            break
        prepare()
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return 1e3 * statistics.median(times)
