"""Which way the chain bends."""

from __future__ import annotations

import bpy

from ...properties.settings import ChainSettings
from ..base import ActiveChainPanel, draw_anchor


class VIEW3D_PT_chain_ik_pole(ActiveChainPanel):
    """Which way the chain bends."""

    bl_label = "Pole"
    about = "pole_target"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "pole_mode")
        follows = settings.pole_mode == "FOLLOW"
        if not follows:
            draw_anchor(layout, settings, "pole_target", "pole_subtarget")
        if follows or settings.pole_target is not None:
            layout.prop(settings, "pole_angle")
        if follows:
            layout.prop(settings, "pole_lean")
        if follows or settings.pole_target is None:
            layout.operator("pose.chain_ik_pole_add", icon="ADD")
        layout.prop(settings, "use_flip_bend")
