"""The panel of the pole and of the side that the chain bends to."""

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
        is_following = settings.pole_mode == "FOLLOW"
        if not is_following:
            draw_anchor(layout, settings, "pole_target", "pole_subtarget")
        if is_following or settings.pole_target is not None:
            layout.prop(settings, "pole_angle")
        if is_following:
            layout.prop(settings, "pole_lean")
        if is_following or settings.pole_target is None:
            layout.operator("pose.chain_ik_pole_add", icon="ADD")
        layout.prop(settings, "use_flip_bend")
