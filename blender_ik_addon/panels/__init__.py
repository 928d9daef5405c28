"""What a person sees of chains beside the viewport. Draws only."""

from __future__ import annotations

from . import sidebar

_MODULES = (sidebar,)


def register() -> None:
    """Register the panels."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the panels."""
    for module in reversed(_MODULES):
        module.unregister()
