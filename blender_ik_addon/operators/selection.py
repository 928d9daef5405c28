"""What the selection in the viewport means: a tip, a chain, a target. Read once, at the edge."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import cast

import bpy

from ..core import IKError
from ..properties import ChainSettings, active_chain
from ..rig.reading.spec import Anchor


@dataclass(frozen=True)
class Selection:
    """A selected chain and what it shall follow.

    Attributes:
        armature_object: The active armature object.
        bone: Name of the active bone, the tip.
        chain_count: Selected bones in a line up from the tip; 0 if only the tip is selected.
        target: Another selected object, or a selected bone off that line; None without.
    """

    armature_object: bpy.types.Object
    bone: str
    chain_count: int
    target: Anchor | None


def problem_of_owner(context: bpy.types.Context) -> str:
    """Return what keeps the active armature from being posed, in words; empty if nothing does."""
    active = context.active_object
    if active is not None and not active.is_editable:
        return "This armature is linked: make a library override of it first."
    return ""


def problem_of_chain(context: bpy.types.Context) -> str:
    """Return what keeps the active chain from being changed, in words; empty if nothing does."""
    if problem_of_owner(context):
        return problem_of_owner(context)
    if active_chain(context) is None:
        return "Select an armature that has a chain, and the chain in its list."
    return ""


def chain(context: bpy.types.Context) -> ChainSettings:
    """Return the active chain; only where ``problem_of_chain`` finds none."""
    return cast(ChainSettings, active_chain(context))


def is_possible(operator: type[bpy.types.Operator], problem: str) -> bool:
    """Tell a ``poll`` whether nothing keeps the operator from running, and the user what does."""
    if problem:
        operator.poll_message_set(problem)
    return not problem


def change(
    operator: bpy.types.Operator,
    remove: Callable[[ChainSettings], list[str]],
    settings: ChainSettings,
) -> set[str]:
    """Remove something of a chain, and tell the user why not, or whose drivers are broken now."""
    try:
        readers = remove(settings)
    except IKError as error:
        operator.report({"ERROR"}, str(error))
        return {"CANCELLED"}
    if readers:
        operator.report({"WARNING"}, readers_in_words(readers))
    return {"FINISHED"}


def readers_in_words(readers: Iterable[str]) -> str:
    """Return what to tell of data whose drivers are broken now."""
    names = ", ".join(sorted(readers))
    return f"Drivers of {names} read what is gone: give them something else to read."


def problem_of_armature(context: bpy.types.Context) -> str:
    """Return what keeps the active object's pose from being changed, in words, or nothing."""
    active = context.active_object
    if active is None or active.type != "ARMATURE":
        return "Select an armature and make it active."
    if problem_of_owner(context):
        return problem_of_owner(context)
    if active.mode == "EDIT":
        return "Leave edit mode: chains work on the pose."
    return ""


def problem(context: bpy.types.Context) -> str:
    """Return what keeps the selection from naming a chain, in words; empty if nothing does."""
    found = problem_of_armature(context)
    if not found and cast(bpy.types.Object, context.active_object).data.bones.active is None:
        return "Click the bone at the end of the chain, so that it is the active one."
    return found


def bones(context: bpy.types.Context) -> list[str]:
    """Return the selected bones of the active armature; only where no problem is found."""
    owner = context.active_object
    return [bone.name for bone in context.selected_pose_bones or () if bone.id_data == owner]


def read(context: bpy.types.Context) -> Selection:
    """Return the selection; only where ``problem`` finds none."""
    armature_object = cast(bpy.types.Object, context.active_object)
    tip = armature_object.pose.bones[armature_object.data.bones.active.name]
    selected = set(bones(context))
    line = [tip.name]
    above = tip.parent
    while above is not None and above.name in selected:
        line.append(above.name)
        above = above.parent
    off_line = sorted(selected.difference(line))
    others = [other for other in context.selected_objects if not _belongs(other, armature_object)]
    target = None
    if others:
        target = Anchor(others[0])
    elif off_line:
        target = Anchor(armature_object, off_line[0])
    return Selection(armature_object, tip.name, len(line) if len(line) > 1 else 0, target)


def _belongs(candidate: bpy.types.Object, armature_object: bpy.types.Object) -> bool:
    """Tell whether an object is no target of its own.

    That is the armature, a mesh that it deforms, and another armature posed at the same time.
    """
    return (
        candidate == armature_object
        or candidate.mode == "POSE"
        or any(getattr(each, "object", None) == armature_object for each in candidate.modifiers)
    )
