"""What a command refuses, with its exit code."""

from __future__ import annotations

import sys

BEGINNING = "Error: "
"""How lines on stderr begin that say why a command was not run."""


class CommandError(Exception):
    """The command cannot be run; the text is one sentence that says what to do next."""

    code = 1


class UsageError(CommandError):
    """What was asked for makes no sense, whatever the file."""

    code = 2


def of_armature(name: str, why: object) -> CommandError:
    """Return an error about a chain, with its armature object: copies have the same chains."""
    return CommandError(f"'{name}': {why}")


def warn(armature: str, sentence: str) -> None:
    """Tell what should be known of a chain of an armature object."""
    print(f"Warning: '{armature}': {sentence}", file=sys.stderr, flush=True)
