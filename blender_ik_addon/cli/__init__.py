"""The command line: ``blender -b file.blend -c chain_ik ...``; see docs/command_line.md."""

from __future__ import annotations

import bpy

COMMAND = "chain_ik"

# Blender's handles of the command, needed to unregister it.
_registered: list[object] = []


def main(argv: list[str]) -> int:
    """Run the command on the file that is open, with arguments; return the exit code."""
    # Imported here, because the command runs rarely and Blender's start need not wait for it.
    from .program import run

    return run(argv, prog=f"blender -b file.blend -c {COMMAND}")


def register() -> None:
    """Register the command with Blender."""
    _registered.append(bpy.utils.register_cli_command(COMMAND, main))


def unregister() -> None:
    """Unregister the command."""
    while _registered:
        bpy.utils.unregister_cli_command(_registered.pop())
