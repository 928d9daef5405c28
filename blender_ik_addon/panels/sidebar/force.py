"""The panel of the solver Force: stiffness and weight of the bones, and how they ease."""

from __future__ import annotations

import bpy

from ...properties import OWN_WORDS, ChainSettings
from ..base import ActiveChainPanel


class VIEW3D_PT_chain_ik_force(ActiveChainPanel):
    """Stiffness and weight of the bones, and how they ease toward the target."""

    bl_label = "Force"
    bl_translation_context = OWN_WORDS
    about = "force"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        force = settings.force
        row = layout.row(align=True)
        row.operator_menu_enum("pose.chain_ik_creature_load", "creature", text="Load Creature")
        row.operator("pose.chain_ik_creature_save", text="Save Creature")
        layout.prop(force, "creature")
        plain = layout.column()
        plain.active = not force.creature
        for name in ("stiffness", "comfort"):
            column = plain.column(align=True)
            column.prop(force, f"{name}_root")
            column.prop(force, f"{name}_tip", text="Tip")
        plain.prop(force, "mass")
        layout.prop(force, "gravity")
        layout.prop(force, "force_mode")
        layout.prop(force, "force_gain")
        layout.prop(force, "use_gradual")
        eased = layout.column(align=True)
        eased.active = force.use_gradual
        eased.prop(force, "ease")
        eased.prop(force, "fastest")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_chain_ik_force,))
