"""From arguments to an exit code: reads them, opens the file, runs the command, tells errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TextIO

import bpy

from ..core import IKError
from .arguments import parser
from .commands import COMMANDS
from .errors import BEGINNING, CommandError

ERROR, INTERRUPTED = 1, 130


def run(argv: Sequence[str], prog: str, *, takes_file: bool = False) -> int:
    """Run a command on the file that is open, or that the first argument names.

    Returns:
        The exit code.
    """
    try:
        options = parser(prog, takes_file=takes_file).parse_args(argv)
    except SystemExit as end:
        # It has told what is wrong, or the help.
        return int(end.code or 0)
    try:
        with _only_what_is_asked_for() as stdout:
            if "file" in options:
                _open(options.file, has_scripts=options.enable_autoexec)
            return COMMANDS[options.command](options, stdout)
    except CommandError as error:
        return _told(error, error.code)
    except IKError as error:
        return _told(error, ERROR)
    except OSError as error:
        name = error.filename or "A file"
        return _told(f"{name} cannot be read or written: {error.strerror}.", ERROR)
    except KeyboardInterrupt:
        return _told("Interrupted, so nothing was written.", INTERRUPTED)


def _told(error: object, code: int) -> int:
    print(f"{BEGINNING}{error}", file=sys.stderr, flush=True)
    return code


@contextmanager
def _only_what_is_asked_for() -> Iterator[TextIO]:
    """Give stdout, and meanwhile send to stderr what Blender itself writes there."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with (
            open(kept, "w", encoding="utf-8", closefd=False) as stdout,
            redirect_stdout(sys.stderr),
        ):
            yield stdout
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def _open(path: Path, *, has_scripts: bool) -> None:
    """Open a file.

    Raises:
        CommandError: If there is none, or Blender cannot read it.
    """
    if not path.is_file():
        raise CommandError(f"{path} does not exist: name a .blend file.")
    name = str(path.absolute())
    try:
        bpy.ops.wm.open_mainfile(filepath=name, use_scripts=has_scripts)
    except RuntimeError as error:
        raise CommandError(f"{path} is no .blend file that this Blender can read.") from error
