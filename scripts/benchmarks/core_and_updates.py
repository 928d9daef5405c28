"""The default page: whole updates and the core, beside Blender's constraint and other solvers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.cells import NOTHING, panel_of, short, verdict
from benchmarks.measuring import Result, Row, Samples, Side, summarize
from common.tables import make_table

OURS = "Chain IK"
LABELS = {
    "chains": OURS,
    "built-in": "IK constraint",
    "floor": "floor",
    "unsolved": "live, nothing solved",
    "bare": "the same without any chain",
}
OUT_OF_PLANE = ", start pose in no plane"
UPDATES: tuple[tuple[str, str, dict[str, float | None]], ...] = (
    (
        "100 x 4 x 2", "100 armatures x 4 two-bone limbs",
        # What a handler in Python takes without solving is a floor: the goal is held against that.
        {"unsolved": 1.35, "built-in": None, "floor": None},
    ),
    (
        "40 x 4 x 10", "40 armatures x 4 ten-bone chains, to 1e-4 L",
        {"built-in": 0.5, "floor": None, "unsolved": None},
    ),
    (
        "40 x 4 x 10 climbing", f"40 armatures x 4 ten-bone chains, to 1e-4 L{OUT_OF_PLANE}",
        {"built-in": None},
    ),
    (
        "1 x 4 x 2", "1 armature x 4 two-bone limbs",
        {"unsolved": 4.0, "built-in": None, "floor": None},
    ),
    ("1 x 1 x 50", "one 50-bone chain, to 1e-4 L", {"built-in": 0.65, "floor": None}),
    ("1 x 1 x 50 climbing", f"one 50-bone chain, to 1e-4 L{OUT_OF_PLANE}", {"built-in": None}),
    ("1 x 1 x 300", "one 300-bone chain, to 1e-4 L", {"floor": 2.5, "built-in": None}),
)  # fmt: skip
"""Layout, what it is, and who is compared, with the goals. Layouts: armatures x limbs x bones."""
CORE: tuple[tuple[str, float, str, dict[str, float | None]], ...] = (
    (
        "2 x 1000", 1e-3, "1000 two-bone chains at once",
        {"fullik": 0.5, "momentum": 0.07, "pyfabrik": None},
    ),
    (
        "10 x 400", 1e-3, "400 ten-bone chains at once, to 1e-3 L",
        {"fullik": 0.35, "momentum": 0.1, "pin": None, "pyfabrik": None},
    ),
    (
        "10 x 100", 1e-6, "one ten-bone chain, to 1e-6 L",
        {"pin": 0.8, "pyfabrik": 0.04, "momentum": None, "fullik": None},
    ),
    (
        "10 x 100 climbing", 1e-6, f"one ten-bone chain, to 1e-6 L{OUT_OF_PLANE}", {"pin": None},
    ),
    ("50 x 100", 1e-6, "one 50-bone chain, to 1e-6 L", {"pin": 1.0}),
    ("100 x 100", 1e-6, "one 100-bone chain, to 1e-6 L", {"pin": 1.0}),
)  # fmt: skip
"""Case (bones x targets), tolerance as a share of the chain's length, and as above."""
GROWTH = (
    ("core, twice the two-bone chains", "2 x 2000", "2 x 1000", 1e-3, 2.2),
    ("core, twice the ten-bone chains", "10 x 800", "10 x 400", 1e-3, 2.2),
    ("core, twice the bones of 400 chains", "20 x 400", "10 x 400", 1e-3, 2.2),
    ("core, twice the bones of one chain", "100 x 100", "50 x 100", 1e-6, 2.2),
    ("core, 10 000 two-bone chains", "2 x 10000", "2 x 1000", 1e-3, 11.0),
    ("update, twice the armatures", "100 x 4 x 2", "50 x 4 x 2", None, 2.2),
    ("update, twice the bones of one chain", "1 x 1 x 300", "1 x 1 x 150", None, 2.2),
)
"""What grows, the larger work and the smaller one, tolerance, and goal."""
HEAD = (
    *("work", "compared with", "ours", "other", "ratio", "rounds", "goal", "met"),
    *("reached: ours, other", "worst residual / L: ours, other"),
)


def updated(manner: str, layout: str, task: str = "moved") -> Side:
    """Return the side of rigs that are posed in a manner."""
    checks = task != "idle"
    return Side(LABELS[manner], "blender.rigs", (manner, layout), task, checks=checks)


def solved(program: str, case: str, tolerance: float) -> Side:
    """Return the side of a solver: single solves where the tolerance is small, else all at once."""
    task = "single" if tolerance < 1e-3 else "batch"
    label = OURS if program == "core" else program
    return Side(label, program, task=task, case=(case, tolerance))


def list_rows() -> Iterator[Row]:
    """Yield all rows."""
    for layout, what, others in UPDATES:
        work = f"update, {what}"
        for other, goal in others.items():
            ours = updated("chains", layout)
            yield Row(layout, work, ours, updated(other, layout), goal, must_reach=True)
        if "unsolved" in others:
            sides = updated("unsolved", layout), updated("built-in", layout)
            yield Row(layout, f"{work}, nothing solved", *sides)
    limbs, what = UPDATES[0][:2]
    idle, bare = updated("chains", limbs, "idle"), updated("bare", limbs, "idle")
    nothing = "update with nothing changed, 400 live chains"
    yield Row("idle", nothing, idle, updated("floor", limbs), 0.12)
    yield Row("idle", nothing, idle, bare)
    sides = updated("chains", limbs, "played"), updated("built-in", limbs, "played")
    yield Row("playback", f"frame of playback, {what}", *sides)
    for case, tolerance, work, others in CORE:
        ours = solved("core", case, tolerance)
        for rival, goal in others.items():
            other = dataclasses.replace(ours, label=rival, program=rival)
            yield Row(f"core {case}", f"core, {work}", ours, other, goal, must_reach=True)
    for work, more, less, tolerance, goal in GROWTH:
        if tolerance is None:
            ours, other = updated("chains", more), updated("chains", less)
        else:
            ours, other = solved("core", more, tolerance), solved("core", less, tolerance)
        other = dataclasses.replace(other, label=f"{OURS}, {less}")
        yield Row(f"growth {more}", f"growth, {work}", ours, other, goal, must_reach=True)
    memory = Side(
        "memory", "blender.rigs", ("memory", limbs), "remembered", once=True, checks=False
    )
    yield Row(
        "memory", "memory kept per live chain, 400 chains, Python and NumPy", memory, None, 8.0,
        " KB",
    )  # fmt: skip


ROWS = tuple(list_rows())


def other_name(result: Result) -> str:
    """Return the other's label with the version that counts for it."""
    side, versions = result.row.other, result.other.versions if result.other else {}
    if side is None:
        return NOTHING
    if side.start[:1] == ("built-in",) and "blender" in versions:
        return f"{side.label}, Blender {versions['blender']}"
    return f"{side.label} {versions.get('package', '')}".strip()


def make_page(results: Sequence[Result]) -> str:
    """Return all results as a table, and what is to be said of some."""
    stands = {
        other_name(each): ", ".join(
            f"{name} {version}"
            for name, version in each.other.versions.items()
            if name != "package"
        )
        for each in results
        if each.other is not None and each.other.versions.get("package")
    }
    notes = [f"{name} runs on {stand}." for name, stand in stands.items()]
    notes += [
        f"Not measured: {each.row.name}, {other_name(each)}: {each.reason}"
        for each in results
        if each.reason
    ]
    table = make_table(HEAD, [_cells(each) for each in results], 2)
    return "\n".join((table, "", *notes, *([""] if notes else []), summarize(results)))


def _cells(result: Result) -> tuple[str, ...]:
    row, rounds = result.row, result.rounds() if result.other else []
    goal = NOTHING
    if row.goal is not None:
        goal = f"<= {row.goal:g}{row.unit}" + (", reached" if row.must_reach else "")
    pairs = [
        [samples.facts.get(name) for samples in (result.ours, result.other) if samples]
        for name in ("reached", "worst")
    ]
    reached = [NOTHING if each is None else f"{100.0 * each:.4g}%" for each in pairs[0]]
    worst = [NOTHING if each is None else f"{each:.1e}" for each in pairs[1]]
    return (
        row.name,
        other_name(result),
        _figure(result.ours, row.unit or " ms"),
        _figure(result.other, " ms"),
        short(result.value()) if rounds else NOTHING,
        f"{short(min(rounds))}..{short(max(rounds))}" if rounds else NOTHING,
        goal,
        "not measured" if result.reason else verdict(result),
        ", ".join(reached),
        ", ".join(worst),
    )


def _figure(samples: Samples | None, unit: str) -> str:
    is_there = samples is not None and samples.clocks and not samples.reason
    return f"{short(samples.median())}{unit}" if samples and is_there else NOTHING


def make_drawing(results: Sequence[Result], title: str) -> dict[str, Any]:
    """Return what `plot` draws."""
    labelled = [
        (
            f"{each.row.name}\n{_figure(each.ours, ' ms')}; {other_name(each)}:"
            f" {_figure(each.other, ' ms')}",
            each,
        )
        for each in results
        if each.other is not None and not each.reason
    ]
    return {
        "title": f"{title}; {summarize(results)}",
        "axis": "our time / the other's; black mark: goal, thin line: all rounds",
        "most": None,
        "panels": [panel_of("", 0, labelled)] if labelled else [],
    }
