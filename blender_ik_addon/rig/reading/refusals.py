"""Errors of chains in a scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import bpy

from ...core import IKError
from ...core.model.message import Message, joined
from .animation import animated_paths

# Most names in one list.
MAX_NAMES = 3
LINKED = "This armature is linked: make a library override of it first."
PROTECTED = (
    "The library override of this armature cannot be edited: make it editable in the Outliner"
    " first."
)
IN_EDIT_MODE = "Leave edit mode: chains work on the pose."
HIDDEN = "The armature is hidden, or not in this view layer: show it first."
HIDING = ("hide_viewport", 0)
"""The channel that hides an object in viewports."""


class RigError(IKError):
    """A chain's bones, target or pole cannot be used; the text says what to do next."""


def refuse_first(problems: Mapping[str, object], **values: object) -> None:
    """Raise a ``RigError`` with the text of the first problem that is present."""
    for text, is_present in problems.items():
        if is_present:
            raise RigError(text, **values)


def library_problem(armature_object: bpy.types.Object) -> str:
    """Return why an armature object from a library cannot be posed, in words; empty if it can."""
    if not armature_object.is_editable:
        return LINKED
    # Blender makes such overrides for data that users did not choose, and scripts make them by
    # default. It ignores bulk writes to them without an error.
    override = armature_object.override_library
    return PROTECTED if override is not None and override.is_system_override else ""


def pose_problem(armature_object: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None) -> str:
    """Return why an armature object shows no pose, in words; empty if it shows one."""
    if armature_object.data.pose_position != "POSE":
        return "The armature shows its rest position: switch it to Pose Position first."
    if depsgraph is None or armature_object.visible_get():
        # An object that is new or has just been loaded is not evaluated until the next update.
        return ""
    return HIDDEN if is_hidden(armature_object, depsgraph) else ""


def is_hidden(armature_object: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> bool:
    """Return whether a graph may not evaluate an armature object, because it is hidden there.

    An object hidden by the eye icon is evaluated. One that its own animation hides is in the graph,
    but Blender evaluates only those of its parts that something shown depends on.
    """
    evaluated = armature_object.evaluated_get(depsgraph)
    if not evaluated.is_evaluated or not evaluated.hide_viewport:
        return not evaluated.is_evaluated
    return HIDING in animated_paths(armature_object)


def scaled_flat() -> RigError:
    """Return the error of an armature object that is scaled flat."""
    return RigError("The armature object has a scale of zero: give it a scale above zero.")


def bone_scaled_flat(body: str) -> RigError:
    """Return the error of a bone, of a "chain" or "tree", that is scaled flat."""
    return RigError(
        "A bone of the {body} has a scale of zero: give it a scale above zero.", body=body
    )


def listed(names: Sequence[str]) -> str:
    """Return names in one line, only the first if there are many."""
    shown, more = joined(", ", names[:MAX_NAMES]), len(names) - MAX_NAMES
    return Message("{shown} and {more} more", shown=shown, more=more) if more > 0 else shown
