"""The panel of the target and of the bones that follow it."""

from __future__ import annotations

import bpy

from ...properties.choices import can_move_body
from ...properties.settings import ChainSettings
from ..base import ActiveChainPanel, draw_anchor


class VIEW3D_PT_chain_ik_target(ActiveChainPanel):
    """Which bones follow what."""

    bl_label = "Target"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        draw_anchor(layout, settings, "target", "subtarget")
        column = layout.column()
        column.prop_search(settings, "bone", settings.id_data.data, "bones")
        column.prop(settings, "chain_count")
        if can_move_body(settings):
            column.prop(settings, "priority")
            column.prop(settings, "use_pin")
            column.prop(settings, "pull", slider=True)
