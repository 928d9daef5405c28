"""Chain IK: chains of bones that follow targets.

Importing this package imports no Blender module, so that ``core`` works in any Python.
"""

from __future__ import annotations

import importlib

# In the order of registration; backwards on unregister.
_MODULES = (
    *("translations", "properties", "preferences", "operators"),
    *("panels", "overlay", "handlers", "cli"),
)


def register() -> None:
    """Register the extension with Blender."""
    for name in _MODULES:
        importlib.import_module(f".{name}", __package__).register()


def unregister() -> None:
    """Remove everything that ``register`` added."""
    for name in reversed(_MODULES):
        importlib.import_module(f".{name}", __package__).unregister()
