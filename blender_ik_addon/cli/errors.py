"""The errors of commands, with their exit codes, and warnings."""

from __future__ import annotations

import sys

ERROR_PREFIX = "Error: "
"""Start of a line on stderr that says why a command was not run."""


class CommandError(Exception):
    """The command cannot be run; the text is one sentence that says what to do next."""

    code = 1


class UsageError(CommandError):
    """The arguments are wrong, whatever the file."""

    code = 2


def armature_error(name: str, why: object) -> CommandError:
    """Return an error about a chain that names its armature; copies have the same chain names."""
    return CommandError(f"'{name}': {why}")


def warn(armature: str | None, sentence: str) -> None:
    """Print a warning about an armature object or a chain of it; None for the whole scene."""
    name = "" if armature is None else f"'{armature}': "
    print(f"Warning: {name}{sentence}", file=sys.stderr, flush=True)
