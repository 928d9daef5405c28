"""The panel of the solver and the presets."""

from __future__ import annotations

import bpy
from bl_ui.utils import PresetPanel

from ...properties.chains import active_chain, owner_of
from ...properties.settings import ChainSettings
from ..base import ActiveChainPanel, draw_used


class CHAINIK_PT_presets(PresetPanel, bpy.types.Panel):
    """The presets of the extension and of the user."""

    bl_label = "Presets"
    preset_subdir = "chain_ik"
    preset_operator = "pose.chain_ik_preset_apply"
    preset_add_operator = "pose.chain_ik_preset_add"


class VIEW3D_PT_chain_ik_solver(ActiveChainPanel):
    """How the chain is solved."""

    bl_label = "Solver"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        # A preset changes the active chain of the active object.
        settings = active_chain(context)
        if settings is not None and context.active_object == owner_of(settings):
            CHAINIK_PT_presets.draw_panel_header(self.layout)

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "solver")
        draw_used(layout, settings, "follow_lead", "use_anchor", "max_bend")
