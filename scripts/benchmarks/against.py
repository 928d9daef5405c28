"""This checkout's core against another one's: each row measured in turn, in one run."""

from __future__ import annotations

import os
import statistics
from dataclasses import dataclass
from pathlib import Path

from benchmarks.programs import ONE_THREAD, interpreter
from benchmarks.workers import Worker
from common.console import ROOT, say

MANY = 100


@dataclass(frozen=True)
class Row:
    """Work of the core.

    Attributes:
        name: As in the table.
        solver: Value of ``Solver``.
        goal_one: Most that one chain may take, in times of the reference; None without a goal.
        goal_many: The same for a hundred chains in one call.
        bones: Of a chain.
        has_limits: Ball joints that swing and twist up to 40 degrees.
        is_held_back: The limits are 12 degrees, and the targets lie behind the chain.
        has_pole: With a pole.
        is_flat: Chains start in a plane.
        is_tree: A spine and two arms instead of a chain.
    """

    name: str
    solver: str
    goal_one: float | None
    goal_many: float | None
    bones: int = 10
    has_limits: bool = False
    is_held_back: bool = False
    has_pole: bool = False
    is_flat: bool = False
    is_tree: bool = False


ROWS = (
    Row("FABRIK", "FABRIK", 0.2, 1.5),
    Row("CCD", "CCD", 0.1, 1.0 / 6.0),
    Row("FABRIK, ball limits", "FABRIK", 0.05, 0.25, has_limits=True),
    Row("CCD, ball limits", "CCD", 1.0 / 30.0, 1.0 / 6.0, has_limits=True),
    Row("NEWTON, ball limits", "NEWTON", 1.0, 0.7, has_limits=True),
    Row("NEWTON, held back", "NEWTON", 1 / 3, 1 / 3, has_limits=True, is_held_back=True),
    Row("NEWTON, ball limits and pole", "NEWTON", 1 / 3, 0.5, has_limits=True, has_pole=True),
    Row("TWO_BONE", "TWO_BONE", 1.5, 1.25, bones=2),
    Row("NEWTON", "NEWTON", 1.5, 1.25),
    Row("NEWTON, start in a plane", "NEWTON", None, None, is_flat=True),
    Row("FORCE", "FORCE", 0.5, 1.0),
    Row("spine and two arms", "NEWTON", 0.5, 1.0, is_tree=True),
)
HEAD = (
    "| core, 1e-4 L | reference, one | here | ratio | goal | reference, 100 | here | ratio | goal |"
    " reached | iterations |",
    "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|---|",
)


def measured(reference: Path, blender: str, rounds: int) -> str:
    """Return the table of this checkout against another one.

    Args:
        reference: The other checkout.
        blender: The environment whose Python runs both, "bpy-5.2".
        rounds: How often each row is measured, in turn.
    """
    sides = {name: _start(path, blender) for name, path in _checkouts(reference).items()}
    lines = list(HEAD)
    for row in ROWS:
        lines.append(_line(row, sides, rounds))
        say("against", lines[-1])
    for side in sides.values():
        side.close()
    return "\n".join(lines)


def _checkouts(reference: Path) -> dict[str, Path]:
    return {"reference": reference.resolve(), "here": ROOT}


def _start(checkout: Path, blender: str) -> Worker:
    # What measures is ours on both sides; what is measured is the checkout's.
    path = os.pathsep.join((str(checkout), str(ROOT / "scripts")))
    variables = {**os.environ, "PYTHONPATH": path, **ONE_THREAD}
    command = [str(interpreter(blender)), "-P", "-m", "benchmarks.measured.core_rows"]
    return Worker(str(checkout), command, variables)


def _line(row: Row, sides: dict[str, Worker], rounds: int) -> str:
    cells = [row.name]
    for is_many, goal in ((False, row.goal_one), (True, row.goal_many)):
        found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
        for _ in range(rounds):
            for name, side in sides.items():
                found[name].append(side.ask("measure", name=row.name, is_many=is_many))
        times = {name: [each["milliseconds"] for each in all] for name, all in found.items()}
        pairs = zip(times["here"], times["reference"])
        ratio = statistics.median([here / there for here, there in pairs])
        medians = (statistics.median(times[name]) for name in ("reference", "here"))
        cells += [f"{each:.3g} ms" for each in medians]
        cells += [f"{ratio:.2f}", "" if goal is None else f"{goal:.2g}"]
        last = {name: all[-1] for name, all in found.items()}
    for key, form in (("reached", "{:.0%}"), ("iterations", "{:g}")):
        cells.append(" / ".join(form.format(last[name][key]) for name in sides))
    return f"| {' | '.join(cells)} |"
