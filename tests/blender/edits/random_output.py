"""Everything that Blender and its handlers print while edits are carried out."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import tempfile
from collections.abc import Iterator

# Blender prints what a handler raises to Python's stderr, and what an operator raises to the
# process's own stdout: it goes on after both.
SIGNS = ("Traceback", "Error: Python")


class Output:
    """Collects what is printed."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile("w+", errors="replace")

    @contextlib.contextmanager
    def collected(self) -> Iterator[None]:
        """Collect what is printed meanwhile."""
        sys.stdout.flush()
        kept = [os.dup(number) for number in (1, 2)]
        _flush()
        for number in (1, 2):
            os.dup2(self._file.fileno(), number)
        try:
            with contextlib.redirect_stderr(self._file):
                yield
        finally:
            self._file.flush()
            _flush()
            for number, copy in zip((1, 2), kept, strict=True):
                os.dup2(copy, number)
                os.close(copy)

    def taken(self) -> str:
        """Return what has been printed since the last call."""
        self._file.seek(0)
        found = self._file.read()
        self._file.seek(0)
        self._file.truncate()
        return found

    def close(self) -> None:
        self._file.close()


def _flush() -> None:
    """Have the C library write what it has buffered."""
    ctypes.CDLL(None).fflush(None)


def is_fault(text: str) -> bool:
    """Tell whether a text tells of an exception."""
    return any(sign in text for sign in SIGNS)
