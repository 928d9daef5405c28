"""What a person does to chains."""

from __future__ import annotations

from . import (
    add,
    bake,
    chains,
    characters,
    compare,
    convert,
    creatures,
    joints,
    matching,
    presets,
    solve,
)

_MODULES = (
    add,
    characters,
    chains,
    creatures,
    joints,
    matching,
    presets,
    solve,
    bake,
    convert,
    compare,
)


def register() -> None:
    """Register the operators."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the operators."""
    for module in reversed(_MODULES):
        module.unregister()
