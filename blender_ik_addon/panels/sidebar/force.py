"""The panel of the solver Force: stiffness and weight of the bones, and how they ease."""

from __future__ import annotations

import bpy

from ...properties import OWN_WORDS, ChainSettings, creature_name
from ...rig.anatomy.creature_files import InvalidCreatureError
from ..base import ActiveChainPanel


class VIEW3D_PT_chain_ik_force(ActiveChainPanel):
    """Stiffness and weight of the bones, and how they ease toward the target."""

    bl_label = "Force"
    bl_translation_context = OWN_WORDS
    about = "force"

    def draw_settings(self, layout: bpy.types.UILayout, settings: ChainSettings) -> None:
        force = settings.force
        _draw_creature(layout, settings)
        plain = layout.column()
        plain.active = not force.creature
        # In two lines: with both words in one, labels are longer than their column.
        plain.label(text="Stiffness")
        _draw_ends(plain.column(align=True), force, "stiffness")
        plain.label(text="Comfort")
        _draw_ends(plain.column(align=True), force, "comfort")
        plain.prop(force, "mass")
        layout.prop(force, "gravity")
        layout.prop(force, "force_mode")
        layout.prop(force, "force_gain")
        layout.prop(force, "use_gradual")
        eased = layout.column(align=True)
        eased.active = force.use_gradual
        eased.prop(force, "ease")
        eased.prop(force, "fastest")


def _draw_ends(layout: bpy.types.UILayout, force: bpy.types.PropertyGroup, name: str) -> None:
    """Draw what a chain has at its root and at its tip."""
    layout.prop(force, f"{name}_root", text="Root")
    layout.prop(force, f"{name}_tip", text="Tip")


def _draw_creature(layout: bpy.types.UILayout, settings: ChainSettings) -> None:
    """Draw the name of a creature, and where it comes from and goes to."""
    row = layout.split(factor=0.4)
    title = row.row()
    title.alignment = "RIGHT"
    title.label(text="Creature")
    try:
        name = creature_name(settings)
    except InvalidCreatureError:
        # The status says what to change in the text.
        row.label(text="Not readable")
    else:
        # A name may be a word that Blender would translate.
        row.label(text=name or "None", translate=not name)
    row = layout.row(align=True)
    row.operator_menu_enum("pose.chain_ik_creature_load", "creature", text="Load")
    row.operator_menu_enum("pose.chain_ik_creature_save", "to", text="Save")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_chain_ik_force,))
