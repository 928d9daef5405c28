"""The panels of the solver Force: stiffness, comfort, mass, ease and creature."""

from __future__ import annotations

from typing import cast

import bpy

from ...properties.chains import active_chain
from ...properties.choices import LABEL_CONTEXT
from ...properties.forces import creature_name
from ...properties.settings import ChainSettings
from ...rig.anatomy.creature_files import InvalidCreatureError
from ..base import ActiveChainPanel


class VIEW3D_PT_chain_ik_force(ActiveChainPanel):
    """Stiffness and weight of the bones, and how they ease toward the target."""

    bl_label = "Force"
    bl_translation_context = LABEL_CONTEXT
    about = "force"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        force = settings.force
        plain = layout.column()
        plain.active = not force.creature
        # Two lines: a label with both words would be longer than its column.
        plain.label(text="Stiffness")
        _draw_ends(plain.column(align=True), force, "stiffness")
        plain.label(text="Comfort")
        _draw_ends(plain.column(align=True), force, "comfort")
        layout.prop(force, "gravity")
        mass = layout.row()
        mass.active = plain.active
        mass.prop(force, "mass")
        layout.prop(force, "force_mode")
        layout.prop(force, "force_gain")
        layout.prop(force, "use_gradual")
        eased = layout.column(align=True)
        eased.active = force.use_gradual
        eased.prop(force, "ease")
        eased.prop(force, "fastest")


class VIEW3D_PT_chain_ik_creature(ActiveChainPanel):
    """The text that may stand for stiffness, comfort and mass, by its name."""

    bl_label = "Creature"
    bl_parent_id = "VIEW3D_PT_chain_ik_force"
    bl_options = {"DEFAULT_CLOSED"}
    about = "force"

    def draw_header_preset(self, context: bpy.types.Context) -> None:
        # Also visible while the panel is closed: with a creature the numbers above have no effect.
        try:
            name = creature_name(cast(ChainSettings, active_chain(context)))
        except InvalidCreatureError:
            # The status says what to change in the text.
            self.layout.label(text="Not readable")
        else:
            # A name may be a word that Blender would translate.
            self.layout.label(text=name or "None", translate=not name)

    def draw_settings(self, layout: bpy.types.UILayout, _settings: ChainSettings) -> None:
        row = layout.row(align=True)
        row.operator_menu_enum("pose.chain_ik_creature_load", "creature", text="Load")
        row.operator_menu_enum("pose.chain_ik_creature_save", "to", text="Save")


def _draw_ends(layout: bpy.types.UILayout, force: bpy.types.PropertyGroup, name: str) -> None:
    """Draw the values of a setting at the root and at the tip."""
    layout.prop(force, f"{name}_root", text="Root")
    layout.prop(force, f"{name}_tip", text="Tip")
