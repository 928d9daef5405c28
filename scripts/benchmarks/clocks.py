"""Repeat work for a while and time it: the same rule for everybody who is compared."""

from __future__ import annotations

import statistics
import time
from typing import Callable

# A round repeats its work so often, or stops earlier after so many seconds.
LEAST_REPEATS, MOST_REPEATS, SECONDS = 3, 40, 0.5


def round_clocks(
    prepare: Callable[[], object],
    work: Callable[[], object],
    most: int = MOST_REPEATS,
    seconds: float = SECONDS,
) -> dict[str, float]:
    """Return the median milliseconds of one round's repetitions, by two clocks.

    What is prepared before each repetition is not timed. "work" is what all threads of the process
    have worked: where it falls far behind "wall", other programs had the machine, and "wall" says
    less.
    """
    took: list[tuple[float, float]] = []
    begin = time.perf_counter()
    while len(took) < most:
        if len(took) >= LEAST_REPEATS and time.perf_counter() - begin > seconds:
            break
        prepare()
        start_work, start = time.process_time(), time.perf_counter()
        work()
        took.append((time.perf_counter() - start, time.process_time() - start_work))
    wall, worked = (1e3 * statistics.median(each) for each in zip(*took))
    return {"wall": wall, "work": worked}
