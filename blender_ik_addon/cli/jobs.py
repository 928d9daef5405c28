"""Frames solved in several processes of this program, which write chunks."""

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
from .errors import ERROR_PREFIX, CommandError

# Runs of a job. A second run may succeed where the first was killed, for example by a shortage of
# memory.
MAX_ATTEMPTS = 2
ReportProgress = Callable[[int, int], None]
"""Called with the number of frames that have been played, and the number of all."""

PROGRESS = re.compile(r"frame (\d+) of \d+\s*")


@dataclass(frozen=True)
class Job:
    """One process.

    Attributes:
        command: Command line that starts it.
        name: The frames that it solves, as the beginning of a sentence.
        count: Number of frames that it plays and reports on stderr.
    """

    command: Sequence[str]
    name: str
    count: int


def start_command() -> list[str]:
    """Return the command line of this program on the open file, with no more rights than here."""
    file = bpy.data.filepath
    if bpy.app.binary_path:
        blender = [bpy.app.binary_path, "-b", *trust.application_options(), file]
        return [*blender, "-S", bpy.context.scene.name, "-c", "chain_ik"]
    package = Path(__file__).resolve().parents[1].name
    # Both options keep Python from importing modules of the folder in which it starts.
    python = [sys.executable, "-I" if sys.flags.isolated else "-P", "-m", package]
    return [*python, *(["-y"] if trust.runs_scripts() else []), file]


def _environment() -> dict[str, str]:
    """Return environment variables that let Python find this package."""
    folder = str(Path(__file__).resolve().parents[2])
    paths = [folder, *filter(None, [os.environ.get("PYTHONPATH")])]
    variables = dict(os.environ)
    if not bpy.app.binary_path:
        variables["PYTHONPATH"] = os.pathsep.join(paths)
    return variables


@dataclass
class _RunState:
    """The state of running jobs.

    Attributes:
        tell: Called with the number of frames that have been played, and the number of all.
        total: Number of frames of all jobs.
        lock: Guards the attributes below, because a thread waits for each process.
        played: Number of played frames, by job.
        processes: The running processes.
        is_over: Whether no more processes may start.
    """

    tell: ReportProgress
    total: int
    lock: threading.Lock = field(default_factory=threading.Lock)
    played: dict[int, int] = field(default_factory=dict)
    processes: set[subprocess.Popen[str]] = field(default_factory=set)
    is_over: bool = False

    def attempt(self, number: int, job: Job) -> str | None:
        """Run a job once; return None if it succeeded, otherwise the reason of the failure."""
        with self.lock:
            if self.is_over:
                return "another process has failed"
            process = subprocess.Popen(
                job.command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                env=_environment(),
            )
            self.processes.add(process)
        last = why = ""
        assert process.stderr is not None
        with process.stderr as lines:
            for line in lines:
                if match := PROGRESS.fullmatch(line):
                    self._count_frames(number, int(match[1]))
                elif line.startswith(ERROR_PREFIX):
                    why = line.removeprefix(ERROR_PREFIX)
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

    def _count_frames(self, number: int, count: int) -> None:
        with self.lock:
            before = sum(self.played.values())
            self.played[number] = count
            if (done := sum(self.played.values())) > before:
                self.tell(done, self.total)

    def stop(self) -> bool:
        """End all running processes; tell whether this call is the first."""
        with self.lock:
            is_first, self.is_over = not self.is_over, True
            for process in self.processes:
                process.kill()
        return is_first


def run(all_jobs: Sequence[Job], jobs: int, tell: ReportProgress) -> None:
    """Run jobs, at most ``jobs`` at a time, and a failed one a second time.

    Raises:
        CommandError: If a job has failed twice; it names the frames. The other jobs are ended.
    """
    state = _RunState(tell, sum(job.count for job in all_jobs))

    def finish(numbered: tuple[int, Job]) -> None:
        number, job = numbered
        for _ in range(MAX_ATTEMPTS):
            why = state.attempt(number, job)
            if why is None:
                return
        # Only the first failure counts: ``stop`` has ended the other jobs.
        if state.stop():
            raise CommandError(f"{job.name} could not be solved: {why.strip().rstrip('.')}.")

    with ThreadPoolExecutor(jobs) as pool:
        try:
            for _ in pool.map(finish, enumerate(all_jobs)):
                pass
        finally:
            state.stop()
