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
from ..solvers.newton_directions import MOST_DAMPING

Step = Callable[[Arithmetic, Any, Nested, Any], tuple[Nested, Number]]
"""From the arithmetic, chains, their states and targets to the states after one iteration and the
distances left. The state of a damped step is a tuple; its second part is the damping."""

# Iterations after which headway is judged, unless a method says otherwise.
PROGRESS_WINDOW = 10
# Iterations of FORCE before it is judged. The first window is a run-in, so a cap of up to two
# windows is never cut short: who sets so few wants to see what so few do.
FEW_ITERATIONS = 2 * PROGRESS_WINDOW
# A window that leaves more than this share of the error makes no headway: inside of limits a target
# out of reach is met as nearly as it can be.
STANDSTILL = 0.999


@dataclass(frozen=True)
class Work(nested.Rows):
    """Chains or trees, as the step takes them, their targets, tolerances, and caps."""

    chain: Any
    target: Any
    tolerance: Number
    caps: Number


@dataclass(frozen=True)
class Method:
    """What is repeated, and how to tell that it leads nowhere.

    A damped step hands on a damping, which shows when it is stuck. ``is_hopeless`` tells from the
    errors now and a ``window`` of iterations ago, the work, and the iterations used, which chains
    to leave, after a run-in of so many windows. Chains that are done leave the arrays once a share
    ``compaction`` of them is: taking a few out costs more than to compute on with them, where a
    step is cheap.
    """

    step: Callable[..., Any]
    is_damped: bool = False
    is_hopeless: Callable[[Number, Number, Work, Number], Condition] | None = None
    run_in: int = 0
    window: int = PROGRESS_WINDOW
    compaction: float = 0.0


class Progress(NamedTuple):
    """The state after the last iteration, the best so far, its error, and the iterations used."""

    state: Nested
    best: Nested
    error: Number
    used: Number


def iterate(m: Arithmetic, method: Method, work: Work, begun: Progress) -> Progress:
    """Repeat a step until every chain has arrived, used up its cap, or makes no headway.

    A chain that is done stays as it is. Where enough of many are done, the others go on alone.
    """
    result, now, rows = begun, begun, None
    is_open = (now.error > work.tolerance) & (now.used < work.caps)
    window_error, count = now.error, 0
    while m.any(is_open):
        if (left := _few_left(is_open, method.compaction if count else 0.0)) is not None:
            result = now if rows is None else Progress(*nested.put_rows(result, rows, now))
            rows = left if rows is None else rows[left]
            work, now = work.take(left), nested.take_rows(now, left)
            window_error, is_open = nested.take_rows((window_error, is_open), left)
        state, error = method.step(m, work.chain, now.state, work.target)
        count += 1
        is_better = (error < now.error) & is_open
        # A damped step that leads nowhere leaves the state as it was.
        is_best = is_open if method.is_damped else is_better
        now = Progress(
            state=state,
            best=nested.choose(is_best, state, now.best),
            error=m.where(is_better, error, now.error),
            used=now.used + is_open,
        )
        is_open = is_open & (now.error > work.tolerance) & (now.used < work.caps)
        if method.is_damped:
            is_open = is_open & (state[1] < MOST_DAMPING)
        if count % method.window == 0:
            if method.is_hopeless is not None and count > method.run_in * method.window:
                is_lost = method.is_hopeless(now.error, window_error, work, now.used)
                is_open = is_open & m.negate(is_lost)
            window_error = now.error
    return now if rows is None else Progress(*nested.put_rows(result, rows, now))


def _few_left(is_open: Condition, compaction: float) -> Counts | None:
    """Return the rows to go on with where enough of chains side by side are done."""
    if not isinstance(is_open, np.ndarray):
        return None
    left = np.count_nonzero(is_open)
    if left == len(is_open) or left >= (1.0 - compaction) * len(is_open):
        return None
    return repeat_single(np.flatnonzero(is_open), len(is_open))


def iterate_states(
    method: Method, work: Work, begun: State, used: Counts, carried: Array
) -> tuple[State, Counts]:
    """Repeat a step on chains or trees side by side.

    A step takes what stands now, chains, targets and what the iteration before hands on, and
    returns what stands then and what it hands on. The first rows of the output are compared with
    the targets. Returns the best that was found, and all iterations used.
    """
    rows = len(work.target)

    def step(_: Arithmetic, chain: Any, state: Nested, target: Array) -> tuple[Nested, Array]:
        state = method.step(state[0], chain, target, state[1])
        return state, norm(target - state[0].output[:rows])

    state = begun, carried
    progress = Progress(state, state, norm(work.target - begun.output[:rows]), used.copy())
    found = iterate(ARRAYS, replace(method, step=step), work, progress)
    return found.best[0], found.used


def is_too_slow(error: Array, window_error: Array, work: Work, used: Counts) -> Flags:
    """Tell which chains would not arrive within their caps at the rate of the last window."""
    windows_left = (work.caps - used) / PROGRESS_WINDOW
    with np.errstate(divide="ignore"):
        forecast = np.log(error) + windows_left * np.log(error / window_error)
        too_slow: Flags = forecast > np.log(work.tolerance)
    return too_slow


def leaves_more_than(share: float) -> Callable[..., Condition]:
    """Return the test of which errors are still more than a share of those a window ago."""
    return lambda error, window_error, _work, _used: error > share * window_error


stands_still = leaves_more_than(STANDSTILL)


def judge_by_rate(step: Callable[..., Any]) -> Method:
    """Return the method of a step that converges linearly, judged after a run-in of one window."""
    return Method(step, is_hopeless=is_too_slow, run_in=1)


def run_chains(
    m: Arithmetic,
    run: Callable[..., tuple[Nested, ...]],
    chains: list[Any] | None,
    *arrays: Array | Counts,
) -> tuple[Any, ...]:
    """Return what is made of chains: in floats one by one, in arrays (..., B) side by side.

    Chains are given one by one, a single one for all rows if these are alike; or one record of all;
    or None where the numbers tell all.
    """
    count = arrays[0].shape[-1]
    chains = chains or [None] * (count if m is FLOATS else 1)
    if m is FLOATS:
        rows = [
            run(m, chain, *(nested.to_floats(array, row) for array in arrays))
            for row, chain in enumerate(chains)
        ]
        parts = [np.moveaxis(np.array(part), 0, -1) for part in zip(*rows, strict=True)]
        return tuple(np.repeat(part, count // len(chains), axis=-1) for part in parts)
    given = (chains[0], *(nested.to_numbers(array, array.ndim - 1) for array in arrays))
    if count == 1:
        # NumPy rounds one row otherwise than several.
        given = nested.take_rows(given, np.zeros(2, dtype=np.int64))
    return tuple(np.array(part)[..., :count] for part in run(m, *given))
