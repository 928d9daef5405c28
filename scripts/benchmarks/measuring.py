"""Rows that hold one side against another, how they are measured, and how they are judged.

All sides of a group are measured in turn, round after round: a machine that slows down does so for
all of them.
"""

from __future__ import annotations

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Callable

from benchmarks.workers import Worker, WorkerError
from common.console import say
from common.python_finder import UnavailableError
from environment import InstallError

Clocks = dict[str, float]
# Where so many times the work passes on the wall's clock, others had the machine.
BUSY = 1.25


@dataclasses.dataclass(frozen=True)
class Side:
    """One of the two that a row compares.

    Attributes:
        label: As tables show it.
        program: Which worker, as `workers.Programs.start` knows it.
        start: What the worker is given when it starts; sides alike in both share a process.
        task: What is timed; "" where only what is reached counts.
        case: What a worker without Blender solves, and to what share of the chain's length.
        setting: The row of `setting_rows` that the scene is set up as.
        once: Whether the task says all the first time it is asked, and is no matter of time.
        checks: Whether there is something to reach.
    """

    label: str
    program: str
    start: tuple[str, ...] = ()
    task: str = "moved"
    case: tuple[str, float] | None = None
    setting: str = ""
    once: bool = False
    checks: bool = True

    @property
    def process(self) -> tuple[str, ...]:
        return (self.program, *self.start)

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
        column: Where the page shows it.
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
    """What one side has delivered: a pair of clocks each round, or the reason why there are none.

    The facts are the share of targets that were reached, and the worst distance that was left, as
    a share of the chain's length.
    """

    versions: Mapping[str, str] = dataclasses.field(default_factory=dict)
    facts: Mapping[str, float] = dataclasses.field(default_factory=dict)
    clocks: list[Clocks] = dataclasses.field(default_factory=list)
    reason: str = ""

    def median(self, clock: str = "wall") -> float:
        return statistics.median([each[clock] for each in self.clocks])


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

    def rounds(self, clock: str = "wall") -> list[float]:
        """Return what is judged, of every round."""
        if self.reason:
            return []
        ours = [each[clock] for each in self.ours.clocks]
        if self.other is None:
            return ours
        pairs = list(zip(ours, (each[clock] for each in self.other.clocks)))
        return [a - b if self.row.unit else a / b for a, b in pairs]

    def value(self, clock: str = "wall") -> float | None:
        rounds = self.rounds(clock)
        return statistics.median(rounds) if rounds else None

    def is_met(self, clock: str = "wall") -> bool | None:
        """Tell whether the goal is met; None without a goal or a figure."""
        value, goal = self.value(clock), self.row.goal
        if value is None or goal is None:
            return None
        has_reached = self.ours.facts.get("reached", 1.0) >= 1.0
        return value <= goal and (has_reached or not self.row.must_reach)


def clock_of(results: Sequence[Result]) -> str:
    """Return the clock that counts: the wall's, unless others had the machine.

    By the sum of all: short updates end before anybody else has a turn, long ones tell.
    """
    clocks = [each for result in results for each in result.ours.clocks]
    walls, works = (sum(each[clock] for each in clocks) for clock in ("wall", "work"))
    return "work" if walls > BUSY * works else "wall"


def summarize(results: Sequence[Result], clock: str = "wall") -> str:
    """Return how many goals are met, in a line."""
    goals = [result for result in results if result.row.goal is not None]
    missing = sum(result.is_met(clock) is None for result in goals)
    met = sum(result.is_met(clock) is True for result in goals)
    return f"{met} of {len(goals)} goals met{f', {missing} not measured' if missing else ''}"


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
    # The first round prepares: caches, first frames, compiled code.
    for number in range(rounds + 1):
        for side, samples in found.items():
            if samples.reason or (side.once and number > 1):
                continue
            try:
                if number == 0:
                    _prepare(side, samples, start, pool)
                elif side.task:
                    clocks = pool[side.process].ask(side.task, **side.arguments)
                    samples.clocks.append(clocks)
            except (WorkerError, UnavailableError, InstallError) as error:
                samples.reason = str(error)
                say(side.label, f"not measured: {error}")
                # A worker ends where it fails.
                if side.process in pool:
                    pool.pop(side.process).close()
    return found


def _prepare(
    side: Side, samples: Samples, start: Callable[..., Worker], pool: dict[Any, Worker]
) -> None:
    """Start the worker where there is none, and see that it does its work before it is timed."""
    if side.process not in pool:
        pool[side.process] = start(side.program, *side.start)
    worker = pool[side.process]
    samples.versions = worker.ask("versions")
    if side.setting:
        worker.ask("set_up", setting=side.setting)
    if side.checks:
        task = {} if side.case is None else {"task_of_case": side.task}
        samples.facts = worker.ask("check", **side.arguments, **task)
    if side.task and not side.once:
        worker.ask(side.task, **side.arguments)
