"""Handlers of Blender's events: appended and removed together, with what they remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import bpy
from bpy.app.handlers import persistent

Handler = Callable[..., None]


def has_others(handlers: Iterable[Handler]) -> bool:
    """Return whether scripts or other add-ons have added handlers of an event."""
    modules = (str(getattr(handler, "__module__", "")) for handler in handlers)
    return not all(f"{module}.".startswith(f"{__package__}.") for module in modules)


def listening(
    handlers: Mapping[str, Handler], forget: Callable[[], None]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what appends handlers, for all files to come, and what removes them.

    Args:
        handlers: By the name of the event in ``bpy.app.handlers``.
        forget: Called once they are removed: clears what they remember.
    """

    def register() -> None:
        for name, handler in handlers.items():
            getattr(bpy.app.handlers, name).append(persistent(handler))

    def unregister() -> None:
        for name, handler in handlers.items():
            getattr(bpy.app.handlers, name).remove(handler)
        forget()

    return register, unregister
