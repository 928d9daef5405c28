"""What every setting of a chain costs, in times of Blender's constraint: measured and written.

Real characters come first, then every row of `setting_rows` in its scenes, then what happens once.
All figures of a row are taken in turn with those of the constraint.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import statistics
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from benchmarks.programs import Programs
from benchmarks.setting_rows import MOST, ROWS, SCENES, Setting
from benchmarks.tables import markdown
from benchmarks.tables.markdown import NOTHING, short
from benchmarks.workers import Worker, WorkerError, in_turn, side_by_side
from common.console import say

Clocks = dict[str, float]

# Where so many times the work passes on the wall's clock, others had the machine.
BUSY = 1.25
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
"""Real characters: work, how many, task, goal, and beside what.

Control bones are those of Set Up Limbs; the five chains have empties.
"""
SETTINGS = "measured.blender_settings"
OPENED = ("opening 400 limbs", "100 x 4 x 2", "opened", 3.0)
UNDONE = ("undo with 2000 chains", "500 x 4 x 2", "undone", 1.0)
TREE = "tree of four limbs, one bone inherits no rotation, poles"
ONE_TREE = ("one such tree of ten bones a limb, a move", "1 x 4 x 10", 0.1)


@dataclasses.dataclass(frozen=True)
class Figure:
    """One measured cell.

    Attributes:
        name: Of the row.
        scene: "two", "ten" or "one"; "human" or "once" for what has no such scenes.
        goal: Greatest ratio, or number of seconds.
        kind: "ratio"; "more", seconds more than the other; "seconds".
        ours: A round each.
        theirs: The same of what it is compared with; empty for seconds.
        reached: Share of the targets reached; None where nothing is to be reached.
        reason: Why there are no figures.
    """

    name: str
    scene: str
    goal: float
    kind: str = "ratio"
    ours: tuple[Clocks, ...] = ()
    theirs: tuple[Clocks, ...] = ()
    reached: float | None = None
    reason: str = ""

    def value(self, clock: str) -> float | None:
        """Return what is held against the goal, by one of the two clocks."""
        if not self.ours:
            return None
        ours = [each[clock] for each in self.ours]
        theirs = [each[clock] for each in self.theirs]
        if self.kind == "seconds":
            return statistics.median(ours) / 1e3
        pairs = list(zip(ours, theirs))
        if self.kind == "more":
            return statistics.median([mine - other for mine, other in pairs]) / 1e3
        return statistics.median([mine / other for mine, other in pairs])

    def milliseconds(self, clock: str) -> float:
        """Return the median of ours."""
        return statistics.median([each[clock] for each in self.ours])

    def is_met(self, clock: str) -> bool | None:
        """Tell whether the goal is met; None without figures."""
        value = self.value(clock)
        return None if value is None else value <= self.goal


@dataclasses.dataclass
class Measuring:
    """One run: the programs, how many rounds, and which rows."""

    programs: Programs
    rounds: int
    only: str = ""

    def figures(self) -> Iterator[Figure]:
        """Measure everything that was chosen, and yield it as it comes."""
        yield from self._humans()
        yield from self._settings()
        yield from self._once()

    def _is_chosen(self, name: str) -> bool:
        return self.only.lower() in name.lower()

    def _humans(self) -> Iterator[Figure]:
        for (count, other), group in itertools.groupby(HUMANS, lambda row: (row[1], row[4])):
            chosen = [row for row in group if self._is_chosen(row[0])]
            if not chosen:
                continue
            ours = "chains" if other in ("built-in", "live") else "controls"
            with self._started("measured.blender_humans", (ours, other), count) as sides:
                for name, _, task, goal, _ in chosen:
                    for side in sides:
                        side.ask("check")
                        if task in ("played", "baked"):
                            side.ask("key")
                    yield self._compared(Figure(name, "human", goal, reached=1.0), sides, task)

    def _settings(self) -> Iterator[Figure]:
        chosen = [row for row in ROWS if self._is_chosen(row.name)]
        if not chosen:
            return
        with self._started(SETTINGS, ("chains", "built-in")) as sides:
            for scene, layout in SCENES.items():
                sides[1].ask("set_up", layout=layout, row="plain")
                sides[1].ask("check")
                for row in [row for row in chosen if scene not in row.not_in]:
                    try:
                        yield self._of_row(row, scene, layout, sides)
                    except WorkerError as error:
                        yield Figure(row.name, scene, row.goal(scene), reason=str(error))
                        # A worker ends where it fails.
                        sides[0].close()
                        sides[0] = self.programs.start_in_blender(SETTINGS, "chains")

    def _of_row(self, row: Setting, scene: str, layout: str, sides: list[Worker]) -> Figure:
        sides[0].ask("set_up", layout=layout, row=row.name)
        facts = sides[0].ask("check")
        figure = Figure(row.name, scene, row.goal(scene), reached=facts["reached"])
        return self._compared(figure, sides, "moved")

    def _once(self) -> Iterator[Figure]:
        for (name, layout, task, goal), other, kind in (
            (OPENED, "built-in", "ratio"), (UNDONE, "floor", "more"),
        ):  # fmt: skip
            if self._is_chosen(name):
                with self._started("measured.blender_updates", ("chains", other), layout) as sides:
                    yield self._compared(Figure(name, "once", goal, kind), sides, task)
        name, layout, goal = ONE_TREE
        if self._is_chosen(name):
            with self._started(SETTINGS, ("chains",)) as sides:
                sides[0].ask("set_up", layout=layout, row=TREE)
                facts = sides[0].ask("check")
                figure = Figure(name, "once", goal, "seconds", reached=facts["reached"])
                yield self._compared(figure, sides, "moved")

    @property
    def _started(self) -> Callable[..., contextlib.AbstractContextManager[list[Worker]]]:
        return functools.partial(side_by_side, self.programs.start_in_blender)

    def _compared(self, figure: Figure, sides: Sequence[Worker], task: str) -> Figure:
        """Measure all sides in turn, once before it counts."""
        ours, *others = in_turn(sides, self.rounds, task)
        return dataclasses.replace(figure, ours=ours, theirs=others[0] if others else ())


def measured(programs: Programs, rounds: int, only: str = "") -> list[Figure]:
    """Measure and return all chosen figures."""
    found = []
    for figure in Measuring(programs, rounds, only).figures():
        found.append(figure)
        value = figure.value("wall")
        text = figure.reason or f"{short(value)} ({short(figure.value('work'))} by its work)"
        say(f"{figure.name}, {figure.scene}", text)
    return found


def clock_of(figures: Sequence[Figure]) -> str:
    """Return the clock that counts: the wall's, unless others had the machine.

    By the sum of all: short updates end before anybody else has his turn, long ones tell.
    """
    ours = [each for figure in figures for each in figure.ours]
    walls, works = (sum(each[clock] for each in ours) for clock in ("wall", "work"))
    return "work" if walls > BUSY * works else "wall"


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


def table(figures: Sequence[Figure]) -> str:
    """Return everything as Markdown."""
    clock, by_name = clock_of(figures), _by_name(figures)
    lines = [EXPLAINED, *([WORKED] if clock == "work" else [])]
    singles = [_single(figure, clock) for figure in figures if figure.scene not in SCENES]
    if singles:
        lines += ["", markdown.table(SINGLE_HEAD, singles)]
    if by_name:
        rows = [_cells(name, by_scene, clock) for name, by_scene in by_name.items()]
        lines += ["", markdown.table(HEAD, rows)]
    lines += ["", summary(figures)]
    lines += [
        f"Not measured: {each.name}, {each.scene}: {each.reason}" for each in figures if each.reason
    ]
    return "\n".join(lines)


def summary(figures: Sequence[Figure]) -> str:
    """Return how many goals are met, in a line."""
    clock = clock_of(figures)
    met = sum(figure.is_met(clock) is True for figure in figures)
    return f"{met} of {len(figures)} goals met"


def drawing(figures: Sequence[Figure]) -> dict[str, Any]:
    """Return what `plot` draws: the characters above, three columns of settings below."""
    clock = clock_of(figures)

    def panel(title: str, column: int, chosen: Sequence[tuple[str, Figure | None]]) -> dict:
        rows = [
            {
                "label": name,
                "value": figure and figure.value(clock),
                "goal": figure and figure.goal,
                "is_met": figure and figure.is_met(clock),
                "range": [],
            }
            for name, figure in chosen
        ]
        return {"title": title, "column": column, "lines": 1, "rows": rows}

    singles = [
        (each.name, each)
        for each in figures
        if each.scene not in SCENES and each.kind == "ratio" and not each.reason
    ]
    panels = [panel("characters, and opening a file", 0, singles)] if singles else []
    by_name = _by_name(figures)
    for column, scene in enumerate(SCENES if by_name else ()):
        chosen = [(name, by_scene.get(scene)) for name, by_scene in by_name.items()]
        panels.append(panel(TITLES[scene], column, chosen))
    return {
        "title": "Times Blender's IK constraint, plain chains of the same lengths",
        "axis": "Black mark: goal; dotted: 1; dashed: 15. Blue: within its goal, orange: over it,"
        " dark red: over 15 as well, a cliff",
        "most": MOST,
        "panels": panels,
    }


def _by_name(figures: Sequence[Figure]) -> dict[str, dict[str, Figure]]:
    """Return the figures of settings by row and scene."""
    found: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        if figure.scene in SCENES:
            found.setdefault(figure.name, {})[figure.scene] = figure
    return found


def _single(figure: Figure, clock: str) -> tuple[str, ...]:
    if figure.reason:
        return figure.name, NOTHING, f"{figure.goal:g}", "not measured"
    unit = {"ratio": "", "more": " s more", "seconds": " s"}[figure.kind]
    value = f"{short(figure.value(clock))}{unit} ({short(figure.milliseconds(clock))} ms)"
    return figure.name, value, f"{figure.goal:g}{unit}", markdown.verdict(figure.is_met(clock))


def _cells(name: str, by_scene: dict[str, Figure], clock: str) -> tuple[str, ...]:
    cells, words, reached = [], [], []
    for scene in SCENES:
        figure = by_scene.get(scene)
        if figure is None or figure.reason:
            triple = (NOTHING,) * 3
        else:
            value = f"{short(figure.value(clock))} / {figure.goal:g}"
            share = NOTHING if figure.reached is None else f"{figure.reached:.0%}"
            word = markdown.verdict(figure.is_met(clock))
            triple = (f"{value} ({short(figure.milliseconds(clock))})", word, share)
        for texts, text in zip((cells, words, reached), triple):
            texts.append(text)
    return name, *cells, " ".join(words), " ".join(reached)
