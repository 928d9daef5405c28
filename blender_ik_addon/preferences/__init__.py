"""The preferences: of new chains, of the viewport drawing, and of the log."""

from __future__ import annotations

from ..registering import in_order
from . import logs
from .addon import CONTROLS, ChainPreferences, preferences, wants_pole
from .colours import LOOKS, Widths, colours, ghost_colours, widths

__all__ = [
    "CONTROLS",
    "LOOKS",
    "ChainPreferences",
    "Widths",
    "colours",
    "ghost_colours",
    "preferences",
    "register",
    "unregister",
    "wants_pole",
    "widths",
]

_register, unregister = in_order(__name__, "addon", "logs", "pie_key")


def register() -> None:
    """Register the preferences, and log as they say."""
    _register()
    logs.set_level(preferences().log_level)
