"""The panel of the soft distance and of stretch."""

from __future__ import annotations

import bpy

from ...properties.settings import ChainSettings
from ..base import ActiveChainPanel


class VIEW3D_PT_chain_ik_reach(ActiveChainPanel):
    """What happens toward full reach and beyond it."""

    bl_label = "Stretch and Softness"
    bl_options = {"DEFAULT_CLOSED"}
    about = "soft_distance"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "soft_distance")
        layout.prop(settings, "use_stretch")
        row = layout.row()
        row.active = settings.use_stretch
        row.prop(settings, "use_keep_volume")
