"""What a person sees of chains beside the viewport. Draws only."""

from __future__ import annotations

from . import bone, menus, sidebar

_MODULES = (sidebar, bone, menus)


def register() -> None:
    """Register the panels."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the panels."""
    for module in reversed(_MODULES):
        module.unregister()
