"""The tab of the sidebar: the list of chains and the settings of the active one."""

from __future__ import annotations

from . import (
    chain_list,
    compare,
    force,
    limits,
    matching,
    pole,
    reach,
    solver,
    status,
    target,
    tree,
)

# From the top down.
_MODULES = (
    *(chain_list, status, tree, target, pole),
    *(matching, solver, compare, force, limits, reach),
)


def register() -> None:
    """Register the panels."""
    for module in _MODULES:
        module.register()


def unregister() -> None:
    """Unregister the panels."""
    for module in reversed(_MODULES):
        module.unregister()
