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


def round_clocks(
    prepare: Callable[[], object],
    work: Callable[[], object],
    seconds: float = SECONDS / 2,
    most: int = MOST_REPEATS,
) -> dict[str, float]:
    """Return the median time of one round's repetitions by two clocks, in milliseconds.

    The second tells what all threads of the process have worked: where it falls far behind the
    first, others had the machine, and the first says less.

    Args:
        prepare: Called before each repetition, outside of the clocks.
        work: What is timed.
        seconds: No more repetitions begin after so many.
        most: Repetitions.
    """
    walls: list[float] = []
    works: list[float] = []
    begin = time.perf_counter()
    while not walls or (len(walls) < most and time.perf_counter() - begin < seconds):
        prepare()
        start, start_work = time.perf_counter(), time.process_time()
        work()
        walls.append(time.perf_counter() - start)
        works.append(time.process_time() - start_work)
    return {"wall": 1e3 * statistics.median(walls), "work": 1e3 * statistics.median(works)}
