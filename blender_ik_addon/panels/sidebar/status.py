"""What the last solve did, in words."""

from __future__ import annotations

import textwrap

import bpy

from ...properties import ChainSettings
from ..base import SIDEBAR_CHARACTERS, ActiveChainPanel

# Always as many, so that what is below stays where it is.
STATUS_LINES = 3


class VIEW3D_PT_chain_ik_status(ActiveChainPanel):
    """What the last solve did, at a fixed height."""

    bl_label = "Status"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        lines = textwrap.wrap(
            settings.status, SIDEBAR_CHARACTERS, max_lines=STATUS_LINES, placeholder=" ..."
        )
        column = layout.column(align=True)
        for line in (lines + [""] * STATUS_LINES)[:STATUS_LINES]:
            column.label(text=line)


class VIEW3D_PT_chain_ik_details(ActiveChainPanel):
    """The whole status, however long it is."""

    bl_label = "Details"
    bl_parent_id = "VIEW3D_PT_chain_ik_status"
    bl_options = {"DEFAULT_CLOSED"}

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        column = layout.column(align=True)
        for line in textwrap.wrap(settings.status, SIDEBAR_CHARACTERS):
            column.label(text=line)


register, unregister = bpy.utils.register_classes_factory(
    (
        VIEW3D_PT_chain_ik_status,
        VIEW3D_PT_chain_ik_details,
    )
)
