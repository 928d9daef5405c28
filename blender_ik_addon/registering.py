"""How packages register their parts; imports nothing of Blender."""

from __future__ import annotations

import importlib
from collections.abc import Callable


def in_order(package: str, *names: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what registers parts of a package, and what unregisters them, the last one first.

    Args:
        package: Its name; parts are imported when they are registered.
        names: Of modules that have ``register`` and ``unregister``.
    """

    def register() -> None:
        for name in names:
            importlib.import_module(f".{name}", package).register()

    def unregister() -> None:
        for name in reversed(names):
            importlib.import_module(f".{name}", package).unregister()

    return register, unregister
