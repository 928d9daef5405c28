"""What can be grabbed of chains in the viewport."""

from __future__ import annotations

from . import controls, handles, limits

_MODULES = (controls, limits, handles)


def register() -> None:
    """Register the gizmos."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the gizmos."""
    for module in reversed(_MODULES):
        module.unregister()
