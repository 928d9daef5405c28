"""The operators that load a creature file into a chain, and save a chain as a creature file."""

from __future__ import annotations

import stat
from pathlib import Path

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..core.equilibrium.creature_files import LARGEST_CREATURE
from ..core.model.errors import InvalidCreatureError
from ..properties import creature_text, owner_of, take_creature
from ..translations import said
from . import selection
from .base import ANEW, ChainOperator

FOLDER = Path(__file__).resolve().parent.parent / "creatures"
SUFFIX = ".json"
FROM_FILE = ("FILE", "From File", "Choose a creature file")
SHIPPED = (
    ("SNAKE", "Snake", "Hinges at right angles in turn, supple toward the tail"),
    ("DINOSAUR_NECK", "Dinosaur Neck", "Stiff at the shoulders, supple and heavy at the head"),
    ("HANGING_ARM", "Hanging Arm", "Hangs by its weight, with hardly any resistance"),
)


class POSE_OT_chain_ik_creature_load(ChainOperator):
    """Give the active chain the stiffness, comfort, weight and joints of a creature."""

    bl_idname = "pose.chain_ik_creature_load"
    bl_label = "Load Creature"
    bl_description = "Give the active chain the stiffness, comfort, weight and joints of a creature"
    bl_options = {"REGISTER", "UNDO"}

    creature: EnumProperty(
        name="Creature",
        description="Which creature the chain becomes; default From File",
        items=(FROM_FILE, *SHIPPED),
        options=ANEW,
    )
    filepath: StringProperty(
        name="File", description="The creature file", subtype="FILE_PATH", options=ANEW
    )
    filter_glob: StringProperty(default=f"*{SUFFIX}", options={"HIDDEN"})

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if self.creature != FROM_FILE[0]:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def act(self, context: bpy.types.Context) -> set[str]:
        chain = selection.chain(context)
        creature = take_creature(chain, _text_of(self._path()))
        owner_of(chain).update_tag()
        self.report({"INFO"}, said(f"Loaded creature '{creature.name}' into chain '{chain.name}'"))
        return {"FINISHED"}

    def _path(self) -> Path:
        if self.creature != FROM_FILE[0]:
            return FOLDER / f"{self.creature.lower()}{SUFFIX}"
        if not self.filepath:
            raise InvalidCreatureError("No file is chosen: choose a creature file.")
        return Path(bpy.path.abspath(self.filepath))


class POSE_OT_chain_ik_creature_save(ChainOperator):
    """Write the stiffness, comfort, weight and joints of the active chain to a creature file."""

    bl_idname = "pose.chain_ik_creature_save"
    bl_label = "Save Creature"
    bl_description = (
        "Write the stiffness, comfort, weight and joints of the active chain to a creature file"
    )
    bl_options = {"REGISTER"}

    filepath: StringProperty(
        name="File", description="The creature file", subtype="FILE_PATH", options=ANEW
    )
    filter_glob: StringProperty(default=f"*{SUFFIX}", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    @classmethod
    def problem(cls, context: bpy.types.Context) -> str:
        problem = selection.problem_of_chain(context)
        if not problem and selection.chain(context).solver != "FORCE":
            problem = "Choose the solver Force first: creatures are made for it."
        return problem

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if not self.filepath:
            name = selection.chain(context).name or "Creature"
            self.filepath = bpy.path.clean_name(name) + SUFFIX
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def act(self, context: bpy.types.Context) -> set[str]:
        path = _destination(self.filepath)
        _write(path, creature_text(selection.chain(context)))
        self.report({"INFO"}, said(f"Written to {path}"))
        return {"FINISHED"}


def _text_of(path: Path) -> str:
    """Return the text of a creature file.

    Raises:
        InvalidCreatureError: With what to choose instead.
    """
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise InvalidCreatureError(
                f"Path '{_shown(path)}' is not a file: choose a creature file."
            )
        if found.st_size > LARGEST_CREATURE:
            raise InvalidCreatureError(
                f"File '{_shown(path)}' is larger than 1 MB: choose a creature file."
            )
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidCreatureError(
            f"File '{_shown(path)}' is not text: choose a creature file."
        ) from None
    except OSError as error:
        raise InvalidCreatureError(
            f"File '{_shown(path)}' cannot be read ({error.strerror or error}):"
            " choose another file."
        ) from None


def _destination(filepath: str) -> Path:
    """Return the file to write to.

    Raises:
        InvalidCreatureError: If the path names no file, or has characters that are not text.
    """
    if not bpy.path.basename(filepath).removesuffix(SUFFIX):
        raise InvalidCreatureError("No file is named: choose where to write the creature.")
    path = Path(bpy.path.abspath(bpy.path.ensure_ext(filepath, SUFFIX)))
    if _shown(path) != str(path):
        raise InvalidCreatureError(
            f"The name '{_shown(path)}' has characters that are not text: choose another name."
        )
    return path


def _write(path: Path, text: str) -> None:
    content = text.encode("utf-8")
    try:
        path.write_bytes(content)
    except OSError as error:
        raise InvalidCreatureError(
            f"File '{path}' cannot be written ({error.strerror or error}): choose another place."
        ) from None


def _shown(path: Path) -> str:
    """Return a path for messages; file names may have characters that are not text."""
    return str(path).encode("utf-8", "replace").decode("utf-8")


classes = (POSE_OT_chain_ik_creature_load, POSE_OT_chain_ik_creature_save)
register, unregister = bpy.utils.register_classes_factory(classes)
