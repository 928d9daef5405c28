"""The panel that matches target and pole to the pose of the bones, and the other way round."""

from __future__ import annotations

import bpy

from ..base import ActiveChainPanel


class VIEW3D_PT_chain_ik_match(ActiveChainPanel):
    """Matches target and pole to the pose of the bones, and the other way round."""

    bl_label = "FK/IK"
    bl_options = {"DEFAULT_CLOSED"}
    about = "start_from"

    def draw(self, _context: bpy.types.Context) -> None:
        # Not greyed out for a muted chain: muted is FK, one of the two sides.
        column = self.layout.column(align=True)
        column.operator("pose.chain_ik_switch", icon="ARROW_LEFTRIGHT")
        column.operator("pose.chain_ik_snap_target", icon="SNAP_ON")
        column.operator("pose.chain_ik_apply", icon="CHECKMARK")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_chain_ik_match,))
