"""Presets of the settings of a chain, by Blender's own mechanism: scripts that set them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, ClassVar, Literal

import bpy
from bl_operators.presets import AddPresetBase
from bpy.props import BoolProperty, StringProperty

from ..preferences.addon import preferences
from ..properties.chains import ChainGroup, owner_of
from ..properties.choices import OF_NEW_CHAINS, OF_ONE_CHAIN
from ..properties.settings import ChainSettings
from ..rig.reading.refusals import RigError
from . import selection
from .base import ChainOperator

FOLDER = "chain_ik"
# What lists them.
PANEL = "CHAINIK_PT_presets"
SHIPPED = str(Path(__file__).parents[1])
"""The folder in which the presets of the extension are."""
HIDDEN: set[Literal["HIDDEN", "SKIP_SAVE"]] = {"HIDDEN", "SKIP_SAVE"}
# Settings that belong to one chain of one rig, or to its part in a body: presets leave them alone.
OWN = OF_ONE_CHAIN | {
    *("chain_count", "pole_mode", "pole_lean", "pole_angle", "use_flip_bend"),
    *("influence", "creature"),
    *("weight", "priority", "use_pin", "pull", "planted"),
}
# Lengths that Set Up Limbs measures on the limb: a preset changes them only where it names them.
MEASURED = frozenset(("soft_distance",))
# What a preset sets, as its file says it.
_NAMED = re.compile(r"^settings\.([\w.]+) =", re.MULTILINE)


def _problem(context: bpy.types.Context) -> str:
    problem = selection.problem_of_chain(context)
    if not problem and context.active_object != owner_of(selection.chain(context)):
        problem = "Make the armature the active object: presets are for its active chain."
    return problem


def _setting_names() -> list[str]:
    """Return the settings that a preset holds, such as ``solver`` and ``force.mass``."""
    chain = ChainSettings.bl_rna.properties
    force = chain["force"].fixed_type.properties
    names = [name for name in chain.keys() if name not in {*OWN, "force"}]
    return names + [f"force.{name}" for name in force.keys() if name not in OWN]


def _property(path: str) -> Any:
    """Return what Blender knows of a setting: its label and its default."""
    chain, (group, _, name) = ChainSettings.bl_rna.properties, path.rpartition(".")
    return (chain[group].fixed_type.properties if group else chain)[name]


def _values(settings: ChainGroup) -> dict[str, object]:
    """Return the settings that presets hold, by name."""
    # Reading settings that were never set has Blender store them, to be copied ever after.
    has_force = settings.is_property_set("force")
    return {
        path: settings.path_resolve(path)
        if has_force or not path.startswith("force.")
        else _property(path).default
        for path in _setting_names()
    }


class POSE_OT_chain_ik_preset_apply(ChainOperator):
    """Apply the settings of this preset to the active chain.

    Settings that are not in the preset get the values of a new chain; bones, target, pole, joints,
    influence, soft distance and the chain's part in a body stay.
    """

    bl_label = "Apply Chain Preset"
    # Blender's own operator for presets makes no undo step.
    bl_options = {"UNDO"}

    filepath: StringProperty(
        name="Preset", description="The file of the preset", subtype="FILE_PATH", options=HIDDEN
    )

    problem = staticmethod(_problem)

    def act(self, context: bpy.types.Context) -> None:
        file = Path(self.filepath)
        if not file.is_file():
            raise RigError(f"There is no preset '{file.name}': choose another one.")
        settings = selection.chain(context)
        before = _values(settings)
        named = {*_NAMED.findall(file.read_text(encoding="utf-8")), "solver"}
        usual = preferences(context)
        for path in before.keys() - named - MEASURED:
            default = _property(path).default
            value = getattr(usual, path) if path in OF_NEW_CHAINS else default
            if before[path] != value:
                group, _, name = path.rpartition(".")
                setattr(getattr(settings, group) if group else settings, name, value)
        bpy.ops.script.execute_preset(filepath=self.filepath, menu_idname=PANEL)
        self.tell(_change_in_words(file, settings, before))


def _change_in_words(file: Path, settings: ChainGroup, before: dict[str, object]) -> str:
    """Return which settings a preset has changed, by their labels."""
    preset = bpy.path.display_name(file.name, title_case=False)
    after = _values(settings).items()
    labels = ", ".join(_property(path).name for path, value in after if before[path] != value)
    if not labels:
        return f"The chain has the settings of the preset '{preset}' already"
    return f"The preset '{preset}' changed {labels}"


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

    problem = staticmethod(_problem)

    @property
    def preset_values(self) -> list[str]:
        """The settings that a preset holds, as the file names them."""
        return [f"settings.{name}" for name in _setting_names()]


def register() -> None:
    """Register the presets that come with the extension."""
    bpy.utils.register_preset_path(SHIPPED)


def unregister() -> None:
    """Remove them."""
    bpy.utils.unregister_preset_path(SHIPPED)
