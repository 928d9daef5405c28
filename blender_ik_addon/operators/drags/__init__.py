"""What a person drags in the viewport: targets, poles, pole angles, the ends of limits."""

from __future__ import annotations

from . import limits, placing, turning

_MODULES = (placing, turning, limits)


def register() -> None:
    """Register the operators."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the operators."""
    for module in reversed(_MODULES):
        module.unregister()
