"""The switches of Chain IK in the viewport's Overlays popover."""

from __future__ import annotations

import bpy

from .scene_strokes import Items


class VIEW3D_PT_overlay_chain_ik(bpy.types.Panel):
    """Whether chains are drawn, and which items."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "HEADER"
    bl_parent_id = "VIEW3D_PT_overlay"
    bl_label = "Chain IK"

    def draw(self, context: bpy.types.Context) -> None:
        """Draw the main switch, and below it the switches of the items in two columns."""
        layout, overlay = self.layout, context.scene.chain_ik.overlay
        shows_overlays = context.space_data.overlay.show_overlays
        layout.active = shows_overlays
        layout.prop(overlay, "show_overlay", text="Show Chains in Viewport")
        flow = layout.grid_flow(columns=2, row_major=True, even_columns=True, align=True)
        flow.active = shows_overlays and overlay.show_overlay
        for name in Items._fields:
            flow.prop(overlay, name)
