"""The panel of the joint limits of a chain."""

from __future__ import annotations

import bpy

from ...properties.chains import owner_of
from ...properties.joints.joint_definitions import JointSettings
from ...properties.settings import ChainSettings
from ...properties.status import limits_in_words
from ..base import TickedPanel, draw_text
from ..joint_fields import draw_joint


class CHAINIK_UL_joints(bpy.types.UIList):
    """One row for each joint: its bone and its kind."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.PropertyGroup,
        item: JointSettings,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
        _index: int,
    ) -> None:
        row = layout.split(factor=0.5, align=True)
        # The name of a bone may be a word that Blender would translate.
        row.label(text=item.bone or "No bone", translate=not item.bone)
        row.prop(item, "kind", text="", emboss=False)


class VIEW3D_PT_chain_ik_limits(TickedPanel):
    """What the joints allow."""

    bl_label = "Limits"
    bl_options = {"DEFAULT_CLOSED"}
    about = "use_limits"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        outer = layout.column()
        outer.active = settings.use_limits
        row = outer.row()
        row.template_list(
            "CHAINIK_UL_joints", "", settings, "joints", settings, "active_joint_index", rows=3
        )
        column = row.column(align=True)
        column.operator("pose.chain_ik_joint_add", text="", icon="ADD")
        column.operator("pose.chain_ik_joint_remove", text="", icon="REMOVE")
        column.separator()
        column.operator("pose.chain_ik_joints_copy", text="", icon="COPYDOWN")
        column.operator("pose.chain_ik_joint_to_selected", text="", icon="PASTEDOWN")
        draw_text(outer.column(align=True), limits_in_words(settings))
        outer.operator_menu_enum("pose.chain_ik_joint_preset", "preset")
        index = settings.active_joint_index
        if 0 <= index < len(settings.joints):
            joint = settings.joints[index]
            outer.prop_search(joint, "bone", owner_of(settings).data, "bones")
            draw_joint(outer, joint, settings)
