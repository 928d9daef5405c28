"""What a person does to chains."""

from __future__ import annotations

from . import bake, chains, convert, creatures, joints, solve

_MODULES = (chains, creatures, joints, solve, bake, convert)


def register() -> None:
    """Register the operators."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the operators."""
    for module in reversed(_MODULES):
        module.unregister()
