"""Tables about chains that limits keep from their targets, and about calls of NumPy.

All of this checkout, and maybe of another one beside it.
"""

from __future__ import annotations

import itertools
import os
import statistics
from pathlib import Path

import environment
from benchmarks.measuring import short
from benchmarks.workers import Worker
from common.console import ROOT, say
from common.tables import make_table

# With SciPy and without Blender.
PROGRAM = "core-3.11"
SOLVERS = ("NEWTON", "FABRIK", "CCD")
# By page: tasks of the worker, what they tell, and of how many bones.
TABLES = {
    "held-back": (
        (
            "clock",
            "One chain of ball joints within 0.6 rad: milliseconds of a solve whose target limits"
            " keep out of reach, and of one whose target is reached; medians of rounds",
            (2, 3, 5, 10),
        ),
        (
            "judge",
            "200 targets out of reach: shares of solutions that stay within parts of the length of"
            " the best of 16 drawn poses led to a minimum, and how far they stay from it",
            (3, 5, 10),
        ),
    ),
    "calls": (("count", "Calls of NumPy, held back, counted without a clock", (3, 5, 10)),),
}


def print_page(page: str, against: Path | None, only: str, rounds: int) -> None:
    """Print the tables of a page; both checkouts measure by our scripts."""
    checkouts = {"here": ROOT} if against is None else {"reference": against, "here": ROOT}
    command = [str(environment.ensure(PROGRAM)), "-P", "-m", "benchmarks.core.held_back"]
    sides: dict[str, Worker] = {}
    try:
        for name, path in checkouts.items():
            paths = os.pathsep.join((str(path.resolve()), str(ROOT / "scripts")))
            variables = {**os.environ, "PYTHONPATH": paths, **environment.ONE_THREAD}
            sides[name] = Worker(name, command, variables)
        for task, title, bones in TABLES[page]:
            head, rows = ["solver, bones", ""], []
            for solver, count in itertools.product(SOLVERS, bones):
                row = f"{solver}, {count}"
                if only.lower() in row.lower():
                    say(page, row)
                    for name, found in _ask(sides, task, rounds, bones=count, solver=solver):
                        head[2:] = found
                        rows.append((row, name, *map(short, found.values())))
            print(f"\n{title}\n\n{make_table(head, rows, 2)}")
    finally:
        for side in sides.values():
            side.close()


def _ask(
    sides: dict[str, Worker], task: str, rounds: int, **given: object
) -> list[tuple[str, dict[str, float]]]:
    """Return the figures of each side, by their names; of times the medians of rounds in turn."""
    # The first round warms up.
    often = rounds + 1 if task == "clock" else 1
    asked = [{name: side.ask(task, **given) for name, side in sides.items()} for _ in range(often)]
    last = asked[-rounds:]
    return [
        (name, {key: statistics.median(each[name][key] for each in last) for key in last[0][name]})
        for name in sides
    ]
