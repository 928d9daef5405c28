"""The chains of the armature, and what can be done with them."""

from __future__ import annotations

from typing import Any, Literal

import bpy

from ...properties import ChainSettings, ChainState, active_armature, paths_in_words, state
from ...rig.keying.motion_paths import has_paths
from ..base import ChainPanel, draw_text

Icon = Literal["CON_KINEMATIC", "CON_ROTLIMIT", "DRIVER_DISTANCE", "PAUSE", "ERROR"]
ICONS: dict[ChainState, Icon] = {
    ChainState.REACHED: "CON_KINEMATIC",
    ChainState.HELD: "CON_ROTLIMIT",
    ChainState.MISSED: "DRIVER_DISTANCE",
    ChainState.IDLE: "PAUSE",
    ChainState.BROKEN: "ERROR",
}
"""What each state looks like in the list."""


class CHAINIK_UL_chains(bpy.types.UIList):
    """One row for each chain: state, name, influence, mute."""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.PropertyGroup,
        item: ChainSettings,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
        _index: int,
    ) -> None:
        # Names need the room: they tell the chains apart.
        row = layout.split(factor=0.6, align=True)
        row.prop(item, "name", text="", emboss=False, icon=ICONS[state(item)])
        row = row.row(align=True)
        row.prop(item, "influence", text="", slider=True)
        row.prop(item, "mute", text="", invert_checkbox=True)


class VIEW3D_PT_chain_ik(ChainPanel):
    """The list of chains."""

    bl_label = "Chain IK"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        owner = active_armature(context)
        if owner is None:
            layout.label(text="Select an armature or a target")
            _draw_paths(layout, context)
            return
        row = layout.row()
        chains = owner.chain_ik
        row.template_list("CHAINIK_UL_chains", "", chains, "chains", chains, "active_index", rows=4)
        column = row.column(align=True)
        column.operator("pose.chain_ik_add", text="", icon="ADD")
        column.operator("pose.chain_ik_remove", text="", icon="REMOVE")
        column.separator()
        column.operator("pose.chain_ik_store", text="", icon="ARMATURE_DATA")
        column.operator("pose.chain_ik_restore", text="", icon="LOOP_BACK")
        column.separator()
        column.operator("pose.chain_ik_mirror", text="", icon="MOD_MIRROR")
        layout.operator("pose.chain_ik_setup", icon="OUTLINER_OB_ARMATURE")
        row = layout.row(align=True)
        row.prop(context.scene.chain_ik, "use_live", toggle=True, icon="PLAY")
        once = row.row(align=True)
        # Scripts can name a bone in any mode, a button cannot.
        once.enabled = owner.mode == "POSE"
        once.operator("pose.chain_ik_solve")
        row = layout.row(align=True)
        row.operator("pose.chain_ik_bake")
        row.operator_menu_enum("pose.chain_ik_convert", "direction")
        _draw_paths(layout, context)


def _draw_paths(layout: Any, context: bpy.types.Context) -> None:
    """Draw what is wrong with the motion paths of the scene, and the button that mends them."""
    shown = active_armature(context), context.object
    text = "" if context.scene is None else paths_in_words(context.scene)
    if text or any(each is not None and has_paths(each) for each in shown):
        layout.operator("pose.chain_ik_motion_paths")
        draw_text(layout.column(align=True), text)


classes = (CHAINIK_UL_chains, VIEW3D_PT_chain_ik)
register, unregister = bpy.utils.register_classes_factory(classes)
