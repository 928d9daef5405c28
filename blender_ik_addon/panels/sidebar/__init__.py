"""The tab of the sidebar: the list of chains and the settings of the active one."""

from __future__ import annotations

from . import (
    advanced,
    chain_list,
    compare,
    force,
    limits,
    matching,
    pole,
    reach,
    rotation,
    solver,
    status,
    target,
    tree,
)

# From the top down: what everybody needs, then the rest. What comes and goes with the status is
# the last, so that nothing else moves.
_MODULES = (
    chain_list,
    status,
    target,
    pole,
    rotation,
    solver,
    force,
    limits,
    reach,
    advanced,
    compare,
    matching,
    tree,
)


def register() -> None:
    """Register the panels."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the panels."""
    for module in reversed(_MODULES):
        module.unregister()
