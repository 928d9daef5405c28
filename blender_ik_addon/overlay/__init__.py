"""Chains in the 3D viewport: drawn only, nothing can be grabbed."""

from . import known, popover, viewport

_PARTS = (known, popover, viewport)


def register() -> None:
    """Register the popover, the handlers and what draws."""
    for part in _PARTS:
        part.register()


def unregister() -> None:
    """Remove them."""
    for part in reversed(_PARTS):
        part.unregister()
