"""The preferences for new chains, for drawing in the viewport, and for the log."""

from __future__ import annotations

from ..registration import make_registration
from . import logs
from .addon import preferences

_register, unregister = make_registration(__name__, "addon", "logs", "pie_key")


def register() -> None:
    """Register the preferences, and set the log level that they hold."""
    _register()
    logs.set_level(preferences().log_level)
