"""Worker processes that measure: how they start, receive requests and answer.

Requests and answers are lines of JSON. A worker runs until its input ends.
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

# Only lines that begin with this are answers: Blender and libraries print lines as well.
ANSWER = "answer: "
BLENDER = "bpy-5.2"
# Seconds per request; the longest is a round of the slowest rival.
REQUEST_TIMEOUT = 600.0
# The versions are fixed, since goals are ratios to them.
RIVALS = {"pin": "pin==4.1.0", "fullik": "@aminere/fullik@1.3.3"}
_PIN = Environment("3.13", (RIVALS["pin"], "numpy>=2.2,<3"), "60 MB")
# Limits of the repetitions in a round, and seconds after which it stops earlier.
MIN_REPEATS, MAX_REPEATS, ROUND_SECONDS = 3, 40, 0.5


class WorkerError(Exception):
    """The error if a worker cannot answer; its text is the reason."""


class Worker:
    """A process that answers requests by `serve`."""

    def __init__(self, name: str, command: list[str], env: dict[str, str] | None) -> None:
        self.name = name
        self.process = subprocess.Popen(
            command, cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, encoding="utf-8", errors="replace", bufsize=1,
        )  # fmt: skip

    def request(self, task: str, **arguments: object) -> Any:
        """Send a task and return the answer; `WorkerError` if the worker ends or is too slow."""
        pipe_in, pipe_out = self.process.stdin, self.process.stdout
        assert pipe_in is not None
        assert pipe_out is not None
        last_lines: collections.deque[str] = collections.deque(maxlen=12)
        watchdog = threading.Timer(REQUEST_TIMEOUT, self.process.kill)
        watchdog.start()
        try:
            pipe_in.write(json.dumps({"task": task, **arguments}) + "\n")
            pipe_in.flush()
        except BrokenPipeError:
            # The process has ended already, but its last lines are still unread.
            pass
        try:
            for line in pipe_out:
                if line.startswith(ANSWER):
                    return json.loads(line[len(ANSWER) :])
                last_lines.append(line.strip())
        finally:
            watchdog.cancel()
        lines = [line for line in last_lines if line]
        code = self.process.wait()
        raise WorkerError(lines[-1] if lines else f"{self.name} ended with exit code {code}")

    def close(self) -> None:
        """Close the input, which ends the worker, and kill it if it does not end."""
        try:
            self.process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def serve(worker: object) -> None:
    """Answer requests until the input ends; a task is a method's name, the rest its arguments.

    An error ends the process: its text is the last line of the output.
    """
    for line in sys.stdin:
        request = json.loads(line)
        answer = getattr(worker, request.pop("task"))(**request)
        print(ANSWER + json.dumps(answer), flush=True)


def time_round(
    prepare: Callable[[], object],
    work: Callable[[], object],
    max_repeats: int = MAX_REPEATS,
    seconds: float = ROUND_SECONDS,
) -> float:
    """Return the median milliseconds of a round's repetitions, without their preparation."""
    times: list[float] = []
    round_start = time.perf_counter()
    while len(times) < max_repeats:
        if len(times) >= MIN_REPEATS and time.perf_counter() - round_start > seconds:
            break
        prepare()
        start = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - start))
    return statistics.median(times)


def start(variables: dict[str, str], program: str, *arguments: str) -> Worker:
    """Start a worker: "core", a rival, or a module of `benchmarks` that runs in Blender.

    Our core runs in Blender's Python as well. The variables are from `isolated_variables`.
    """
    if program == "fullik":
        return _start_fullik(variables)
    is_pin, module = program == "pin", program
    if is_pin or program == "core":
        module, arguments = "core.solvers", (program,)
    python = environment.ensure("rival-pin", _PIN) if is_pin else environment.ensure(BLENDER)
    return Worker(module, [str(python), "-m", f"benchmarks.{module}", *arguments], variables)


def _start_fullik(variables: dict[str, str]) -> Worker:
    """Install fullik if needed, write our cases, and start its worker."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise UnavailableError("node and npm are needed for it, and are not on this machine.")
    folder, package = environment.FOLDER / "rival-fullik", RIVALS["fullik"]
    manifest = folder / "node_modules" / "@aminere" / "fullik" / "package.json"
    version = package.rsplit("@", 1)[1]
    if not manifest.exists() or json.loads(manifest.read_text("utf-8"))["version"] != version:
        say("rival-fullik", "installing, about 1 MB")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        options = ["--prefix", str(folder), "--cache", str(folder / "cache"), "--no-fund"]
        code, output = stream("rival-fullik", [npm, "install", *options, "--no-audit", package])
        if code != 0:
            raise InstallError(f"npm could not install {package}: {' '.join(output[-3:])}")
    cases = Path(variables["BLENDER_USER_RESOURCES"]) / "cases.json"
    if not cases.exists():
        core = start(variables, "core")
        core.request("write_cases", path=str(cases))
        core.close()
    script = Path(__file__).parent / "core" / "with_fullik.mjs"
    return Worker("fullik", [node, str(script), str(cases), str(folder)], None)
