"""The menu beside the list, the entries in Pose > Inverse Kinematics, and a pie menu."""

from __future__ import annotations

import bpy

from ..properties.chains import active_armature

PIE = (
    *("pose.chain_ik_snap_target", "pose.chain_ik_apply"),
    *("pose.chain_ik_bake", "pose.chain_ik_switch"),
    *("pose.chain_ik_add", "pose.chain_ik_remove"),
    *("pose.chain_ik_store", "pose.chain_ik_restore"),
)
"""Operators of the pie menu: left, right, below, above, then the four corners from the top left."""
ENTRIES = (
    ("pose.chain_ik_add", "pose.chain_ik_remove", "pose.chain_ik_setup", "pose.chain_ik_mirror"),
    (
        *("pose.chain_ik_switch", "pose.chain_ik_switch_space"),
        *("pose.chain_ik_snap_target", "pose.chain_ik_apply"),
    ),
    ("pose.chain_ik_bake", "pose.chain_ik_motion_paths"),
)
"""Operators of the pose menu from the top down, above those of the menu beside the list."""


class VIEW3D_MT_chain_ik_pie(bpy.types.Menu):
    """What is done with chains while posing; the preferences have its key."""

    bl_label = "Chain IK"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        # In other modes the key is free for other tools.
        return context.mode in {"OBJECT", "POSE"} and active_armature(context) is not None

    def draw(self, _context: bpy.types.Context) -> None:
        pie = self.layout.menu_pie()
        for name in PIE:
            pie.operator(name)


class VIEW3D_MT_chain_ik_more(bpy.types.Menu):
    """What is done with chains now and then."""

    bl_label = "More"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        column = layout.column()
        # Scripts can name a bone in any mode; a menu entry needs the bones of pose mode.
        column.enabled = context.mode == "POSE"
        column.operator("pose.chain_ik_solve")
        layout.operator("pose.chain_ik_body", icon="ARMATURE_DATA")
        layout.operator_menu_enum("pose.chain_ik_convert", "direction")
        layout.operator("pose.chain_ik_compare", icon="SORTSIZE")
        layout.separator()
        layout.operator("pose.chain_ik_store", icon="FILE_TICK")
        layout.operator("pose.chain_ik_restore", icon="LOOP_BACK")


def draw_in_menu(self: bpy.types.Menu, _context: bpy.types.Context) -> None:
    """Draw the entries below those of Blender."""
    for names in ENTRIES:
        self.layout.separator()
        for name in names:
            self.layout.operator(name)
    self.layout.separator()
    self.layout.menu_contents("VIEW3D_MT_chain_ik_more")


def register() -> None:
    """Add the entries."""
    bpy.types.VIEW3D_MT_pose_ik.append(draw_in_menu)  # type: ignore[arg-type]


def unregister() -> None:
    """Remove what ``register`` added."""
    bpy.types.VIEW3D_MT_pose_ik.remove(draw_in_menu)  # type: ignore[arg-type]
