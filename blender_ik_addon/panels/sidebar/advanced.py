"""The panel of settings that rarely have to be changed."""

from __future__ import annotations

import bpy

from ...properties.chains import owner_of
from ...properties.choices import uses
from ...properties.settings import ChainSettings
from ..base import ActiveChainPanel, draw_used


class VIEW3D_PT_chain_ik_advanced(ActiveChainPanel):
    """Settings that rarely have to be changed."""

    bl_label = "Advanced"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        draw_used(layout, settings, "tolerance", "iterations")
        if uses(settings, "use_finish"):
            # The whole label is too long for its half of the sidebar.
            layout.row(heading="Finish").prop(settings, "use_finish", text="With Newton")
        draw_used(layout, settings, "start_from")
        layout.prop(settings, "use_tail")
        # Only mirrored objects use it. If it is set, it is shown, so that it can be set back.
        is_needed = owner_of(settings).matrix_world.is_negative or settings.negative_scale == "KEEP"
        if is_needed and uses(settings, "negative_scale"):
            column = layout.column(align=True)
            column.use_property_split = False
            column.label(text="Negative Scale")
            column.row(align=True).prop(settings, "negative_scale", expand=True)
