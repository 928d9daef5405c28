"""Registration of handlers of Blender's events, with the data that they remember."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import bpy
from bpy.app.handlers import persistent

Handler = Callable[..., None]

# Handlers that are registered, with the names of their events.
_registered: list[tuple[str, Handler]] = []
# Scripts often clear the handlers of this event. Those here only do work that other events do too.
_SPARE_EVENT = "frame_change_pre"


def is_foreign(handler: Handler) -> bool:
    """Return whether a script or another add-on has added a handler."""
    return not f"{getattr(handler, '__module__', '')}.".startswith(f"{__package__}.")


def has_others(handlers: Iterable[Handler]) -> bool:
    """Return whether scripts or other add-ons have added handlers of an event."""
    return any(map(is_foreign, handlers))


def has_lost_handlers() -> bool:
    """Return whether a script has removed handlers of this extension, for example by ``clear``."""
    return any(
        handler not in getattr(bpy.app.handlers, name)
        for name, handler in _registered
        if name != _SPARE_EVENT
    )


def make_handler_registration(
    handlers: Sequence[tuple[str, Handler]], forget: Callable[[], None]
) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a function that appends handlers, also for later files, and one that removes them.

    Args:
        handlers: Handlers, each after the name of its event in ``bpy.app.handlers``.
        forget: Clears what the handlers remember; called after they are removed.
    """

    def register() -> None:
        for name, handler in handlers:
            getattr(bpy.app.handlers, name).append(persistent(handler))
            _registered.append((name, handler))

    def unregister() -> None:
        for name, handler in handlers:
            _registered.remove((name, handler))
            if handler in getattr(bpy.app.handlers, name):
                getattr(bpy.app.handlers, name).remove(handler)
        forget()

    return register, unregister
