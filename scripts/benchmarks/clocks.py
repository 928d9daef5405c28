"""Repeat work for a while and time it: the same rule for everybody who is compared."""

from __future__ import annotations

import statistics
import time
from typing import Callable

# A round repeats its work so often, or stops earlier after so many seconds.
LEAST_REPEATS, MOST_REPEATS, SECONDS = 3, 40, 0.5


def time_round(
    prepare: Callable[[], object],
    work: Callable[[], object],
    most: int = MOST_REPEATS,
) -> float:
    """Return the median milliseconds of one round's repetitions.

    Args:
        prepare: Called before each repetition, outside of the clocks.
        work: What is timed.
        most: Repetitions.
    """
    seconds: list[float] = []
    begin = time.perf_counter()
    while len(seconds) < most:
        if len(seconds) >= LEAST_REPEATS and time.perf_counter() - begin > SECONDS:
            break
        prepare()
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return 1e3 * statistics.median(seconds)
