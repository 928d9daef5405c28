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
) -> dict[str, float]:
    """Return the median milliseconds of one round's repetitions, by two clocks.

    "work" is what all threads of the process have worked: where it falls far behind "wall", other
    programs had the machine, and "wall" says less.

    Args:
        prepare: Called before each repetition, outside of the clocks.
        work: What is timed.
        most: Repetitions.
    """
    walls: list[float] = []
    works: list[float] = []
    begin = time.perf_counter()
    while len(walls) < most:
        if len(walls) >= LEAST_REPEATS and time.perf_counter() - begin > SECONDS:
            break
        prepare()
        start_work, start = time.process_time(), time.perf_counter()
        work()
        walls.append(time.perf_counter() - start)
        works.append(time.process_time() - start_work)
    return {"wall": 1e3 * statistics.median(walls), "work": 1e3 * statistics.median(works)}
