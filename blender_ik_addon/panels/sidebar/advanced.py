"""What rarely has to be set."""

from __future__ import annotations

import bpy

from ...properties import ChainSettings
from ..base import ActiveChainPanel
from ..used import draw_used


class VIEW3D_PT_chain_ik_advanced(ActiveChainPanel):
    """What rarely has to be set."""

    bl_label = "Advanced"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        names = ("tolerance", "iterations", "use_finish", "start_from", "negative_scale")
        draw_used(layout, settings, names)
        layout.prop(settings, "use_tail")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_chain_ik_advanced,))
