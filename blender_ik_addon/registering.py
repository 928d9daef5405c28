"""How packages register their parts; imports nothing of Blender before they are registered."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

# Blender asks for such names of operators, panels, menus, lists, gizmos and groups of these.
_KIND = re.compile(r"_(OT|PT|MT|UL|GT|GGT)_")
# Groups of settings are known by what they derive from.
_OF_SETTINGS = ("PropertyGroup", "AddonPreferences")


def in_order(package: str, *names: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return what registers parts of a package, and what unregisters them, the last one first.

    Args:
        package: Its name; parts are imported when they are registered.
        names: Of modules. Their settings, operators, panels and the like are registered as they
            stand there, then what their own ``register`` registers, if they have one; the same
            backwards.
    """

    def register() -> None:
        for name in names:
            module = importlib.import_module(f".{name}", package)
            for each in _classes(module):
                _utils().register_class(each)
            if hasattr(module, "register"):
                module.register()

    def unregister() -> None:
        for name in reversed(names):
            module = importlib.import_module(f".{name}", package)
            if hasattr(module, "unregister"):
                module.unregister()
            for each in reversed(_classes(module)):
                _utils().unregister_class(each)

    return register, unregister


def _classes(module: ModuleType) -> list[type]:
    """Return the classes of a module itself that are registered."""
    own = [each for each in vars(module).values() if isinstance(each, type)]
    own = [each for each in own if each.__module__ == module.__name__]
    return [each for each in own if _KIND.search(each.__name__) or _holds_settings(each)]


def _holds_settings(kind: type) -> bool:
    return any(base.__name__ in _OF_SETTINGS for base in kind.__bases__)


def _utils() -> Any:
    return importlib.import_module("bpy").utils
