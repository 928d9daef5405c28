"""The command line: ``blender -b file.blend -c chain_ik ...``; see docs/command_line.md."""

from __future__ import annotations

import bpy

COMMAND = "chain_ik"

# What Blender gave for the command, to take it back by.
_registered: list[object] = []


def main(argv: list[str]) -> int:
    """Run the command on the file that is open.

    Args:
        argv: What stands behind its name.

    Returns:
        The exit code.
    """
    # Started rarely, so that Blender's start need not wait for it.
    from .program import run

    return run(argv, prog=f"blender -b file.blend -c {COMMAND}")


def register() -> None:
    """Add the command to Blender's own."""
    _registered.append(bpy.utils.register_cli_command(COMMAND, main))


def unregister() -> None:
    """Take it back."""
    while _registered:
        bpy.utils.unregister_cli_command(_registered.pop())
