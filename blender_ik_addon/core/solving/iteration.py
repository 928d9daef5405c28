"""The one loop and the one stop test of the sweeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..algebra import nested
from ..algebra.arithmetic import Arithmetic, Condition, Number
from ..algebra.nested import Nested
from ..algebra.vectors import Vector

Step = Callable[[Arithmetic, Nested, Nested, Vector], tuple[Nested, Number]]
"""From the arithmetic, chains, their states and targets to the states after one iteration and the
distances left."""


class Work(NamedTuple):
    """What is swept, and how far.

    Attributes:
        chain: As the step takes it.
        target: Where the effector shall be.
        tolerance: Accepted distance.
        cap: Most iterations.
    """

    chain: Nested
    target: Vector
    tolerance: Number
    cap: Number


class Progress(NamedTuple):
    """How far chains have come.

    Attributes:
        state: After the last iteration.
        best: The best state so far.
        error: Its distance to the target.
        used: Iterations.
    """

    state: Nested
    best: Nested
    error: Number
    used: Number


def iterate(m: Arithmetic, step: Step, work: Work, now: Progress) -> Progress:
    """Repeat a step until every chain has arrived or used up its cap.

    A chain that is done stays as it is. Where most of many chains are done, the others go on alone.
    """
    is_open = (now.error > work.tolerance) & (now.used < work.cap)
    while m.any(is_open):
        rows = _few_left(is_open)
        if rows is not None:
            rest = iterate(m, step, nested.take_rows(work, rows), nested.take_rows(now, rows))
            return Progress(*nested.put_rows(now, rows, rest))
        state, error = step(m, work.chain, now.state, work.target)
        is_better = (error < now.error) & is_open
        now = Progress(
            state=state,
            best=nested.choose(is_better, state, now.best),
            error=m.where(is_better, error, now.error),
            used=now.used + is_open,
        )
        is_open = is_open & (now.error > work.tolerance) & (now.used < work.cap)
    return now


def _few_left(is_open: Condition) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Return the rows that are left where fewer than half are, of chains side by side."""
    if not isinstance(is_open, np.ndarray) or 2 * np.count_nonzero(is_open) >= len(is_open):
        return None
    rows = np.flatnonzero(is_open)
    # NumPy rounds one row otherwise than several.
    return np.repeat(rows, 2) if len(rows) == 1 else rows
