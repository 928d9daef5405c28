"""Tables about chains that limits keep from their targets, and about calls of NumPy.

All of this checkout, and maybe of another one beside it.
"""

from __future__ import annotations

import contextlib
import os
import statistics
from collections.abc import Iterator
from pathlib import Path

import environment
from benchmarks.cells import short
from benchmarks.workers import Worker
from common.console import ROOT, say
from common.tables import make_table

# With SciPy and without Blender.
PROGRAM = "core-3.11"
SOLVERS = ("NEWTON", "FABRIK", "CCD")
TIMED_BONES, JUDGED_BONES = (2, 3, 5, 10), (3, 5, 10)
TIMES = (
    "One chain of ball joints within 0.6 rad: milliseconds of a solve whose target limits keep out"
    " of reach, and of one whose target is reached; medians of rounds"
)
NEARNESS = (
    "200 targets out of reach: shares of solutions that stay within 1e-4 and 1e-3 of the length of"
    " the best of 16 drawn poses led to a minimum; shares whose joints stand within 0.01 rad of"
    " those after ten times the cap, of a solve from the solution, and of the minimum nearby, and"
    " that angle, which 95 % keep to"
)
CALLS = "Calls of NumPy, held back, counted without a clock"
TIMES_HEAD = (
    *("solver, bones", "", "held back", "reached", "ratio"),
    *("held back beside the reference", "reached beside it"),
)
NEARNESS_HEAD = (
    *("solver, bones", "", "1e-4", "1e-3", "median, worst, below the best", "iterations"),
    *("ten times the cap", "from the solution", "minimum nearby"),
)
CALLS_HEAD = (
    *("solver, bones", "", "chains", "calls a solve", "iterations", "calls an iteration", "step"),
    *("steps", "calls a step"),
)
Sides = dict[str, Worker]


@contextlib.contextmanager
def start_sides(reference: Path | None) -> Iterator[Sides]:
    """Start the workers of this checkout and of another one; both measure by our scripts."""
    checkouts = {"here": ROOT} if reference is None else {"reference": reference, "here": ROOT}
    python = str(environment.ensure(PROGRAM))
    command, sides = [python, "-P", "-m", "benchmarks.core.held_back"], {}
    for name, path in checkouts.items():
        paths = os.pathsep.join((str(path.resolve()), str(ROOT / "scripts")))
        sides[name] = Worker(
            str(path), command, {**os.environ, "PYTHONPATH": paths, **environment.ONE_THREAD}
        )
    try:
        yield sides
    finally:
        for side in sides.values():
            side.close()


def make_page(reference: Path | None, only: str, rounds: int, *, is_counted: bool) -> str:
    """Return the tables of times and nearness, or that of calls."""
    with start_sides(reference) as sides:
        if is_counted:
            return f"{CALLS}\n\n{make_table(CALLS_HEAD, list(_count(sides, only)), 2)}"
        misses: list[str] = []
        times = make_table(TIMES_HEAD, list(_time(sides, rounds, only)), 2)
        nearness = make_table(NEARNESS_HEAD, list(_judge(sides, only, misses)), 2)
    rest = "Beyond 1e-3 of the length, by the target's number:"
    return "\n\n".join((TIMES, times, NEARNESS, nearness, rest, "\n".join(misses)))


def _rows(only: str, sizes: tuple[int, ...]) -> Iterator[tuple[str, dict[str, object]]]:
    for solver in SOLVERS:
        for bones in sizes:
            if only.lower() in f"{solver}, {bones}".lower():
                say("held back", f"{solver}, {bones}")
                yield f"{solver}, {bones}", {"bones": bones, "solver": solver}


def _time(sides: Sides, rounds: int, only: str) -> Iterator[tuple[str, ...]]:
    for row, given in _rows(only, TIMED_BONES):
        # The first round warms up.
        asked = [
            {name: side.ask("clock", **given) for name, side in sides.items()}
            for _ in range(rounds + 1)
        ][1:]
        for name in sides:
            cells = [
                short(statistics.median(each[name][key] for each in asked))
                for key in ("held", "reached", "ratio")
            ]
            beside = [
                short(statistics.median(each[name][key] / each["reference"][key] for each in asked))
                if "reference" in sides
                else ""
                for key in ("held", "reached")
            ]
            yield row, name, *cells, *beside


def _judge(sides: Sides, only: str, misses: list[str]) -> Iterator[tuple[str, ...]]:
    for row, given in _rows(only, JUDGED_BONES):
        for name, side in sides.items():
            found = side.ask("judge", **given)
            shares = [f"{100.0 * share:.1f} %" for share in found["within"]]
            excess = ", ".join(f"{each:.1e}" for each in found["excess"])
            rest = [f"{100.0 * share:.1f} %, {angle:.2g}" for share, angle in found["rest"]]
            yield row, name, *shares, excess, f"{found['iterations']:g}", *rest
            if found["misses"]:
                by_row = ", ".join(f"{row}: {miss:.1e}" for row, miss in found["misses"].items())
                misses.append(f"- {row} bones, {name}: {by_row}")


def _count(sides: Sides, only: str) -> Iterator[tuple[str, ...]]:
    for row, given in _rows(only, JUDGED_BONES):
        for many in (1, 100):
            for name, side in sides.items():
                found = side.ask("count", **given, many=many)
                each = found["calls"] / max(found["iterations"], 1)
                counts = str(many), str(found["calls"]), str(found["iterations"]), f"{each:.0f}"
                for step, (often, within) in found["steps"].items():
                    yield row, name, *counts, step, str(often), f"{within:.0f}"
