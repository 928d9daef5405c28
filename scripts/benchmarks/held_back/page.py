"""The tables about chains that limits keep from their targets, and about calls of NumPy."""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import Any

from benchmarks.programs import ONE_THREAD, interpreter
from benchmarks.workers import Worker
from common.console import ROOT, say

# With SciPy and without Blender.
PROGRAM = "core-3.11"
SOLVERS = ("NEWTON", "FABRIK", "CCD")
TIMED_BONES, JUDGED_BONES = (2, 3, 5, 10), (3, 5, 10)
MANY = 100
TIMES = (
    "One chain of ball joints within 0.6 rad: milliseconds of a solve whose target limits keep out"
    " of reach, and of one whose target is reached; medians of rounds"
)
NEARNESS = (
    "1000 targets out of reach: shares of solutions that stay within 1e-4 and 1e-3 of the length of"
    " the best of 64 drawn poses led to a minimum; shares whose joints stand within 0.01 rad of"
    " those after ten times the cap, of a solve from the solution, and of the minimum nearby, and"
    " that angle, which 95 % keep to"
)
CALLS = "Calls of NumPy, held back, counted without a clock"
Sides = dict[str, Worker]


def start_sides(reference: Path | None) -> Sides:
    """Return the workers of this checkout and of another one."""
    checkouts = {"here": ROOT} if reference is None else {"reference": reference, "here": ROOT}
    command = [str(interpreter(PROGRAM)), "-P", "-m", "benchmarks.held_back.measured"]
    sides = {}
    for name, path in checkouts.items():
        paths = os.pathsep.join((str(path.resolve()), str(ROOT / "scripts")))
        sides[name] = Worker(str(path), command, {**os.environ, "PYTHONPATH": paths, **ONE_THREAD})
    return sides


def made(reference: Path | None, only: str, rounds: int | None) -> str:
    """Return the tables of times and nearness in so many rounds; None for that of calls."""
    return counted(reference, only) if rounds is None else measured(reference, rounds, only)


def measured(reference: Path | None, rounds: int, only: str) -> str:
    """Return the tables of times and nearness, of this checkout and maybe of another one."""
    sides = start_sides(reference)
    text = "\n".join((*_times(sides, rounds, only), "", *_nearness(sides, only)))
    _close(sides)
    return text


def counted(reference: Path | None, only: str) -> str:
    """Return the table of calls."""
    sides = start_sides(reference)
    lines = [
        *(CALLS, ""),
        "| solver, bones | chains | | calls a solve | iterations | calls an iteration | step |"
        " steps | calls a step |",
        "|---|---:|---|---:|---:|---:|---|---:|---:|",
    ]
    for solver, bones in _rows(only, JUDGED_BONES):
        for many in (1, MANY):
            for name, side in sides.items():
                found = side.ask("count", bones=bones, solver=solver, many=many)
                each = found["calls"] / max(found["iterations"], 1)
                start = f"| {solver}, {bones} | {many} | {name} | {found['calls']}"
                start += f" | {found['iterations']} | {each:.0f}"
                for step, calls in found["a_step"].items():
                    lines.append(f"{start} | {step} | {found['steps'][step]} | {calls:.0f} |")
                    say("calls", lines[-1])
                files = [f"{file} {calls:.0f}" for file, calls in found["by_file"].items()]
                say("calls", f"of all steps: {', '.join(files[:8])}")
    _close(sides)
    return "\n".join(lines)


def _rows(only: str, sizes: tuple[int, ...]) -> list[tuple[str, int]]:
    rows = [(solver, bones) for solver in SOLVERS for bones in sizes]
    return [row for row in rows if only.lower() in f"{row[0]}, {row[1]}".lower()]


def _times(sides: Sides, rounds: int, only: str) -> list[str]:
    lines = [
        *(TIMES, ""),
        "| solver, bones | | held back | reached | ratio | held back beside the reference | reached"
        " beside it |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    for solver, bones in _rows(only, TIMED_BONES):
        found: dict[str, list[dict[str, float]]] = {name: [] for name in sides}
        for number in range(rounds + 1):
            for name, side in sides.items():
                clocked = side.ask("clock", bones=bones, solver=solver)
                # The first round warms up.
                found[name] += [clocked] if number else []
        for name, all_rounds in found.items():
            held, reached, ratio = (
                statistics.median(each[key] for each in all_rounds)
                for key in ("held", "reached", "ratio")
            )
            beside = [
                statistics.median(a[key] / b[key] for a, b in zip(all_rounds, found["reference"]))
                for key in (("held", "reached") if "reference" in found else ())
            ]
            cells = [f"{held:.3g} ms", f"{reached:.3g} ms", f"{ratio:.1f}"]
            cells += [f"{each:.2f}" for each in beside] or ["", ""]
            lines.append(f"| {solver}, {bones} | {name} | {' | '.join(cells)} |")
            say("held back", lines[-1])
    return lines


def _nearness(sides: Sides, only: str) -> list[str]:
    lines = [
        *(NEARNESS, ""),
        "| solver, bones | | 1e-4 | 1e-3 | median, worst, below the best | iterations | ten times"
        " the cap | from the solution | minimum nearby |",
        "|---|---|---:|---:|---|---:|---:|---:|---:|",
    ]
    misses: list[str] = []
    for solver, bones in _rows(only, JUDGED_BONES):
        for name, side in sides.items():
            found: dict[str, Any] = side.ask("judge", bones=bones, solver=solver)
            cells = [f"{100.0 * share:.1f} %" for share in found["within"]]
            cells.append(", ".join(f"{found[key]:.1e}" for key in ("median", "worst", "better")))
            cells.append(f"{found['iterations']:g}")
            for key, share in found["at_rest"].items():
                cells.append(f"{100.0 * share:.1f} %, {found['farthest'][key]:.2g}")
            lines.append(f"| {solver}, {bones} | {name} | {' | '.join(cells)} |")
            say("held back", lines[-1])
            rest = ", ".join(f"{row}: {miss:.1e}" for row, miss in found["misses"].items())
            if rest:
                misses.append(f"- {solver}, {bones} bones, {name}: {rest}")
    return [*lines, "", "Beyond 1e-3 of the length, by the target's number:", "", *misses]


def _close(sides: Sides) -> None:
    for side in sides.values():
        side.close()
