"""Rows that hold one side against another: how they are measured, judged, tabulated and drawn.

All sides of a group are measured in turn, round after round: a machine that slows down does so for
all of them.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Callable

from benchmarks.workers import Worker, WorkerError
from common.console import say
from common.tables import make_table
from environment import UnavailableError

NOTHING = "-"


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two that a row compares.

    Attributes:
        label: As tables show it.
        process: The worker, as `workers.Programs.start` knows it, and what it is given.
        task: What is timed.
        case: What a worker without Blender solves, and to what share of the chain's length.
        setting: The row of `setting_rows` that the scene is set up as.
        checks: Whether there is something to reach.
    """

    label: str
    process: tuple[str, ...]
    task: str = "moved"
    case: tuple[str, float] | None = None
    setting: str = ""
    checks: bool = True

    @property
    def arguments(self) -> dict[str, object]:
        return {} if self.case is None else {"case": self.case[0], "tolerance": self.case[1]}


@dataclasses.dataclass(frozen=True)
class Row:
    """A comparison.

    Attributes:
        group: Rows of one group follow each other and are measured together.
        name: As tables show it.
        ours: What this project does.
        other: What it is held against; None where the figure itself is judged.
        goal: Greatest accepted ratio or figure; None for a row that only informs.
        unit: Of what is judged: "" for a ratio, " ms more" for a difference.
        must_reach: Whether the goal is missed wherever a target is.
        column: Where the page shows it, beside rows of the same name.
    """

    group: str
    name: str
    ours: Side
    other: Side | None
    goal: float | None = None
    unit: str = ""
    must_reach: bool = False
    column: str = ""


@dataclasses.dataclass
class Samples:
    """What one side has delivered: a time each round, or the reason why there are none.

    The facts are the share of targets that were reached, and the worst distance that was left, as
    a share of the chain's length.
    """

    facts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    times: list[float] = dataclasses.field(default_factory=list)
    reason: str = ""

    def told(self) -> str:
        """Return the facts as tables show them."""
        if "reached" not in self.facts:
            return NOTHING
        return f"{100.0 * self.facts['reached']:.4g} %, {self.facts['worst']:.0e}"


@dataclasses.dataclass(frozen=True)
class Result:
    """A measured row."""

    row: Row
    ours: Samples
    other: Samples | None = None

    @property
    def reason(self) -> str:
        """Why there is no figure; empty where there is one."""
        return self.ours.reason or (self.other.reason if self.other else "")

    @property
    def rounds(self) -> list[float]:
        """What is judged, of every round."""
        if self.reason or self.other is None:
            return [] if self.reason else self.ours.times
        pairs = zip(self.ours.times, self.other.times)
        return [a - b if self.row.unit else a / b for a, b in pairs]

    @property
    def value(self) -> float | None:
        return statistics.median(self.rounds) if self.rounds else None

    @property
    def is_met(self) -> bool | None:
        """Whether the goal is met; None without a goal or a figure."""
        if self.value is None or self.row.goal is None:
            return None
        has_reached = self.ours.facts.get("reached", 1.0) >= 1.0
        return self.value <= self.row.goal and (has_reached or not self.row.must_reach)

    def cell(self) -> str:
        if self.value is None:
            return NOTHING
        goal = "" if self.row.goal is None else f" / {self.row.goal:g}"
        figure = f"{short(self.value)}{goal}{self.row.unit}"
        if self.other is None:
            return figure
        times = (short(statistics.median(each.times)) for each in (self.ours, self.other))
        return f"{figure} ({'; '.join(times)})"


def short(number: float) -> str:
    """Return a number to three digits, not as a power of ten: 1240, 0.0273."""
    return f"{float(f'{number:.3g}'):g}"


def make_page(results: Sequence[Result], explained: str) -> str:
    """Return what has been measured as Markdown: rows one below the other, then those in columns.

    A cell is the figure / its goal (milliseconds: ours; the other's).
    """
    lines = [explained]
    singles = [each for each in results if not each.row.column]
    columned = [each for each in results if each.row.column]
    for chosen in (singles, columned):
        columns = list(dict.fromkeys(each.row.column for each in chosen))
        by_line: dict[tuple[str, str], dict[str, Result]] = {}
        for each in chosen:
            beside = each.row.other.label if each.row.other else NOTHING
            by_line.setdefault((each.row.name, beside), {})[each.row.column] = each
        head = ("", "beside", *(name or "figure / goal (ms)" for name in columns), "met", "reached")
        rows = [(*key, *_cells(line, columns)) for key, line in by_line.items()]
        lines += ["", make_table(head, rows, 2)] if rows else []
    goals = [each for each in results if each.row.goal is not None]
    if goals:
        missing = sum(each.is_met is None for each in goals)
        met = sum(each.is_met is True for each in goals)
        more = f", {missing} not measured" if missing else ""
        lines += ["", f"{met} of {len(goals)} goals met{more}"]
    lines += [f"Not measured: {each.row.group}: {each.reason}" for each in results if each.reason]
    return "\n".join(lines)


def _cells(line: Mapping[str, Result], columns: Sequence[str]) -> Iterator[str]:
    found = [line.get(column) for column in columns]
    yield from (each.cell() if each else NOTHING for each in found)
    words = {None: NOTHING, True: "yes", False: "NO"}
    yield " ".join(words[each and each.is_met] for each in found)
    if len(columns) == 1 and found[0]:
        yield "; ".join(side.told() for side in (found[0].ours, found[0].other) if side)
    else:
        shares = [each and each.ours.facts.get("reached") for each in found]
        yield " ".join(NOTHING if share is None else f"{share:.0%}" for share in shares)


def measure(rows: Sequence[Row], start: Callable[..., Worker], rounds: int) -> Iterator[Result]:
    """Measure rows and yield a result for each. Leaves no process behind.

    A process is kept as long as the next group needs it.
    """
    pool: dict[tuple[str, ...], Worker] = {}
    groups = [list(group) for _, group in itertools.groupby(rows, lambda row: row.group)]
    try:
        for group, following in zip(groups, [*groups[1:], []]):
            found = _measure_sides(_sides_of(group), start, rounds, pool)
            for row in group:
                yield Result(row, found[row.ours], found[row.other] if row.other else None)
            for process in set(pool) - {side.process for side in _sides_of(following)}:
                pool.pop(process).close()
    finally:
        for worker in pool.values():
            worker.close()


def _sides_of(rows: Sequence[Row]) -> list[Side]:
    return list(dict.fromkeys(side for row in rows for side in (row.ours, row.other) if side))


def _measure_sides(
    sides: Sequence[Side],
    start: Callable[..., Worker],
    rounds: int,
    pool: dict[tuple[str, ...], Worker],
) -> dict[Side, Samples]:
    """Measure all sides in turn; a side that fails is left out from there."""
    found = {side: Samples() for side in sides}
    # The first round prepares: caches, first frames, compiled code. And it sees what is reached.
    for number in range(rounds + 1):
        for side, samples in found.items():
            if samples.reason:
                continue
            try:
                if side.process not in pool:
                    pool[side.process] = start(*side.process)
                worker = pool[side.process]
                if number == 0 and side.setting:
                    worker.ask("set_up", setting=side.setting)
                if number == 0 and side.checks:
                    samples.facts = worker.ask("check", **side.arguments)
                time = worker.ask(side.task, **side.arguments)
                samples.times += [time] if number else []
            except (WorkerError, UnavailableError) as error:
                samples.reason = str(error)
                say(side.label, f"not measured: {error}")
                # A worker ends where it fails.
                if side.process in pool:
                    pool.pop(side.process).close()
    return found
