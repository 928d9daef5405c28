"""The panel of chains that share bones: which are solved together, and their weights."""

from __future__ import annotations

import bpy

from ...properties.chains import active_chain
from ...properties.settings import ChainSettings
from ...properties.status import tree_in_words, tree_of
from ..base import ActiveChainPanel, draw_text


class VIEW3D_PT_chain_ik_tree(ActiveChainPanel):
    """Which chains are solved together with this one, and the weight of each."""

    bl_label = "Shared Bones"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_chain(context)
        return settings is not None and bool(tree_of(settings))

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        column = layout.column(align=True)
        column.prop(settings, "weight", slider=True)
        for other in tree_of(settings):
            column.prop(other, "weight", text=other.name, translate=False, slider=True)
        # Below the numbers, so that the numbers do not move.
        column = layout.column(align=True)
        for text in tree_in_words(settings):
            draw_text(column, text)
