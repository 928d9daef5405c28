"""Rows that compare two sides: their measurement, their goals and their tables.

All sides of a group are measured in turn, so that a slow phase of the machine affects all of them.
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
    """One of the two sides of a row.

    Attributes:
        label: Name in tables.
        process: Program and arguments for `workers.start`.
        task: Method of the worker that is timed.
        case: Case of a worker without Blender, and tolerance as a share of the chain's length.
        setting: Name of the row of `setting_rows` that sets the scene up.
        checks: Whether the task has targets to reach.
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
        group: Name of a group of consecutive rows that are measured together.
        name: Name in tables.
        ours: The side of this project.
        other: The side that it is compared with; None if the goal is for the figure itself.
        goal: Greatest accepted ratio or figure; None for a row that only informs.
        unit: Unit of the goal: "" for a ratio, " ms more" for a difference.
        must_reach: Whether the goal also requires that all targets are reached.
        column: Column of the page, where rows of the same name share a line.
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
    """The measurements of one side: one time per round, or the reason why there are none.

    The facts are the share of targets that were reached, and the worst remaining distance as a
    share of the chain's length.
    """

    facts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    times: list[float] = dataclasses.field(default_factory=list)
    reason: str = ""

    def format_facts(self) -> str:
        """Return the facts as a cell of a table."""
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
        """The reason why there is no figure; empty if there is one."""
        return self.ours.reason or (self.other.reason if self.other else "")

    @property
    def rounds(self) -> list[float]:
        """The ratio or difference of each round; without another side our times."""
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

    def format_cell(self) -> str:
        if self.value is None:
            return NOTHING
        goal = "" if self.row.goal is None else f" / {self.row.goal:g}"
        figure = f"{format_number(self.value)}{goal}{self.row.unit}"
        if self.other is None:
            return figure
        times = (format_number(statistics.median(side.times)) for side in (self.ours, self.other))
        return f"{figure} ({'; '.join(times)})"


def format_number(number: float) -> str:
    """Return a number with three digits and without a power of ten: 1240, 0.0273."""
    return f"{float(f'{number:.3g}'):g}"


def make_page(results: Sequence[Result], explanation: str) -> str:
    """Return the results as Markdown: a table of single rows, then a table of rows with columns.

    A cell is the figure / its goal (milliseconds: ours; the other's).
    """
    lines = [explanation]
    singles = [result for result in results if not result.row.column]
    columned = [result for result in results if result.row.column]
    for selected in (singles, columned):
        columns = list(dict.fromkeys(result.row.column for result in selected))
        by_line: dict[tuple[str, str], dict[str, Result]] = {}
        for result in selected:
            other = result.row.other.label if result.row.other else NOTHING
            by_line.setdefault((result.row.name, other), {})[result.row.column] = result
        head = ("", "beside", *(name or "figure / goal (ms)" for name in columns), "met", "reached")
        rows = [(*key, *_cells(line, columns)) for key, line in by_line.items()]
        lines += ["", make_table(head, rows, 2)] if rows else []
    goals = [result for result in results if result.row.goal is not None]
    if goals:
        missing_count = sum(result.is_met is None for result in goals)
        met = sum(result.is_met is True for result in goals)
        missing_text = f", {missing_count} not measured" if missing_count else ""
        lines += ["", f"{met} of {len(goals)} goals met{missing_text}"]
    lines += [
        f"Not measured: {result.row.group}: {result.reason}" for result in results if result.reason
    ]
    return "\n".join(lines)


def _cells(line: Mapping[str, Result], columns: Sequence[str]) -> Iterator[str]:
    results = [line.get(column) for column in columns]
    yield from (result.format_cell() if result else NOTHING for result in results)
    answers = {None: NOTHING, True: "yes", False: "NO"}
    yield " ".join(answers[result and result.is_met] for result in results)
    if len(columns) == 1 and results[0]:
        yield "; ".join(side.format_facts() for side in (results[0].ours, results[0].other) if side)
    else:
        shares = [result and result.ours.facts.get("reached") for result in results]
        yield " ".join(NOTHING if share is None else f"{share:.0%}" for share in shares)


def measure(rows: Sequence[Row], start: Callable[..., Worker], rounds: int) -> Iterator[Result]:
    """Measure rows and yield a result for each; end each process after its last group."""
    pool: dict[tuple[str, ...], Worker] = {}
    groups = [list(group) for _, group in itertools.groupby(rows, lambda row: row.group)]
    try:
        for group, next_group in zip(groups, [*groups[1:], []]):
            samples = _measure_sides(_sides_of(group), start, rounds, pool)
            for row in group:
                yield Result(row, samples[row.ours], samples[row.other] if row.other else None)
            for process in set(pool) - {side.process for side in _sides_of(next_group)}:
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
    """Measure all sides in turn; a side that fails takes no further part."""
    samples_of = {side: Samples() for side in sides}
    # The first round fills caches, plays first frames, compiles, and checks what is reached.
    for number in range(rounds + 1):
        for side, samples in samples_of.items():
            if samples.reason:
                continue
            try:
                if side.process not in pool:
                    pool[side.process] = start(*side.process)
                worker = pool[side.process]
                if number == 0 and side.setting:
                    worker.request("set_up", setting=side.setting)
                if number == 0 and side.checks:
                    samples.facts = worker.request("check", **side.arguments)
                time = worker.request(side.task, **side.arguments)
                samples.times += [time] if number else []
            except (WorkerError, UnavailableError) as error:
                samples.reason = str(error)
                say(side.label, f"not measured: {error}")
                # The process of a worker ends when a task fails.
                if side.process in pool:
                    pool.pop(side.process).close()
    return samples_of
