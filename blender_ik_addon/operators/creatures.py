"""The operators that load a creature into a chain, and save a chain as a creature."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..properties.chains import MAX_NAME_BYTES, ChainGroup, owner_of
from ..properties.forces import apply_creature, creature_text
from ..rig.anatomy.creature_files import LARGEST_CREATURE, InvalidCreatureError
from . import selection
from .base import SKIP_SAVE, ChainOperator

FOLDER = Path(__file__).resolve().parent.parent / "creatures"
SUFFIX = ".json"
# Number of digits of the checksum that tells long names apart.
CHECKSUM_LENGTH = 16
# Custom property of a text: checksum of the content that was written or loaded last.
CHECKSUM_KEY = "chain_ik_known"
FILE, TEXT, NONE = "FILE", "TEXT", "NONE"
SOURCES = (
    (FILE, "From File", "Choose a creature file"),
    (TEXT, "From Text", "Read the text that Save > To Text has written, with your changes"),
    (NONE, "None", "Remove the creature: the chain uses the numbers in the panel again"),
)
DESTINATIONS = (
    (FILE, "To File", "Choose a file to write to"),
    (
        TEXT,
        "To Text",
        "Write a text that you can edit in Blender's text editor. Load > From Text reads it",
    ),
)
SHIPPED = (
    ("SNAKE", "Snake", "Alternating hinges at right angles, more flexible toward the tail"),
    ("DINOSAUR_NECK", "Dinosaur Neck", "Stiff at the shoulders, flexible and heavy at the head"),
    ("HANGING_ARM", "Hanging Arm", "Hangs by its weight, with almost no resistance"),
)


class POSE_OT_chain_ik_creature_load(ChainOperator):
    """Give the active chain the stiffness, comfort, weight and joints of a creature."""

    bl_label = "Load Creature"

    creature: EnumProperty(
        name="Creature",
        description="Creature to load into the chain",
        items=(*SOURCES, *SHIPPED),
        options=SKIP_SAVE,
    )
    filepath: StringProperty(
        name="File", description="The creature file", subtype="FILE_PATH", options=SKIP_SAVE
    )
    filter_glob: StringProperty(default=f"*{SUFFIX}", options={"HIDDEN"})

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if self.creature != FILE:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def act(self, context: bpy.types.Context) -> set[str]:
        chain = selection.chain(context)
        if self.creature == NONE:
            chain.force.creature = ""
            return {"FINISHED"}
        creature = apply_creature(chain, self._text(chain))
        if self.creature == TEXT and (text := _find_text(_text_name(chain))) is not None:
            text[CHECKSUM_KEY] = _checksum(text)
        owner_of(chain).update_tag()
        self.tell(
            "Loaded creature '{name}' into chain '{name2}'", name=creature.name, name2=chain.name
        )
        return {"FINISHED"}

    def _text(self, chain: ChainGroup) -> str:
        if self.creature == TEXT:
            name = _text_name(chain)
            if (text := _find_text(name)) is None:
                raise InvalidCreatureError(
                    "There is no text '{name}': choose Save > To Text first.", name=name
                )
            return text.as_string()
        if self.creature != FILE:
            return _text_of(FOLDER / f"{self.creature.lower()}{SUFFIX}")
        if not self.filepath:
            raise InvalidCreatureError("No file is chosen: choose a creature file.")
        return _text_of(Path(bpy.path.abspath(self.filepath)))


def _problem_of_solver(context: bpy.types.Context) -> str:
    has_force = selection.chain(context).solver == "FORCE"
    return "" if has_force else "Creatures need the solver Force: choose it first."


class POSE_OT_chain_ik_creature_save(ChainOperator):
    """Write the stiffness, comfort, weight and joints of the active chain to a file or a text."""

    bl_label = "Save Creature"
    bl_description = (
        "Write the stiffness, comfort, weight and joints of the active chain to a file or to a text"
        " in Blender"
    )
    bl_options = {"REGISTER"}

    to: EnumProperty(
        name="To",
        description="Destination of the saved creature",
        items=DESTINATIONS,
        options=SKIP_SAVE,
    )
    filepath: StringProperty(
        name="File", description="The creature file", subtype="FILE_PATH", options=SKIP_SAVE
    )
    filter_glob: StringProperty(default=f"*{SUFFIX}", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    problems = (selection.problem_of_chain, _problem_of_solver)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if self.to != FILE:
            return self.execute(context)
        if not self.filepath:
            name = selection.chain(context).name or "Creature"
            self.filepath = bpy.path.clean_name(name) + SUFFIX
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def act(self, context: bpy.types.Context) -> set[str]:
        chain = selection.chain(context)
        if self.to == TEXT:
            text = _write_text(chain)
            _show(text, context)
            bpy.ops.ed.undo_push(message=self.bl_label)
            self.tell(
                "Wrote the text '{name}': edit it in the text editor, then choose Load > From Text",
                name=text.name,
            )
            return {"FINISHED"}
        path, content = _destination(self.filepath), creature_text(chain).encode("utf-8")
        try:
            path.write_bytes(content)
        except OSError as error:
            problem = "File '{path}' cannot be written ({strerror}): choose another place."
            raise _file_error(problem, path, strerror=error.strerror or error) from None
        self.tell("Written to {path}", path=path)
        return {"FINISHED"}


def _text_name(chain: ChainGroup) -> str:
    """Return the name of the text for a chain's creature, short enough for Blender.

    It differs for any two chains: slashes in names are doubled, and a name that is too long ends
    with a checksum.
    """
    owner, name = (part.replace("/", "//") for part in (owner_of(chain).name, chain.name))
    stem, room = f"{owner} / {name}", MAX_NAME_BYTES - len(SUFFIX)
    if len(stem.encode()) > room:
        checksum = hashlib.sha256(stem.encode()).hexdigest()[:CHECKSUM_LENGTH]
        start = stem.encode()[: room - CHECKSUM_LENGTH - 1].decode("utf-8", "ignore")
        stem = f"{start} {checksum}"
    return stem + SUFFIX


def _find_text(name: str) -> bpy.types.Text | None:
    """Return the text of a name in this file, not of a library; None if there is none."""
    local = [text for text in bpy.data.texts if text.name == name and text.library is None]
    return local[0] if local else None


def _write_text(chain: ChainGroup) -> bpy.types.Text:
    """Write the creature of a chain to its text, and return that."""
    name = _text_name(chain)
    try:
        content = creature_text(chain)
    except InvalidCreatureError:
        # The stored creature is invalid; users can repair it in the text.
        content = chain.force.creature
    text = _find_text(name) or bpy.data.texts.new(name)
    present = text.as_string()
    if present.strip() and present != content and text.get(CHECKSUM_KEY) != _checksum(text):
        raise InvalidCreatureError(
            "The text '{name}' has changes that were not loaded: choose Load > From Text, or delete"
            " the text.",
            name=name,
        )
    text.from_string(content)
    text[CHECKSUM_KEY] = _checksum(text)
    return text


def _checksum(text: bpy.types.Text) -> str:
    return hashlib.sha256(text.as_string().encode()).hexdigest()


def _show(text: bpy.types.Text, context: bpy.types.Context) -> None:
    """Show a text in the text editors that are open."""
    for window in context.window_manager.windows:
        for area in window.screen.areas:
            space = area.spaces.active
            if isinstance(space, bpy.types.SpaceTextEditor):
                space.text = text


def _text_of(path: Path) -> str:
    """Return the text of a creature file."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise _file_error("Path '{path}' is not a file: choose a creature file.", path)
        if status.st_size > LARGEST_CREATURE:
            raise _file_error("File '{path}' is larger than 1 MB: choose a creature file.", path)
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        problem = "File '{path}' is not text: choose a creature file."
        raise _file_error(problem, path) from None
    except OSError as error:
        problem = "File '{path}' cannot be read ({strerror}): choose another file."
        raise _file_error(problem, path, strerror=error.strerror or error) from None


def _destination(filepath: str) -> Path:
    """Return the file to write to."""
    if not bpy.path.basename(filepath).removesuffix(SUFFIX):
        raise InvalidCreatureError("No file name is given: choose a file for the creature.")
    path = Path(bpy.path.abspath(bpy.path.ensure_ext(filepath, SUFFIX)))
    if _printable(path) != str(path):
        problem = "The name '{path}' has characters that are not text: choose another name."
        raise _file_error(problem, path)
    return path


def _file_error(template: str, path: Path, **values: object) -> InvalidCreatureError:
    return InvalidCreatureError(template, path=_printable(path), **values)


def _printable(path: Path) -> str:
    """Return a path for messages; characters of file names that are not text are replaced."""
    return str(path).encode("utf-8", "replace").decode("utf-8")
