"""Run commands and print their progress, also when two run at the same time."""

from __future__ import annotations

import subprocess
import threading
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[2]

# Seconds after which a command is killed.
COMMAND_TIMEOUT = 3600.0

_print_lock = threading.Lock()


def say(label: str, *lines: str) -> None:
    """Print lines together, each after the name of its run."""
    with _print_lock:
        for line in lines:
            print(f"[{label}] {line}", flush=True)


def stream(
    label: str,
    command: list[str],
    show: Callable[[str], str | None] = lambda line: None,
    *,
    env: dict[str, str] | None = None,
) -> tuple[int, list[str]]:
    """Run a command in the checkout; return its exit code and all lines of its output.

    While it runs, print after the label what ``show`` returns for each line.
    """
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    watchdog = threading.Timer(COMMAND_TIMEOUT, process.kill)
    watchdog.start()
    output: list[str] = []
    for line in process.stdout or ():
        output.append(line.rstrip("\n"))
        shown = show(output[-1])
        if shown:
            say(label, shown)
    watchdog.cancel()
    return process.wait(), output
