"""Settings of a chain, of which only those are shown that its solver uses."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..properties import ChainSettings, uses


def draw_used(layout: bpy.types.UILayout, settings: ChainSettings, names: Iterable[str]) -> None:
    """Draw those of a chain's settings that its solver uses, in the order given."""
    for name in names:
        if uses(settings, name):
            layout.prop(settings, name)
