"""The page of settings: real characters first, then every setting, then what happens once.

All whole updates, in times of Blender's own constraint.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.cells import NOTHING, panel_of, short, verdict
from benchmarks.measuring import Result, Row, Side, clock_of, summarize
from benchmarks.setting_rows import MOST, ROWS, SCENES, TREE
from common.tables import make_table

HUMANS = (
    ("human with control bones, one dragged", 1, "dragged", 4.0, "constraints"),
    ("human with control bones, all dragged", 1, "moved", 4.0, "constraints"),
    ("human with control bones, playback", 1, "played", 5.0, "constraints"),
    ("ten humans with control bones, one dragged", 10, "dragged", 3.0, "constraints"),
    ("ten humans with control bones, all dragged", 10, "moved", 2.0, "constraints"),
    ("ten humans with control bones, playback", 10, "played", 2.5, "constraints"),
    ("human, one dragged, x without spaces", 1, "dragged", 1.3, "no-spaces"),
    ("human, all dragged, x without spaces", 1, "moved", 1.3, "no-spaces"),
    ("human, playback, x without spaces", 1, "played", 1.3, "no-spaces"),
    ("Rigify's human, five chains, dragged", 1, "moved", 2.0, "built-in"),
    ("Rigify's human, five chains, playback", 1, "played", 2.2, "built-in"),
    ("ten of Rigify's humans, dragged", 10, "moved", 1.5, "built-in"),
    ("ten of Rigify's humans, playback", 10, "played", 1.6, "built-in"),
    ("bake of Rigify's human, five chains, x its 250 frames live", 1, "baked", 1.3, "live"),
)
"""Name, how many, task, goal, and beside what.

Control bones are those of Set Up Limbs; the five chains have empties.
"""
RIGS = "blender.rigs"
SINGLE_HEAD = ("", "x the constraint", "goal", "met")
HEAD = ("", "100 of two bones", "100 of ten bones", "one of four bones", "met", "reached")
TITLES = {
    "two": "100 chains of two bones",
    "ten": "100 chains of ten bones",
    "one": "one chain of four bones",
}
EXPLAINED = (
    "Whole updates in times of what Blender's IK constraint takes for plain chains of the same"
    " lengths, both measured in turn: the median / the goal (milliseconds)."
)
WORKED = (
    "Others had the machine meanwhile: what is told is the time that all threads of each process"
    " worked, not the time that passed."
)


def list_rows() -> Iterator[Row]:
    """Yield all rows."""
    for name, count, task, goal, other in HUMANS:
        ours = "chains" if other in ("built-in", "live") else "controls"
        sides = (Side(each, "blender.humans", (each, str(count)), task) for each in (ours, other))
        yield Row(name, name, *sides, goal, must_reach=True)
    for scene, layout in SCENES.items():
        builtin = Side("built-in", RIGS, ("built-in", layout))
        for row in ROWS:
            if scene not in row.not_in:
                group, goal = f"{row.name}, {scene}", row.goal(scene)
                ours = Side("chains", RIGS, ("chains", layout), setting=row.name)
                yield Row(group, row.name, ours, builtin, goal, column=scene)
    for name, layout, task, goal, manner, unit in (
        ("opening 400 limbs", "100 x 4 x 2", "opened", 3.0, "built-in", ""),
        ("undo with 2000 chains", "500 x 4 x 2", "undone", 1000.0, "bare", " ms more"),
    ):
        sides = (
            Side(each, RIGS, (each, layout), task, checks=False) for each in ("chains", manner)
        )
        yield Row(name, name, *sides, goal, unit)
    name = "one such tree of ten bones a limb, a move"
    tree = Side("chains", RIGS, ("chains", "1 x 4 x 10"), setting=TREE)
    yield Row(name, name, tree, None, 100.0, " ms")


def make_page(results: Sequence[Result]) -> str:
    """Return everything as Markdown."""
    clock, by_name = clock_of(results), _by_name(results)
    lines = [EXPLAINED, *([WORKED] if clock == "work" else [])]
    singles = [_single(each, clock) for each in results if not each.row.column]
    if singles:
        lines += ["", make_table(SINGLE_HEAD, singles)]
    if by_name:
        rows = [_cells(name, columns, clock) for name, columns in by_name.items()]
        lines += ["", make_table(HEAD, rows)]
    lines += ["", summarize(results, clock)]
    lines += [f"Not measured: {each.row.group}: {each.reason}" for each in results if each.reason]
    return "\n".join(lines)


def make_drawing(results: Sequence[Result]) -> dict[str, Any]:
    """Return what `plot` draws: the characters above, three columns of settings below."""
    clock, by_name = clock_of(results), _by_name(results)
    singles = [(each.row.name, each) for each in results if not (each.row.column or each.row.unit)]
    panels = [panel_of("characters, and opening a file", 0, singles, clock)] if singles else []
    for column, scene in enumerate(SCENES if by_name else ()):
        chosen = [(name, columns.get(scene)) for name, columns in by_name.items()]
        panels.append(panel_of(TITLES[scene], column, chosen, clock))
    return {
        "title": "Times Blender's IK constraint, plain chains of the same lengths",
        "axis": "Black mark: goal; dotted: 1; dashed: 15. Blue: within its goal, orange: over it,"
        " dark red: over 15 as well, a cliff",
        "most": MOST,
        "panels": panels,
    }


def _by_name(results: Sequence[Result]) -> dict[str, dict[str, Result]]:
    """Return the results of settings by name and column."""
    found: dict[str, dict[str, Result]] = {}
    for each in results:
        if each.row.column:
            found.setdefault(each.row.name, {})[each.row.column] = each
    return found


def _single(result: Result, clock: str) -> tuple[str, ...]:
    row = result.row
    if result.reason:
        return row.name, NOTHING, f"{row.goal:g}{row.unit}", "not measured"
    value = f"{short(result.value(clock))}{row.unit}"
    if row.other is not None:
        value += f" ({short(result.ours.median(clock))} ms)"
    return row.name, value, f"{row.goal:g}{row.unit}", verdict(result, clock)


def _cells(name: str, columns: dict[str, Result], clock: str) -> tuple[str, ...]:
    values, words, reached = [], [], []
    for scene in SCENES:
        each = columns.get(scene)
        if each is None or each.reason:
            triple = (NOTHING,) * 3
        else:
            value = f"{short(each.value(clock))} / {each.row.goal:g}"
            share = f"{each.ours.facts['reached']:.0%}"
            triple = (
                f"{value} ({short(each.ours.median(clock))})", verdict(each, clock), share,
            )  # fmt: skip
        for texts, text in zip((values, words, reached), triple):
            texts.append(text)
    return name, *values, " ".join(words), " ".join(reached)
