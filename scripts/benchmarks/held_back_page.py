"""Tables about chains that limits keep from their targets, and about calls of NumPy.

All of this checkout, and maybe of another one beside it.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import environment
from benchmarks.measuring import short
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
    " those after ten times the cap, and of a solve from the solution, and the angle that 95 % keep"
    " to"
)
CALLS = "Calls of NumPy, held back, counted without a clock"
TIMES_HEAD = (
    *("held back", "reached", "ratio"),
    *("held back beside the reference", "reached beside it"),
)
NEARNESS_HEAD = (
    *("1e-4", "1e-3", "median, worst, below the best", "iterations"),
    *("ten times the cap", "from the solution"),
)
CALLS_HEAD = ("chains", "calls a solve", "iterations", "calls an iteration")
Sides = dict[str, Worker]
Given = dict[str, object]
Cells = Iterator[tuple[str, ...]]


def print_page(page: str, against: Path | None, only: str, rounds: int) -> None:
    """Print times and nearness, or calls; both checkouts measure by our scripts."""
    checkouts = {"here": ROOT} if against is None else {"reference": against, "here": ROOT}
    command, sides = [str(environment.ensure(PROGRAM)), "-P", "-m", "benchmarks.core.held_back"], {}
    try:
        for name, path in checkouts.items():
            paths = os.pathsep.join((str(path.resolve()), str(ROOT / "scripts")))
            variables = {**os.environ, "PYTHONPATH": paths, **environment.ONE_THREAD}
            sides[name] = Worker(name, command, variables)

        def show(title: str, head: tuple[str, ...], bones: tuple[int, ...], ask: Asked) -> None:
            rows = []
            for solver in SOLVERS:
                for count in bones:
                    row = f"{solver}, {count}"
                    if only.lower() in row.lower():
                        say(page, row)
                        cells = ask(sides, {"bones": count, "solver": solver}, rounds)
                        rows += [(row, *each) for each in cells]
            print(f"\n{title}\n\n{make_table(('solver, bones', '', *head), rows, 2)}")

        if page == "calls":
            show(CALLS, CALLS_HEAD, JUDGED_BONES, _count)
            return
        show(TIMES, TIMES_HEAD, TIMED_BONES, _time)
        show(NEARNESS, NEARNESS_HEAD, JUDGED_BONES, _judge)
    finally:
        for side in sides.values():
            side.close()


Asked = Callable[[Sides, Given, int], Cells]


def _time(sides: Sides, given: Given, rounds: int) -> Cells:
    # The first round warms up.
    asked = [
        {name: side.ask("clock", **given) for name, side in sides.items()}
        for _ in range(rounds + 1)
    ][1:]
    for name in sides:
        figures = [[each[name][key] for each in asked] for key in ("held", "reached", "ratio")]
        for key in ("held", "reached") if "reference" in sides else ():
            figures.append([each[name][key] / each["reference"][key] for each in asked])
        cells = [short(statistics.median(each)) for each in figures]
        yield (name, *cells, *[""] * (len(TIMES_HEAD) - len(cells)))


def _judge(sides: Sides, given: Given, _: int) -> Cells:
    for name, side in sides.items():
        found = side.ask("judge", **given)
        shares = [f"{100.0 * share:.1f} %" for share in found["within"]]
        excess = ", ".join(f"{each:.1e}" for each in found["excess"])
        rest = [f"{100.0 * share:.1f} %, {angle:.2g}" for share, angle in found["rest"]]
        yield name, *shares, excess, f"{found['iterations']:g}", *rest


def _count(sides: Sides, given: Given, _: int) -> Cells:
    for many in (1, 100):
        for name, side in sides.items():
            found = side.ask("count", **given, many=many)
            each = found["calls"] / max(found["iterations"], 1)
            yield name, str(many), str(found["calls"]), str(found["iterations"]), f"{each:.0f}"
