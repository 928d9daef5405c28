"""What the last solve did, in words."""

from __future__ import annotations

import bpy

from ...properties import ChainSettings
from ..base import ActiveChainPanel
from ..told import draw_lines, lines_of

# Always as many, so that what is below stays where it is.
STATUS_LINES = 3


class VIEW3D_PT_chain_ik_status(ActiveChainPanel):
    """What the last solve did, at a fixed height."""

    bl_label = "Status"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        lines = lines_of(settings.status, STATUS_LINES)
        draw_lines(layout.column(align=True), (lines + [""] * STATUS_LINES)[:STATUS_LINES])


class VIEW3D_PT_chain_ik_details(ActiveChainPanel):
    """The whole status, however long it is."""

    bl_label = "Details"
    bl_parent_id = "VIEW3D_PT_chain_ik_status"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        draw_lines(layout.column(align=True), lines_of(settings.status))


register, unregister = bpy.utils.register_classes_factory(
    (
        VIEW3D_PT_chain_ik_status,
        VIEW3D_PT_chain_ik_details,
    )
)
