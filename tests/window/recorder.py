"""Carries out the steps of a session one after another, and writes down how each of them went."""

from __future__ import annotations

import ctypes
import json
import sys
import time
import traceback
from pathlib import Path
from types import TracebackType

from steps import MARK, RESULTS

from window.driver import REDRAW, Session, SessionError, Viewport


class NothingHereError(Exception):
    """A step has nothing to do here; the text is the reason."""


class Outcome:
    """How a step went, caught: the steps after it go on."""

    def __init__(self) -> None:
        self.is_ok, self.is_skipped, self.sentence = True, False, ""

    def __enter__(self) -> Outcome:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self.is_skipped = isinstance(error, NothingHereError)
        self.is_ok = self.is_skipped
        is_sentence = isinstance(error, (NothingHereError, SessionError))
        lines = [str(error)] if is_sentence else traceback.format_exception(kind, error, trace)
        self.sentence = "".join(lines)
        return True


class Recorder:
    """Writes one line of JSON for each step, and a picture of what the window showed at its end."""

    def __init__(self, viewport: Viewport, folder: Path) -> None:
        self.viewport, self.folder = viewport, folder

    def record(self, name: str, step: Session) -> Session:
        """Carry out a step; whatever goes wrong in it is written down."""
        mark(name)
        start = time.monotonic()
        outcome = Outcome()
        with outcome:
            yield from step
        picture = ""
        with (taken := Outcome()):
            yield REDRAW
            self.viewport.take_picture(self.folder / f"{name}.png", is_drawn=True)
            picture = f"{name}.png"
        if outcome.is_ok and not taken.is_ok:
            outcome = taken
        # What hangs in the window, such as a menu, would get the next step's keys.
        for _ in range(0 if outcome.is_ok else 2):
            self.viewport.press("ESC")
            yield REDRAW
        line = {
            "name": name,
            "ok": outcome.is_ok,
            "skipped": outcome.is_skipped,
            "sentence": outcome.sentence,
            "picture": picture,
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
