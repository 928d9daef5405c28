"""The program: read arguments, open the file, run the command, print errors, return a code."""

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
from .commands import run_command
from .errors import ERROR_PREFIX, CommandError

ERROR_CODE, INTERRUPTED_CODE = 1, 130


def run(argv: Sequence[str], prog: str, *, takes_file: bool = False) -> int:
    """Run a command on the open file, or on that of the first argument; return the exit code."""
    try:
        options = parser(prog, takes_file=takes_file).parse_args(argv)
    except SystemExit as end:
        # The parser has printed the problem or the help.
        return int(end.code or 0)
    try:
        with _reserved_stdout() as stdout:
            if "file" in options:
                _open(options.file, use_scripts=options.enable_autoexec)
            return run_command(options, stdout)
    except CommandError as error:
        return _print_error(error, error.code)
    except IKError as error:
        return _print_error(error, ERROR_CODE)
    except OSError as error:
        name = error.filename or "A file"
        return _print_error(f"{name} cannot be read or written: {error.strerror}.", ERROR_CODE)
    except KeyboardInterrupt:
        return _print_error("The command was interrupted and wrote nothing.", INTERRUPTED_CODE)


def _print_error(error: object, code: int) -> int:
    print(f"{ERROR_PREFIX}{error}", file=sys.stderr, flush=True)
    return code


@contextmanager
def _reserved_stdout() -> Iterator[TextIO]:
    """Yield stdout for this program, and send Blender's own output to stderr meanwhile."""
    sys.stdout.flush()
    descriptor = os.dup(1)
    os.dup2(2, 1)
    try:
        with (
            open(descriptor, "w", encoding="utf-8", closefd=False) as stdout,
            redirect_stdout(sys.stderr),
        ):
            yield stdout
    finally:
        sys.stdout.flush()
        os.dup2(descriptor, 1)
        os.close(descriptor)


def _open(path: Path, *, use_scripts: bool) -> None:
    """Open a file; raise a ``CommandError`` if it does not exist, or Blender cannot read it."""
    if not path.is_file():
        raise CommandError(f"{path} does not exist: give a .blend file.")
    name = str(path.absolute())
    try:
        bpy.ops.wm.open_mainfile(filepath=name, use_scripts=use_scripts)
    except RuntimeError as error:
        raise CommandError(f"This Blender cannot read {path}: give another .blend file.") from error
