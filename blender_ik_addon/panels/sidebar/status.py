"""What the last solve did, in words, at a height that never changes."""

from __future__ import annotations

import bpy

from ...properties import ChainSettings, active_chain
from ..base import ActiveChainPanel, draw_lines, draw_text, is_cut, status_lines

# Width of the popover, in Blender's interface units and in characters.
DETAILS_UNITS = 20
DETAILS_CHARACTERS = 60


class VIEW3D_PT_chain_ik_status(ActiveChainPanel):
    """What the last solve did, at a fixed height."""

    bl_label = "Status"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        settings = active_chain(context)
        if settings is not None and is_cut(settings.status):
            # A popover covers the panels below; a sub-panel would move them.
            self.layout.popover("VIEW3D_PT_chain_ik_details", text="Details")

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        draw_lines(layout.column(align=True), status_lines(settings.status))


class VIEW3D_PT_chain_ik_details(bpy.types.Panel):
    """The whole status, however long it is."""

    bl_label = "Details"
    bl_space_type = "VIEW_3D"
    # Panels of other regions would be shown without the button as well.
    bl_region_type = "HEADER"
    bl_ui_units_x = DETAILS_UNITS

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return active_chain(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        settings = active_chain(context)
        column = self.layout.column(align=True)
        draw_text(column, settings.status, DETAILS_CHARACTERS)


classes = (VIEW3D_PT_chain_ik_details, VIEW3D_PT_chain_ik_status)
register, unregister = bpy.utils.register_classes_factory(classes)
