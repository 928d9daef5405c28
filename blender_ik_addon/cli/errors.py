"""What a command refuses, with its exit code."""

from __future__ import annotations

BEGINNING = "Error: "
"""How lines on stderr begin that say why a command was not run."""


class CommandError(Exception):
    """The command cannot be run; the text is one sentence that says what to do next."""

    code = 1


class UsageError(CommandError):
    """What was asked for makes no sense, whatever the file."""

    code = 2
