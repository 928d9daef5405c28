"""Carries out the steps of a session one after another, and writes down how each of them went."""

from __future__ import annotations

import ctypes
import json
import sys
import time
import traceback
from pathlib import Path

from steps import MARK, RESULTS

from window.driver import REDRAW, Session, SessionError, Viewport


class Caught:
    """What went wrong in a step, caught as a text: the steps after it go on."""

    text = ""

    def __enter__(self) -> Caught:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, SessionError):
            self.text = str(error)
        elif isinstance(error, Exception):
            self.text = "".join(traceback.format_exception(error))
        return isinstance(error, Exception)


class Recorder:
    """Writes one line of JSON for each step, and a picture of what the window showed at its end."""

    def __init__(self, viewport: Viewport, folder: Path) -> None:
        self.viewport, self.folder = viewport, folder

    def record(self, name: str, step: Session) -> Session:
        """Carry out a step; whatever goes wrong in it is written down."""
        mark(name)
        start, picture = time.monotonic(), self.folder / f"{name}.png"
        with Caught() as caught:
            yield from step
            yield REDRAW
            self.viewport.take_picture(picture)
        if caught.text:
            self.viewport.take_picture(picture)
        # What hangs in the window, such as a menu, would get the next step's keys.
        for _ in range(2 if caught.text else 0):
            self.viewport.press("ESC")
            yield REDRAW
        line = {
            "name": name,
            "sentence": caught.text,
            "seconds": round(time.monotonic() - start, 1),
        }
        with (self.folder / RESULTS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


def mark(name: str) -> None:
    """Print where in the console a step begins, after all that was printed before it."""
    flush()
    print(MARK + name)
    flush()


def flush() -> None:
    """Have written what was printed, also by Blender itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    library = "ucrtbase" if sys.platform == "win32" else None
    ctypes.CDLL(library).fflush(None)
