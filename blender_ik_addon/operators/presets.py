"""Presets of the settings of a chain, by Blender's own mechanism: scripts that set them."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import bpy
from bl_operators.presets import AddPresetBase
from bpy.props import BoolProperty

from ..properties import ChainSettings, owner_of
from . import selection
from .base import ChainOperator

FOLDER = "chain_ik"
SHIPPED = str(Path(__file__).parents[1])
"""The folder in which the presets of the extension are."""
HIDDEN: set[Literal["HIDDEN", "SKIP_SAVE"]] = {"HIDDEN", "SKIP_SAVE"}
# Settings that belong to one chain of one rig: presets leave them alone.
OWN = frozenset(
    (
        *("name", "bone", "chain_count", "target", "subtarget", "pole_target", "pole_subtarget"),
        *("pole_angle", "use_flip_bend", "mute", "influence", "joints", "active_joint_index"),
        *("stored_pose", "status", "residual", "rna_type", "creature"),
    )
)


class POSE_OT_chain_ik_preset_add(AddPresetBase, ChainOperator):  # type: ignore[misc]
    """Add the settings of the active chain to the presets, or remove a preset."""

    bl_idname = "pose.chain_ik_preset_add"
    bl_label = "Add Chain Preset"
    bl_description = "Add the settings of the active chain to the presets, or remove a preset"
    # The same properties of the base have no tooltips.
    remove_name: BoolProperty(
        description="Remove the preset of this name; default off", options=HIDDEN
    )
    remove_active: BoolProperty(
        description="Remove the preset that was chosen; default off", options=HIDDEN
    )

    preset_menu = "CHAINIK_PT_presets"
    preset_subdir = FOLDER
    preset_defines: ClassVar = [
        "holder = bpy.context.active_object.chain_ik",
        "settings = holder.chains[holder.active_index]",
    ]

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem_of_chain(context)
        if not problem and context.active_object != owner_of(selection.chain(context)):
            problem = "Make the armature the active object: presets are for its active chain."
        return problem

    @property
    def preset_values(self) -> list[str]:
        """The settings that a preset holds, as the file names them."""
        chain = ChainSettings.bl_rna.properties
        force = chain["force"].fixed_type.properties
        names = [f"settings.{name}" for name in chain.keys() if name not in {*OWN, "force"}]
        return names + [f"settings.force.{name}" for name in force.keys() if name not in OWN]


def register() -> None:
    """Register the operator and the presets that come with the extension."""
    bpy.utils.register_class(POSE_OT_chain_ik_preset_add)
    bpy.utils.register_preset_path(SHIPPED)


def unregister() -> None:
    """Remove both."""
    bpy.utils.unregister_preset_path(SHIPPED)
    bpy.utils.unregister_class(POSE_OT_chain_ik_preset_add)
