"""Presets of the settings of a chain, which Blender stores as scripts that set them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar, Literal

import bpy
from bl_operators.presets import AddPresetBase
from bpy.props import BoolProperty, StringProperty

from ..core.model.message import Message, joined
from ..preferences.addon import preferences
from ..properties.chains import ChainGroup, owner_of
from ..properties.choices import CHAIN_SPECIFIC_SETTINGS, NEW_CHAIN_SETTINGS
from ..properties.settings import ChainSettings
from ..rig.reading.refusals import RigError
from . import selection
from .base import ChainOperator

FOLDER = "chain_ik"
# The panel that lists the presets.
PANEL = "CHAINIK_PT_presets"
SHIPPED = str(Path(__file__).parents[1])
"""The folder in which the presets of the extension are."""
HIDDEN: set[Literal["HIDDEN", "SKIP_SAVE"]] = {"HIDDEN", "SKIP_SAVE"}
# Settings that belong to one chain of one rig, or to its part in a body. Presets leave them alone.
RIG_SETTINGS = CHAIN_SPECIFIC_SETTINGS | {
    *("chain_count", "pole_mode", "pole_lean", "pole_angle", "use_flip_bend"),
    *("influence", "creature"),
    *("weight", "priority", "use_pin", "pull", "planted"),
}
# Lengths that Set Up Limbs measures on the limb. A preset changes them only if its file sets them.
MEASURED_SETTINGS = frozenset(("soft_distance",))
# A line of a preset's file that sets a setting.
_SET_PATH = re.compile(r"^settings\.([\w.]+) =", re.MULTILINE)


def _problem_of_active(context: bpy.types.Context) -> str:
    is_active = context.active_object == owner_of(selection.chain(context))
    inactive = "Make the armature the active object: presets are for its active chain."
    return "" if is_active else inactive


def _setting_paths() -> list[str]:
    """Return the paths of the settings that a preset holds, e.g. ``solver`` or ``force.mass``."""
    chain = ChainSettings.bl_rna.properties
    force = chain["force"].fixed_type.properties
    names = [name for name in chain.keys() if name not in {*RIG_SETTINGS, "force"}]
    return names + [f"force.{name}" for name in force.keys() if name not in RIG_SETTINGS]


def _property(path: str) -> Any:
    """Return the RNA property of a setting, with its label and default."""
    chain, (group, _, name) = ChainSettings.bl_rna.properties, path.rpartition(".")
    return (chain[group].fixed_type.properties if group else chain)[name]


def _values(settings: ChainGroup) -> dict[str, object]:
    """Return the values of the settings that presets hold, by path."""
    # A read makes Blender store settings that were never set, and copies then include them.
    has_force = settings.is_property_set("force")
    return {
        path: settings.path_resolve(path)
        if has_force or not path.startswith("force.")
        else _property(path).default
        for path in _setting_paths()
    }


class POSE_OT_chain_ik_preset_apply(ChainOperator):
    """Apply the settings of this preset to the active chain.

    Settings that are not in the preset get the values of a new chain. Bones, target, pole, joints,
    influence, soft distance and the chain's part in a body do not change.
    """

    bl_label = "Apply Chain Preset"
    # Blender's operator for presets makes no undo step.
    bl_options = {"UNDO"}

    filepath: StringProperty(
        name="Preset", description="The file of the preset", subtype="FILE_PATH", options=HIDDEN
    )

    problems = (selection.problem_of_chain, _problem_of_active)

    def act(self, context: bpy.types.Context) -> None:
        file = Path(self.filepath)
        if not file.is_file():
            raise RigError("There is no preset '{name}': choose another one.", name=file.name)
        settings = selection.chain(context)
        before = _values(settings)
        set_paths = {*_SET_PATH.findall(file.read_text(encoding="utf-8")), "solver"}
        defaults = preferences(context)
        for path in before.keys() - set_paths - MEASURED_SETTINGS:
            default = _property(path).default
            value = getattr(defaults, path) if path in NEW_CHAIN_SETTINGS else default
            if before[path] != value:
                group, _, name = path.rpartition(".")
                setattr(getattr(settings, group) if group else settings, name, value)
        bpy.ops.script.execute_preset(filepath=self.filepath, menu_idname=PANEL)
        self.tell(_change_in_words(file, settings, before))


def _change_in_words(file: Path, settings: ChainGroup, before: dict[str, object]) -> str:
    """Return a sentence with the labels of the settings that a preset has changed."""
    preset = bpy.path.display_name(file.name, title_case=False)
    after = _values(settings).items()
    changed = [path for path, value in after if before[path] != value]
    labels = joined(", ", [Message(_property(path).name) for path in changed])
    if not labels:
        return Message("The chain already has the settings of the preset '{preset}'", preset=preset)
    return Message("The preset '{preset}' changed {labels}", preset=preset, labels=labels)


class POSE_OT_chain_ik_preset_add(AddPresetBase, ChainOperator):  # type: ignore[misc]
    """Add the settings of the active chain to the presets, or remove a preset."""

    bl_label = "Add Chain Preset"
    # The same properties of the base have no tooltips.
    remove_name: BoolProperty(description="Remove the preset of this name", options=HIDDEN)
    remove_active: BoolProperty(description="Remove the preset that was chosen", options=HIDDEN)

    preset_menu = PANEL
    preset_subdir = FOLDER
    preset_defines: ClassVar = [
        "holder = bpy.context.active_object.chain_ik",
        "settings = holder.chains[holder.active_index]",
    ]

    problems = (selection.problem_of_chain, _problem_of_active)

    @property
    def preset_values(self) -> list[str]:
        """The settings that a preset holds, by their names in its file."""
        return [f"settings.{name}" for name in _setting_paths()]


def register() -> None:
    """Register the presets of the extension."""
    bpy.utils.register_preset_path(SHIPPED)


def unregister() -> None:
    """Unregister the presets of the extension."""
    bpy.utils.unregister_preset_path(SHIPPED)
