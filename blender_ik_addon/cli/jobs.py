"""Frames solved in several processes of this program, each writing a chunk."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import bpy

from . import trust
from .errors import BEGINNING, CommandError

# A process that was killed, by a shortage of memory for one, may do better alone.
TRIES = 2
Tell = Callable[[int, int], None]
"""Called with how many frames have been played, and of how many."""

PROGRESS = re.compile(r"frame (\d+) of \d+\s*")


@dataclass(frozen=True)
class Task:
    """One process.

    Attributes:
        command: What starts it.
        name: The frames that it solves, as a sentence begins with them.
        count: How many frames it tells of.
    """

    command: Sequence[str]
    name: str
    count: int


def start() -> list[str]:
    """Return what starts this program on the file that is open, trusted no more than here."""
    file = bpy.data.filepath
    if bpy.app.binary_path:
        blender = [bpy.app.binary_path, "-b", *trust.application_options(), file]
        return [*blender, "-S", bpy.context.scene.name, "-c", "chain_ik"]
    package = Path(__file__).resolve().parents[1].name
    # It is to import nothing from the folder in which it starts.
    python = [sys.executable, "-I" if sys.flags.isolated else "-P", "-m", package]
    return [*python, *(["-y"] if trust.runs_scripts() else []), file]


def _variables() -> dict[str, str]:
    """Return environment variables with which Python finds this package."""
    folder = str(Path(__file__).resolve().parents[2])
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = dict(os.environ)
    if not bpy.app.binary_path:
        variables["PYTHONPATH"] = os.pathsep.join(paths)
    return variables


@dataclass
class _Run:
    """Tasks under way.

    Attributes:
        tell: Called with how many frames have been played, and of how many.
        total: Of all tasks.
        lock: For all that is below: a thread waits for each process.
        played: Frames by task.
        processes: Those that run.
        is_over: Whether no more are to be started.
    """

    tell: Tell
    total: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    played: dict[int, int] = field(default_factory=dict)
    processes: set[subprocess.Popen[str]] = field(default_factory=set)
    is_over: bool = False

    def attempt(self, number: int, task: Task) -> str | None:
        """Run a task once; return None if it went well, else the last that it said."""
        with self.lock:
            if self.is_over:
                return "another process has failed"
            process = subprocess.Popen(
                task.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=_variables(),
            )
            self.processes.add(process)
        last = why = ""
        assert process.stderr is not None
        with process.stderr as said:
            for line in said:
                if match := PROGRESS.fullmatch(line):
                    self._note(number, int(match[1]))
                elif line.startswith(BEGINNING):
                    why = line.removeprefix(BEGINNING)
                else:
                    last = line.strip() or last
        code = process.wait()
        with self.lock:
            self.processes.discard(process)
        if code == 0:
            return None
        if code < 0:
            return f"signal {-code} has ended the process"
        return why or last or f"the process has ended with code {code}"

    def _note(self, number: int, count: int) -> None:
        with self.lock:
            before = sum(self.played.values())
            self.played[number] = count
            if (done := sum(self.played.values())) > before:
                self.tell(done, self.total)

    def stop(self) -> bool:
        """End what still runs; tell whether this is the first to do so."""
        with self.lock:
            is_first, self.is_over = not self.is_over, True
            for process in self.processes:
                process.kill()
        return is_first


def run(tasks: Sequence[Task], jobs: int, tell: Tell) -> None:
    """Run tasks, so many at a time; each that fails once more.

    Raises:
        CommandError: If one has failed twice, with its frames; the others are ended.
    """
    state = _Run(tell, sum(task.count for task in tasks))

    def finish(numbered: tuple[int, Task]) -> None:
        number, task = numbered
        for _ in range(TRIES):
            why = state.attempt(number, task)
            if why is None:
                return
        # Those that were ended for another's sake have nothing to tell.
        if state.stop():
            raise CommandError(f"{task.name} could not be solved: {why.strip().rstrip('.')}.")

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for _ in pool.map(finish, enumerate(tasks)):
                pass
        finally:
            state.stop()
