"""Processes that measure: how they are started, asked, and how they answer.

A request is a line of JSON, and so is an answer. A worker lives until its input ends.
"""

from __future__ import annotations

import collections
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Callable

import environment
from common.console import ROOT, say, stream
from environment import Environment, InstallError, UnavailableError

# Blender and libraries print, too; only lines that begin with this are answers.
ANSWER = "answer: "
BLENDER = "bpy-5.2"
# The longest question is the slowest rival's round.
MOST_SECONDS = 600.0
# Fixed: a goal is a ratio to something that stays the same.
RIVALS = {"pin": "pin==4.1.0", "fullik": "@aminere/fullik@1.3.3"}
_PIN = Environment("3.13", (RIVALS["pin"], "numpy>=2.2,<3"), "60 MB")
# A round repeats its work so often, or stops earlier after so many seconds.
LEAST_REPEATS, MOST_REPEATS, SECONDS = 3, 40, 0.5


class WorkerError(Exception):
    """A worker could not answer; the text says why."""


class Worker:
    """A process that answers requests; see `serve`."""

    def __init__(self, name: str, command: list[str], env: dict[str, str] | None) -> None:
        self.name = name
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", bufsize=1,
        )  # fmt: skip

    def ask(self, task: str, **arguments: object) -> Any:
        """Have it do a task and return the answer; `WorkerError` if it ends or takes too long."""
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        last: collections.deque[str] = collections.deque(maxlen=12)
        watchdog = threading.Timer(MOST_SECONDS, self.process.kill)
        watchdog.start()
        try:
            pipe_in.write(json.dumps({"task": task, **arguments}) + "\n")
            pipe_in.flush()
        except BrokenPipeError:
            # It has ended before: what it said last is still to be read.
            pass
        try:
            for line in pipe_out:
                if line.startswith(ANSWER):
                    return json.loads(line[len(ANSWER) :])
                last.append(line.strip())
        finally:
            watchdog.cancel()
        said = [line for line in last if line]
        code = self.process.wait()
        raise WorkerError(said[-1] if said else f"{self.name} ended with exit code {code}")

    def close(self) -> None:
        """End it by the end of its input; by force if it does not care."""
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(worker: object) -> None:
    """Answer requests until the input ends: tasks are methods, and the rest are their arguments.

    An error ends the process: its text reaches the other side as the last line.
    """
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("task"))(**request)
        print(ANSWER + json.dumps(answer), flush=True)


def time_round(
    prepare: Callable[[], object],
    work: Callable[[], object],
    most: int = MOST_REPEATS,
    seconds: float = SECONDS,
) -> float:
    """Return the median milliseconds of one round's repetitions; preparing each is not timed."""
    took: list[float] = []
    begin = time.perf_counter()
    while len(took) < most:
        if len(took) >= LEAST_REPEATS and time.perf_counter() - begin > seconds:
            break
        prepare()
        start = time.perf_counter()
        work()
        took.append(1e3 * (time.perf_counter() - start))
    return statistics.median(took)


def start(variables: dict[str, str], program: str, *arguments: str) -> Worker:
    """Start a worker: "core", a rival, or a module of `benchmarks`, which runs in Blender.

    Our core runs in Blender's Python, too. The variables are those that
    `environment.isolated_variables` yields.
    """
    if program == "fullik":
        return _start_fullik(variables)
    is_pin, module = program == "pin", program
    if is_pin or program == "core":
        module, arguments = "core.solvers", (program,)
    python = environment.ensure("rival-pin", _PIN) if is_pin else environment.ensure(BLENDER)
    return Worker(module, [str(python), "-m", f"benchmarks.{module}", *arguments], variables)


def _start_fullik(variables: dict[str, str]) -> Worker:
    """Install fullik if needed, and start it on our cases."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise UnavailableError("node and npm are needed for it, and are not on this machine.")
    folder, wanted = environment.FOLDER / "rival-fullik", RIVALS["fullik"]
    manifest = folder / "node_modules" / "@aminere" / "fullik" / "package.json"
    version = wanted.rsplit("@", 1)[1]
    if not manifest.exists() or json.loads(manifest.read_text("utf-8"))["version"] != version:
        say("rival-fullik", "installing, about 1 MB")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        options = ["--prefix", str(folder), "--cache", str(folder / "cache"), "--no-fund"]
        code, output = stream("rival-fullik", [npm, "install", *options, "--no-audit", wanted])
        if code != 0:
            raise InstallError(f"npm could not install {wanted}: {' '.join(output[-3:])}")
    cases = Path(variables["BLENDER_USER_RESOURCES"]) / "cases.json"
    if not cases.exists():
        core = start(variables, "core")
        core.ask("write_cases", path=str(cases))
        core.close()
    script = Path(__file__).parent / "core" / "with_fullik.mjs"
    return Worker("fullik", [node, str(script), str(cases), str(folder)], None)
