"""The panel with the list of chains, and the main operators on them."""

from __future__ import annotations

from typing import Any

import bpy

from ...preferences.colours import LOOKS
from ...properties.chains import active_armature
from ...properties.choices import can_move_body
from ...properties.records import may_be_planted
from ...properties.settings import ChainSettings
from ...properties.status import paths_in_words, state
from ...rig.keying.motion_paths import has_paths
from ..base import ChainPanel, draw_text


class CHAINIK_UL_chains(bpy.types.UIList):
    """One row for each chain: state, name, in a body its pin, mute."""

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
        row = layout.row(align=True)
        row.prop(item, "name", text="", emboss=False, icon=LOOKS[state(item)].icon)
        if can_move_body(item):
            row.prop(
                item,
                "use_pin",
                text="",
                icon="PINNED" if item.use_pin else "UNPINNED",
                emboss=False,
            )
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
        column.operator("pose.chain_ik_mirror", text="", icon="MOD_MIRROR")
        column.separator()
        column.menu("VIEW3D_MT_chain_ik_more", text="", icon="DOWNARROW_HLT")
        layout.operator("pose.chain_ik_setup", icon="OUTLINER_OB_ARMATURE")
        row = layout.row(align=True)
        row.prop(context.scene.chain_ik, "use_live", toggle=True, icon="PLAY")
        row.operator("pose.chain_ik_bake")
        # While there is no chain, the tooltip of the button tells what it needs.
        if not chains.chains or may_be_planted(owner):
            layout.operator("pose.chain_ik_plant")
        _draw_paths(layout, context)


def _draw_paths(layout: Any, context: bpy.types.Context) -> None:
    """Draw the button that updates motion paths, and what is wrong with those of the scene."""
    owners = active_armature(context), context.object
    text = "" if context.scene is None else paths_in_words(context.scene)
    if text or any(owner is not None and has_paths(owner) for owner in owners):
        layout.operator("pose.chain_ik_motion_paths")
        draw_text(layout.column(align=True), text)
