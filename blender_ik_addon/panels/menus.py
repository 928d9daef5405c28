"""The entries in Pose > Inverse Kinematics, and a pie menu of the same."""

from __future__ import annotations

import bpy

from ..properties import active_armature

PIE = (
    *("pose.chain_ik_snap_target", "pose.chain_ik_apply"),
    *("pose.chain_ik_bake", "pose.chain_ik_switch"),
    *("pose.chain_ik_add", "pose.chain_ik_remove"),
    *("pose.chain_ik_store", "pose.chain_ik_restore"),
)
"""As Blender places them: left, right, below, above, then the four corners from the top left."""


class VIEW3D_MT_chain_ik_pie(bpy.types.Menu):
    """What is done with chains while posing; the preferences have its key."""

    bl_label = "Chain IK"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        # Elsewhere its key is left to others.
        return context.mode in {"OBJECT", "POSE"} and active_armature(context) is not None

    def draw(self, _context: bpy.types.Context) -> None:
        pie = self.layout.menu_pie()
        for name in PIE:
            pie.operator(name)


def draw_in_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entries below Blender's own."""
    layout = self.layout
    layout.separator()
    layout.operator("pose.chain_ik_add")
    layout.operator("pose.chain_ik_remove")
    layout.operator("pose.chain_ik_setup")
    layout.operator("pose.chain_ik_mirror")
    layout.separator()
    layout.operator("pose.chain_ik_solve")
    layout.operator("pose.chain_ik_switch")
    layout.operator("pose.chain_ik_snap_target")
    layout.operator("pose.chain_ik_apply")
    layout.separator()
    layout.operator("pose.chain_ik_store")
    layout.operator("pose.chain_ik_restore")
    layout.operator("pose.chain_ik_bake")
    layout.operator("pose.chain_ik_motion_paths")
    layout.operator_menu_enum("pose.chain_ik_convert", "direction")


def register() -> None:
    """Register the pie menu and add the entries."""
    bpy.utils.register_class(VIEW3D_MT_chain_ik_pie)
    bpy.types.VIEW3D_MT_pose_ik.append(draw_in_menu)  # type: ignore[arg-type]


def unregister() -> None:
    """Remove what ``register`` added."""
    bpy.types.VIEW3D_MT_pose_ik.remove(draw_in_menu)  # type: ignore[arg-type]
    bpy.utils.unregister_class(VIEW3D_MT_chain_ik_pie)
