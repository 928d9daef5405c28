"""The preferences: of new chains, of the viewport drawing, and of the log."""

from __future__ import annotations

from ..registering import in_order
from . import logs
from .addon import preferences

_register, unregister = in_order(__name__, "addon", "logs", "pie_key")


def register() -> None:
    """Register the preferences, and log as they say."""
    _register()
    logs.set_level(preferences().log_level)
