"""The asking side: processes that measure, kept alive between questions."""

from __future__ import annotations

import collections
import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from typing import Any, Callable

from benchmarks.answering import ANSWER
from common.console import ROOT

# The longest question is the slowest rival's round.
MOST_SECONDS = 600.0
KEPT_LINES = 12


class WorkerError(Exception):
    """A worker could not answer; the text says why."""


class Worker:
    """A process that answers requests, see `answering`."""

    def __init__(self, name: str, command: list[str], env: dict[str, str]) -> None:
        """Start it.

        Args:
            name: For messages.
            command: Program and arguments.
            env: Environment variables.
        """
        self.name = name
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
        )

    def ask(self, task: str, **arguments: object) -> Any:
        """Have it do a task and return the answer.

        Raises:
            WorkerError: If it ended instead, or took too long.
        """
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        last: collections.deque[str] = collections.deque(maxlen=KEPT_LINES)
        watchdog = threading.Timer(MOST_SECONDS, self.process.kill)
        watchdog.start()
        try:
            pipe_in.write(json.dumps({"task": task, **arguments}) + "\n")
            pipe_in.flush()
            for line in pipe_out:
                if line.startswith(ANSWER):
                    return json.loads(line[len(ANSWER) :])
                last.append(line.rstrip())
        except BrokenPipeError:
            # It has ended before: what it said last is still to be read.
            last.extend(line.rstrip() for line in pipe_out)
        finally:
            watchdog.cancel()
        code = self.process.wait()
        said = [line for line in last if line.strip()]
        raise WorkerError(said[-1].strip() if said else f"{self.name} ended with exit code {code}")

    def close(self) -> None:
        """End it by the end of its input; by force if it does not care."""
        if self.process.stdin is not None:
            try:
                self.process.stdin.close()
            except BrokenPipeError:
                pass
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@contextlib.contextmanager
def side_by_side(
    start: Callable[..., Worker], module: str, manners: Sequence[str], *arguments: object
) -> Iterator[list[Worker]]:
    """Start a worker for each manner, and close what the list has at the end.

    Args:
        start: Starts one by its module and arguments, as `Programs.start_in_blender` does.
        module: Of all.
        manners: First argument of each.
        arguments: The others.
    """
    sides = [start(module, manner, *arguments) for manner in manners]
    try:
        yield sides
    finally:
        for side in sides:
            side.close()


def in_turn(sides: Sequence[Worker], rounds: int, task: str) -> list[tuple[Any, ...]]:
    """Have all sides do a task in turn; return the answers of each, without a first round."""
    found = [[side.ask(task) for side in sides] for _ in range(rounds + 1)]
    return list(zip(*found[1:]))
