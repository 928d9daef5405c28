"""What the joints allow."""

from __future__ import annotations

import bpy

from ...properties import RANGED_AXES, STIFF_AXES, ChainSettings, JointSettings, owner_of
from ..base import ActiveChainPanel


class CHAINIK_UL_joints(bpy.types.UIList):
    """One joint a row: its bone and its kind."""

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
        row = layout.split(factor=0.6, align=True)
        # A bone may be called as something is that Blender translates.
        row.label(text=item.bone or "No bone", translate=not item.bone)
        row.prop(item, "kind", text="", emboss=False)


class VIEW3D_PT_chain_ik_joints(ActiveChainPanel):
    """What the joints allow."""

    bl_label = "Joints"
    bl_options = {"DEFAULT_CLOSED"}
    about = "joints"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "use_limits")
        held = layout.column()
        held.active = settings.use_limits
        row = held.row()
        row.template_list(
            "CHAINIK_UL_joints", "", settings, "joints", settings, "active_joint_index", rows=3
        )
        column = row.column(align=True)
        column.operator("pose.chain_ik_joint_add", text="", icon="ADD")
        column.operator("pose.chain_ik_joint_remove", text="", icon="REMOVE")
        column.separator()
        column.operator("pose.chain_ik_joints_copy", text="", icon="COPYDOWN")
        index = settings.active_joint_index
        if 0 <= index < len(settings.joints):
            _draw_joint(held, settings.joints[index], settings)


def _draw_joint(layout: bpy.types.UILayout, joint: JointSettings, settings: ChainSettings) -> None:
    """Draw what counts for a joint of this kind."""
    layout.prop_search(joint, "bone", owner_of(settings).data, "bones")
    layout.prop(joint, "kind")
    layout.prop(joint, "relative_to")
    if joint.kind == "CONE":
        layout.prop(joint, "cone_angle")
    for axis in RANGED_AXES[joint.kind]:
        row = layout.row(align=True, heading=f"Limit {axis.upper()}")
        row.prop(joint, f"use_limit_{axis}", text="")
        ends = row.row(align=True)
        ends.active = getattr(joint, f"use_limit_{axis}")
        ends.prop(joint, f"min_{axis}", text="")
        ends.prop(joint, f"max_{axis}", text="")
    if settings.solver == "FOLLOW":
        # A drag knows neither stiffness nor slides.
        return
    column = layout.column(align=True)
    for axis in STIFF_AXES[joint.kind]:
        column.prop(joint, f"stiffness_{axis}", slider=True)
    row = layout.row(align=True, heading="Slide")
    row.prop(joint, "use_slide", text="")
    ends = row.row(align=True)
    ends.active = joint.use_slide
    ends.prop(joint, "slide_min", text="")
    ends.prop(joint, "slide_max", text="")


register, unregister = bpy.utils.register_classes_factory(
    (
        CHAINIK_UL_joints,
        VIEW3D_PT_chain_ik_joints,
    )
)
