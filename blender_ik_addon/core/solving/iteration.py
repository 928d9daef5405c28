"""The one loop and the one stop test of all iterative solvers: one chain in floats, or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..algebra import nested
from ..algebra.arithmetic import ARRAYS, FLOATS, Arithmetic, Array, Condition, Counts, Flags, Number
from ..algebra.arrays import norm
from ..algebra.nested import Nested, repeat_single
from ..kinematics.posed import State
from ..solvers.newton_directions import MAX_DAMPING

# Iterations after which headway is tested, unless a method has another window.
PROGRESS_WINDOW = 10
# Iterations of FORCE before it is tested. The first window is a run-in, so a cap of up to two
# windows is never cut short: a user who sets such a cap wants to see its effect.
RUN_IN_ITERATIONS = 2 * PROGRESS_WINDOW
# Share of the error: a window that leaves more makes no headway. Inside of limits, a target out of
# reach is then as near as possible.
STALLED_ERROR_SHARE = 0.999


@dataclass(frozen=True)
class Work(nested.Rows):
    """Chains or trees, as the step takes them, and their targets, tolerances and caps."""

    chain: Any
    target: Any
    tolerance: Number
    caps: Number


@dataclass(frozen=True)
class Method:
    """The step that is repeated, and when to stop early.

    A step takes the arithmetic, chains, their states and targets; it returns the states after one
    iteration and the distances left. The state of a damped step is a tuple; its second part is the
    damping, which shows when it is stuck. ``stop_test`` tests which chains to stop, from the errors
    now and a ``window`` of iterations ago, the work, and the iterations used; it begins after
    ``run_in`` windows. Chains that are done leave the arrays once a share ``compaction`` of them
    is: where a step is cheap, taking out a few costs more than computing on with them.
    """

    step: Callable[..., Any]
    is_damped: bool = False
    stop_test: Callable[[Number, Number, Work, Number], Condition] | None = None
    run_in: int = 0
    window: int = PROGRESS_WINDOW
    compaction: float = 0.0


class Progress(NamedTuple):
    """The state after the last iteration, the best so far, its error, and the iterations used."""

    state: Nested
    best: Nested
    error: Number
    used: Number


def iterate(m: Arithmetic, method: Method, work: Work, start: Progress) -> Progress:
    """Repeat a step until every chain has arrived, has used up its cap, or makes no headway.

    A chain that is done stays as it is. Where enough of many are done, only the others go on.
    """
    result, now, rows = start, start, None
    is_open = (now.error > work.tolerance) & (now.used < work.caps)
    window_error, count = now.error, 0
    while m.any(is_open):
        if (open_rows := _find_open_rows(is_open, method.compaction if count else 0.0)) is not None:
            result = now if rows is None else Progress(*nested.put_rows(result, rows, now))
            rows = open_rows if rows is None else rows[open_rows]
            work, now = work.take(open_rows), nested.take_rows(now, open_rows)
            window_error, is_open = nested.take_rows((window_error, is_open), open_rows)
        state, error = method.step(m, work.chain, now.state, work.target)
        count += 1
        is_better = (error < now.error) & is_open
        # A damped step that finds no better state returns the same state.
        is_best = is_open if method.is_damped else is_better
        now = Progress(
            state=state,
            best=nested.choose(is_best, state, now.best),
            error=m.where(is_better, error, now.error),
            used=now.used + is_open,
        )
        is_open = is_open & (now.error > work.tolerance) & (now.used < work.caps)
        if method.is_damped:
            is_open = is_open & (state[1] < MAX_DAMPING)
        if count % method.window == 0:
            if method.stop_test is not None and count > method.run_in * method.window:
                is_stopped = method.stop_test(now.error, window_error, work, now.used)
                is_open = is_open & m.negate(is_stopped)
            window_error = now.error
    return now if rows is None else Progress(*nested.put_rows(result, rows, now))


def _find_open_rows(is_open: Condition, compaction: float) -> Counts | None:
    """Return the rows to go on with if enough of chains side by side are done, otherwise None."""
    if not isinstance(is_open, np.ndarray):
        return None
    open_count = np.count_nonzero(is_open)
    if open_count == len(is_open) or open_count >= (1.0 - compaction) * len(is_open):
        return None
    return repeat_single(np.flatnonzero(is_open), len(is_open))


def iterate_states(
    method: Method, work: Work, start: State, used: Counts, damping: Array
) -> tuple[State, Counts]:
    """Repeat a damped step on chains or trees; return the best states, and all iterations used.

    A step takes the present states, chains, targets and dampings, and returns the next states and
    dampings. The first rows of the output are compared with the targets.
    """
    rows = len(work.target)

    def step(_: Arithmetic, chain: Any, state: Nested, target: Array) -> tuple[Nested, Array]:
        state = method.step(state[0], chain, target, state[1])
        return state, norm(target - state[0].output[:rows])

    state = start, damping
    progress = Progress(state, state, norm(work.target - start.output[:rows]), used.copy())
    result = iterate(ARRAYS, replace(method, step=step), work, progress)
    return result.best[0], result.used


def is_too_slow(error: Array, window_error: Array, work: Work, used: Counts) -> Flags:
    """Return which chains would not arrive within their caps at the rate of the last window."""
    windows_left = (work.caps - used) / PROGRESS_WINDOW
    with np.errstate(divide="ignore"):
        forecast = np.log(error) + windows_left * np.log(error / window_error)
        too_slow: Flags = forecast > np.log(work.tolerance)
    return too_slow


def make_stall_test(share: float) -> Callable[..., Condition]:
    """Return a test whether errors are more than a share of those a window ago."""
    return lambda error, window_error, _work, _used: error > share * window_error


is_stalled = make_stall_test(STALLED_ERROR_SHARE)


def judge_by_rate(step: Callable[..., Any]) -> Method:
    """Return the method of a step that converges linearly, tested after a run-in of one window."""
    return Method(step, stop_test=is_too_slow, run_in=1)


def run_chains(
    m: Arithmetic,
    run: Callable[..., tuple[Nested, ...]],
    chains: list[Any] | None,
    *arrays: Array | Counts,
) -> tuple[Any, ...]:
    """Return the results of a function for chains: in floats one by one, or in arrays (..., B).

    Chains are a list: one record a row, a single record for all rows if these are alike, or one
    record of all rows; None where the arrays are enough.
    """
    count = arrays[0].shape[-1]
    chains = chains or [None] * (count if m is FLOATS else 1)
    if m is FLOATS:
        rows = [
            run(m, chain, *(nested.to_floats(array, row) for array in arrays))
            for row, chain in enumerate(chains)
        ]
        outputs = [np.moveaxis(np.array(output), 0, -1) for output in zip(*rows, strict=True)]
        return tuple(np.repeat(output, count // len(chains), axis=-1) for output in outputs)
    inputs = (chains[0], *(nested.to_numbers(array, array.ndim - 1) for array in arrays))
    if count == 1:
        # NumPy rounds a single row in another way than several.
        inputs = nested.take_rows(inputs, np.zeros(2, dtype=np.int64))
    return tuple(np.array(output)[..., :count] for output in run(m, *inputs))
