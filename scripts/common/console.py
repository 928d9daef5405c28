"""Run commands and tell what they do, also when two run at the same time."""

from __future__ import annotations

import queue
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, Callable

ROOT = Path(__file__).resolve().parents[2]

# Silent seconds after which a command is reported as still running, and after which it is ended.
SILENCE, LONGEST = 20.0, 3600.0

_print_lock = threading.Lock()


def say(label: str, *lines: str) -> None:
    """Print lines that belong together, each behind the name of its run."""
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

    While it runs what ``show`` makes of each line is printed, behind the label.
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
    lines: queue.Queue[str | None] = queue.Queue()
    threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True).start()
    output: list[str] = []
    start = time.monotonic()
    while True:
        try:
            line = lines.get(timeout=SILENCE)
        except queue.Empty:
            seconds = time.monotonic() - start
            say(label, f"... still running, {seconds:.0f} s")
            if seconds > LONGEST:
                process.kill()
                output.append(f"stopped: it did not end within {LONGEST:.0f} s")
            continue
        if line is None:
            return process.wait(), output
        output.append(line)
        shown = show(line)
        if shown:
            say(label, shown)


def _pump(pipe: IO[str], lines: queue.Queue[str | None]) -> None:
    """Move a command's output into a queue, then None: reading a pipe knows no timeout."""
    for line in pipe:
        lines.put(line.rstrip("\n"))
    lines.put(None)
