"""Start a full Blender, with a window or without, and read what it prints."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN_LINES, SHOWN_AFTER = 40, 12
MODULE = "chain_ik"
# A session prints this before the message of an operator that refuses.
REFUSED = "REFUSED "

# Messages that must never appear in the console, and those that Blender prints on test machines
# without the extension too.
COMPLAINT = re.compile(
    r"error|traceback|exception|rna_ui|not found|unknown|invalid|not freed|segmentation"
    rf"|warn.*{MODULE}|{MODULE}.*warn",
    re.IGNORECASE,
)
NOT_OURS = re.compile(
    r"\b(ALSA|PulseAudio|jack server|libdecor|libEGL|MESA|Vulkan|XDG_RUNTIME_DIR|OpenColorIO)\b"
    r"|Could not get a list of mounted file-systems"
    # A new profile has not been online yet.
    r"|^Repository data: .* not found, sync required!$"
)
TIME = re.compile(r"^\d\d:\d\d\.\d+ +", re.MULTILINE)


@dataclass(frozen=True)
class Run:
    """A process that has ended.

    Attributes:
        code: Exit code; None if the process was killed because it took too long.
        console: Lines that it printed to both streams.
    """

    code: int | None
    console: list[str]

    def tail(self) -> str:
        """Return the exit code and the last lines of the console, to find the cause."""
        ended = "killed, it took too long" if self.code is None else f"exit code {self.code}"
        return "\n".join([f"Blender: {ended}", *self.console[-SHOWN_LINES:]])


def complaints(lines: list[str]) -> list[str]:
    """Return the complaints in a console with the lines that follow them, each text only once."""
    texts, number = [], 0
    # Blender prints the messages of operators that refuse as well.
    refused = [line.removeprefix(REFUSED) for line in lines if line.startswith(REFUSED)]
    lines = [line for line in lines if line.removeprefix(REFUSED) not in refused]
    while number < len(lines):
        if COMPLAINT.search(lines[number]) and not NOT_OURS.search(lines[number]):
            text = "\n".join(lines[number : number + SHOWN_AFTER])
            texts.append(TIME.sub("", text))
            number += SHOWN_AFTER
        else:
            number += 1
    return list(dict.fromkeys(texts))


def run(command: list[str], timeout: float, console: Path, **variables: str) -> Run:
    """Run a program in the checkout; if it hangs, kill it and the processes that it started."""
    is_posix = os.name == "posix"
    with console.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **variables},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=is_posix,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL) if is_posix else process.kill()
                process.wait()
    text = console.read_text(encoding="utf-8", errors="replace")
    return Run(code, text.splitlines())


@contextmanager
def screen(blender: str, folder: Path) -> Iterator[dict[str, str] | None]:
    """Provide a display and yield the variables that name it, or None without a display.

    A script that starts Blender may open a display itself, so this tries that as well.
    """
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if display or not sys.platform.startswith("linux"):
        yield {}
    elif shutil.which("Xvfb"):
        command = ["Xvfb", "-displayfd", "1", "-screen", "0", "1600x900x24", "-nolisten", "tcp"]
        server = subprocess.Popen([*command, "+extension", "GLX"], stdout=subprocess.PIPE)
        try:
            number = server.stdout.readline().decode().strip()
            assert number, "Xvfb has not started."
            yield {"DISPLAY": f":{number}"}
        finally:
            server.terminate()
            server.wait()
    else:
        probe = "print('A WINDOW IS OPEN', flush=True); import os; os._exit(0)"
        command = [blender, "--factory-startup", "--python-expr", probe]
        probed = run(command, 120, folder / "display.txt", BLENDER_USER_RESOURCES=str(folder))
        yield {} if "A WINDOW IS OPEN" in probed.console else None
