"""Registration of the parts of packages; imports no Blender module before that."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from types import ModuleType
from typing import Any

# Blender requires one of these in names of operators, panels, menus, lists, gizmos and groups.
_BLENDER_NAME = re.compile(r"_(OT|PT|MT|UL|GT|GGT)_")
# Base classes of groups of settings.
_SETTINGS_BASES = ("PropertyGroup", "AddonPreferences")


def make_registration(package: str, *names: str) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a function that registers parts of a package, and one that unregisters them.

    Args:
        package: The name of the package. Its modules are imported when they are registered.
        names: Names of modules, in order. Of each module its settings, operators, panels and the
            like are registered first, then its ``register`` is called, if it has one.
            Unregistering goes backwards.
    """

    def register() -> None:
        for name in names:
            module = importlib.import_module(f".{name}", package)
            for cls in _classes(module):
                _utils().register_class(cls)
            if hasattr(module, "register"):
                module.register()

    def unregister() -> None:
        for name in reversed(names):
            module = importlib.import_module(f".{name}", package)
            if hasattr(module, "unregister"):
                module.unregister()
            for cls in reversed(_classes(module)):
                _utils().unregister_class(cls)

    return register, unregister


def _classes(module: ModuleType) -> list[type]:
    """Return the classes that a module defines for Blender to register."""
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    classes = [cls for cls in classes if cls.__module__ == module.__name__]
    return [
        cls
        for cls in classes
        if _BLENDER_NAME.search(cls.__name__)
        or any(base.__name__ in _SETTINGS_BASES for base in cls.__bases__)
    ]


def _utils() -> Any:
    return importlib.import_module("bpy").utils
