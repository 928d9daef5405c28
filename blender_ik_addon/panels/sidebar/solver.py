"""How the chain is solved."""

from __future__ import annotations

import bpy
from bl_ui.utils import PresetPanel

from ...properties import ChainSettings, active_chain, owner_of
from ..base import ActiveChainPanel
from ..used import USES

IN_ORDER = (
    *("follow_lead", "use_anchor", "max_bend"),
    *("iterations", "tolerance", "use_finish", "start_from"),
)
"""Those that the panel of the solver shows, in its order."""


class CHAINIK_PT_presets(PresetPanel, bpy.types.Panel):
    """The presets, those that come along and one's own."""

    bl_label = "Chain Presets"
    preset_subdir = "chain_ik"
    preset_operator = "script.execute_preset"
    preset_add_operator = "pose.chain_ik_preset_add"


class VIEW3D_PT_chain_ik_solver(ActiveChainPanel):
    """How the chain is solved."""

    bl_label = "Solver"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        # A preset sets the active chain of the active object.
        settings = active_chain(context)
        if settings is not None and context.active_object == owner_of(settings):
            CHAINIK_PT_presets.draw_panel_header(self.layout)

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        layout.prop(settings, "solver")
        for name in IN_ORDER:
            if name in USES[settings.solver]:
                layout.prop(settings, name)


register, unregister = bpy.utils.register_classes_factory(
    (
        CHAINIK_PT_presets,
        VIEW3D_PT_chain_ik_solver,
    )
)
