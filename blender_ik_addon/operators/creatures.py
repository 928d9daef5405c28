"""Operators on creatures: give a chain what a file tells, and write a file that tells a chain."""

from __future__ import annotations

from pathlib import Path

import bpy
from bpy.props import BoolProperty, EnumProperty, StringProperty

from ..core import IKError
from ..properties import creature_text, owner_of, take_creature
from . import selection
from .chains import ANEW

FOLDER = Path(__file__).resolve().parent.parent / "creatures"
SUFFIX = ".json"
FROM_FILE = ("FILE", "From File", "Choose a creature file")
SHIPPED = (
    ("SNAKE", "Snake", "Hinges at right angles in turn, supple toward the tail"),
    ("DINOSAUR_NECK", "Dinosaur Neck", "Stiff at the shoulders, supple and heavy at the head"),
    ("HANGING_ARM", "Hanging Arm", "Hangs by its weight, with hardly any resistance"),
)


class POSE_OT_chain_ik_creature_load(bpy.types.Operator):
    """Give the active chain the stiffness, comfort, weight and joints of a creature."""

    bl_idname = "pose.chain_ik_creature_load"
    bl_label = "Load Creature"
    bl_options = {"REGISTER", "UNDO"}

    creature: EnumProperty(name="Creature", items=(FROM_FILE, *SHIPPED), options=ANEW)
    filepath: StringProperty(subtype="FILE_PATH", options=ANEW)
    filter_glob: StringProperty(default=f"*{SUFFIX}", options={"HIDDEN"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return selection.is_possible(cls, selection.problem_of_chain(context))

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if self.creature != FROM_FILE[0]:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        path = Path(bpy.path.abspath(self.filepath))
        if self.creature != FROM_FILE[0]:
            path = FOLDER / f"{self.creature.lower()}{SUFFIX}"
        chain = selection.chain(context)
        try:
            creature = take_creature(chain, path.read_text(encoding="utf-8"))
        except IKError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except UnicodeDecodeError:
            self.report({"ERROR"}, f"File '{path.name}' is no text: choose a creature file.")
            return {"CANCELLED"}
        except OSError as error:
            reason = error.strerror or error
            self.report({"ERROR"}, f"File '{path}' cannot be read ({reason}): choose another file.")
            return {"CANCELLED"}
        owner_of(chain).update_tag()
        self.report({"INFO"}, f"Chain '{chain.name}' is a {creature.name} now")
        return {"FINISHED"}


class POSE_OT_chain_ik_creature_save(bpy.types.Operator):
    """Write the stiffness, comfort, weight and joints of the active chain to a creature file."""

    bl_idname = "pose.chain_ik_creature_save"
    bl_label = "Save Creature"
    bl_options = {"REGISTER"}

    filepath: StringProperty(subtype="FILE_PATH", options=ANEW)
    filter_glob: StringProperty(default=f"*{SUFFIX}", options={"HIDDEN"})
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        problem = selection.problem_of_chain(context)
        if not problem and selection.chain(context).solver != "FORCE":
            problem = "Choose the solver Force first: it is what a creature tells of."
        return selection.is_possible(cls, problem)

    def invoke(self, context: bpy.types.Context, _event: bpy.types.Event) -> set[str]:
        if not self.filepath:
            self.filepath = bpy.path.clean_name(selection.chain(context).name) + SUFFIX
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def execute(self, context: bpy.types.Context) -> set[str]:
        path = Path(bpy.path.abspath(bpy.path.ensure_ext(self.filepath, SUFFIX)))
        try:
            path.write_text(creature_text(selection.chain(context)), encoding="utf-8")
        except IKError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        except OSError as error:
            reason = error.strerror or error
            self.report(
                {"ERROR"}, f"File '{path}' cannot be written ({reason}): choose another place."
            )
            return {"CANCELLED"}
        self.report({"INFO"}, f"Written to {path}")
        return {"FINISHED"}


classes = (POSE_OT_chain_ik_creature_load, POSE_OT_chain_ik_creature_save)
register, unregister = bpy.utils.register_classes_factory(classes)
