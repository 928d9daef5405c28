"""Measure groups of rows: all sides of a group in turn, round after round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Callable

from benchmarks.programs import ALL_RIVALS, IN_BLENDER, Programs
from benchmarks.rows import Row, Side
from benchmarks.tables.ratios import Facts, Result, Samples
from benchmarks.workers import Worker, WorkerError
from common.console import say
from common.python_finder import UnavailableError
from environment import InstallError

WorkerKey = tuple[str, str]


def groups_of(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the rows by group, in their order."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return groups


def key_of(side: Side) -> WorkerKey:
    """Return which process measures a side: inside Blender each scene has its own."""
    return (side.program, side.subject if side.program in IN_BLENDER else "")


class Group:
    """Rows that are measured together, and the processes they need."""

    def __init__(self, rows: Sequence[Row], programs: Programs, rivals: Iterable[str]) -> None:
        """Remember what to measure and with whom."""
        self.rows = rows
        self.programs = programs
        self.rivals = set(rivals)
        self.workers: dict[WorkerKey, Worker] = {}
        self.reasons: dict[Side, str] = {}
        self.facts: dict[Side, Facts] = {}
        self.versions: dict[Side, dict[str, str]] = {}
        self.figures: dict[Side, list[float]] = {}

    def measure(self, rounds: int) -> list[Result]:
        """Measure and return a result for each row. Leaves no process behind."""
        sides = list(dict.fromkeys(self._sides()))
        if all(row.rival is None for row in self.rows):
            # A figure of its own, and not one of time: measured once.
            rounds = 1
        try:
            for side in sides:
                self._try(side, self._prepare)
            for _ in range(rounds):
                for side in sides:
                    self._try(side, self._measure)
        finally:
            for worker in self.workers.values():
                worker.close()
        return [self._result(row) for row in self.rows]

    def _sides(self) -> Iterable[Side]:
        """Return ours first: floors write what ours has found."""
        for row in self.rows:
            yield row.ours
        for row in self.rows:
            if row.rival is not None:
                yield row.rival

    def _try(self, side: Side, work: Callable[[Side], None]) -> None:
        """Do something with a side; when that fails, note why and leave the side out."""
        if side in self.reasons:
            return
        try:
            work(side)
        except (WorkerError, UnavailableError, InstallError) as error:
            self.reasons[side] = str(error)
            say(side.label, f"not measured: {error}")

    def _prepare(self, side: Side) -> None:
        """Start the worker and see that it does its work before it is timed."""
        if side.program in ALL_RIVALS and side.program not in self.rivals:
            raise UnavailableError(f"--rivals does not name {side.program}")
        worker = self.workers.get(key_of(side))
        is_new = worker is None
        if worker is None:
            worker = self.programs.start(side.program, side.subject)
            self.workers[key_of(side)] = worker
        self.versions[side] = worker.ask("versions")
        if side.program in IN_BLENDER:
            self._prepare_scene(side, worker, is_new)
        elif side.tolerance is not None:
            is_own_batch = side.program == "core" and side.task == "batch"
            task = "check_batch" if is_own_batch else "check"
            facts = worker.ask(task, case=side.subject, tolerance=side.tolerance)
            self.facts[side] = Facts(**facts)
        self.figures[side] = []

    def _prepare_scene(self, side: Side, worker: Worker, is_new: bool) -> None:
        if side.program == "memory":
            return
        rotations = str(self.programs.folder / f"{side.subject}.npy")
        if is_new and side.program in ("floor", "handler", "unsolved"):
            worker.ask("load_rotations", path=rotations)
        if side.task != "idle":
            self.facts[side] = Facts(**worker.ask("check"))
        if is_new and side.program == "chains":
            worker.ask("save_rotations", path=rotations)
        if side.task == "played":
            worker.ask("key")
        # Once outside of the count: caches, the first frames.
        worker.ask(side.task)

    def _measure(self, side: Side) -> None:
        arguments: dict[str, object] = {}
        if side.tolerance is not None:
            arguments = {"case": side.subject, "tolerance": side.tolerance}
        figure = self.workers[key_of(side)].ask(side.task, **arguments)
        self.figures[side].append(float(figure["wall"] if isinstance(figure, dict) else figure))

    def _result(self, row: Row) -> Result:
        for side in (row.ours, row.rival):
            if side is not None and side in self.reasons:
                is_broken = side is row.ours and row.limit is not None
                return Result(row, reason=self.reasons[side], is_broken=is_broken)
        rival = None if row.rival is None else self._samples(row.rival)
        return Result(row, self._samples(row.ours), rival)

    def _samples(self, side: Side) -> Samples:
        facts = self.facts.get(side, Facts())
        return Samples(tuple(self.figures[side]), self.versions[side], facts)
