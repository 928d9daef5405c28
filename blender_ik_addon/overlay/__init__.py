"""What is drawn in the viewport. Draws only."""

from __future__ import annotations

from . import ghosts

_MODULES = (ghosts,)


def register() -> None:
    """Have Blender draw it."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Have Blender draw it no longer."""
    for module in reversed(_MODULES):
        module.unregister()
