"""What the selection in the viewport means: a tip, a chain, a target. Read once, at the edge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ..properties.chains import ChainGroup, active_armature, active_chain, chains_of, owner_of
from ..properties.choices import uses
from ..properties.records import bones_of_chains, moved_by_hand
from ..properties.settings import ChainSettings
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import Anchor
from ..rig.reading.world import ends_of
from ..rig.tools.placing import place_of

# The target and the pole of a chain.
MOST_CONTROLS = 2
LINKED = "This armature is linked: make a library override of it first."
IN_EDIT_MODE = "Leave edit mode: chains work on the pose."


@dataclass(frozen=True)
class Selection:
    """A selected chain and what it shall follow.

    Attributes:
        armature_object: The armature object.
        bones: Names of the selected run of bones, root first; a single one is the tip.
        target: A selected object or bone outside of the run; None without.
        pole: Another one, farther from the tip.
    """

    armature_object: bpy.types.Object
    bones: tuple[str, ...]
    target: Anchor | None
    pole: Anchor | None = None

    @property
    def bone(self) -> str:
        """The tip bone."""
        return self.bones[-1]

    @property
    def chain_count(self) -> int:
        """How many bones are selected in a line; 0 for a single one: all up to the root."""
        return len(self.bones) if len(self.bones) > 1 else 0


def problem_of_owner(context: bpy.types.Context) -> str:
    """Return what keeps the active armature from being posed, in words; empty if nothing does."""
    owner = active_armature(context)
    return "" if owner is None else problem_of(owner)


def problem_of(armature_object: bpy.types.Object) -> str:
    """Return what keeps an armature from being posed, in words; empty if nothing does."""
    if not armature_object.is_editable:
        return LINKED
    # Bones are renamed and deleted there, and the pose still has those from before.
    is_edited = armature_object.type == "ARMATURE" and armature_object.data.is_editmode
    return IN_EDIT_MODE if is_edited else ""


def problem_of_chain(context: bpy.types.Context) -> str:
    """Return what keeps the active chain from being changed, in words; empty if nothing does."""
    has_chain = active_chain(context) is not None
    lacking = "Select an armature that has a chain, and the chain in its list."
    return problem_of_owner(context) or ("" if has_chain else lacking)


def problem_of_pole(context: bpy.types.Context) -> str:
    """Return what keeps the active chain from bending to a pole, in words; empty if nothing."""
    problem = problem_of_chain(context)
    if not problem and not uses(chain(context), "pole_target"):
        problem = "The solver of this chain uses no pole: choose another solver first."
    return problem


def chain(context: bpy.types.Context) -> ChainSettings:
    """Return the active chain; call it only where ``problem_of_chain`` is empty."""
    return cast(ChainSettings, active_chain(context))


def scene_of(context: bpy.types.Context) -> bpy.types.Scene:
    """Return the scene, which every context with an active object has."""
    return cast(bpy.types.Scene, context.scene)


def view_layer_of(context: bpy.types.Context) -> bpy.types.ViewLayer:
    """Return the view layer, which every context with an active object has."""
    return cast(bpy.types.ViewLayer, context.view_layer)


def problem_of_armature(context: bpy.types.Context) -> str:
    """Return what keeps an armature from getting chains, in words; empty if nothing does."""
    owner = active_armature(context)
    if owner is None:
        return "Select an armature and make it active."
    return problem_of(owner)


def problem(context: bpy.types.Context) -> str:
    """Return what keeps the selection from naming a chain, in words; empty if nothing does."""
    if found := problem_of_armature(context):
        return found
    owner = cast(bpy.types.Object, active_armature(context))
    if owner.mode == "POSE" and not selected_bones(context, owner):
        return "Select the bones of the chain."
    return ""


def shows_bones(context: bpy.types.Context) -> bool:
    """Tell whether the viewport shows which bones are selected: in pose mode."""
    owner = active_armature(context)
    return owner is not None and owner.mode == "POSE"


def read(context: bpy.types.Context, tip: str = "") -> Selection:
    """Return the selection; call it only where ``problem`` is empty.

    Args:
        context: With the armature and whatever is selected beside it.
        tip: The tip bone, in modes that do not show which bones are selected.

    Raises:
        RigError: If no chain or more than one is meant, with what to do next.
    """
    owner = cast(bpy.types.Object, active_armature(context))
    selected = {tip} if tip else selected_bones(context, owner)
    if not selected:
        raise RigError("Choose the bone at the end of the chain, or select its bones in pose mode.")
    if tip and tip not in owner.pose.bones:
        raise RigError(f"Bone '{tip}' does not exist: choose the bone at the end of the chain.")
    run = _longest_run(owner, selected)
    others = [Anchor(each) for each in context.selected_objects if not _belongs(each, owner)]
    others += [Anchor(owner, name) for name in sorted(selected.difference(run))]
    others += _single_bones(context, owner)
    if len(others) > MOST_CONTROLS:
        raise RigError(
            "More is selected than a chain, a target and a pole:"
            " select one run of bones, and at most two controls."
        )
    end = ends_of(owner, [owner.pose.bones[run[-1]]])[1]
    others.sort(key=lambda anchor: float(np.linalg.norm(place_of(anchor) - end)))
    target, pole = (*others, None, None)[:MOST_CONTROLS]
    return Selection(owner, run, target, pole)


def _single_bones(context: bpy.types.Context, owner: bpy.types.Object) -> list[Anchor]:
    """Return the bones of other armatures in pose mode that are selected alone there."""
    rigs = [each for each in context.selected_objects if each != owner]
    selected = [(rig, selected_bones(context, rig)) for rig in rigs]
    return [Anchor(rig, *names) for rig, names in selected if len(names) == 1]


def selected_bones(context: bpy.types.Context, owner: bpy.types.Object) -> set[str]:
    """Return the names of the selected bones; none outside pose mode."""
    bones = context.selected_pose_bones or () if owner.mode == "POSE" else ()
    return {bone.name for bone in bones if bone.id_data == owner}


def selected_chains(context: bpy.types.Context, owner: bpy.types.Object) -> list[ChainGroup]:
    """Return the chains of an armature of which a bone, the target or the pole is selected."""
    bones = {(bone.id_data, bone.name) for bone in context.selected_pose_bones or ()}
    objects = set(context.selected_objects or ())

    def is_selected(anchor: Anchor) -> bool:
        if anchor.bone:
            return (anchor.object, anchor.bone) in bones
        return anchor.object in objects

    return [
        settings
        for settings, driven in zip(chains_of(owner), bones_of_chains(owner), strict=True)
        if any((owner, name) in bones for name in (settings.bone, *driven))
        or any(map(is_selected, moved_by_hand(settings)))
    ]


def chosen_chains(context: bpy.types.Context) -> list[ChainGroup]:
    """Return the chains of all that is selected, those of the active armature first.

    If nothing of a chain is selected, that is the active chain; call it only where
    ``problem_of_chain`` is empty.
    """
    active, bones = chain(context), context.selected_pose_bones or ()
    posed = [cast(bpy.types.Object, bone.id_data) for bone in bones]
    rigs = dict.fromkeys([owner_of(active), *posed])
    posable = [rig for rig in rigs if not problem_of(rig)]
    return [each for rig in posable for each in selected_chains(context, rig)] or [active]


def _longest_run(owner: bpy.types.Object, selected: set[str]) -> tuple[str, ...]:
    """Return the longest line of selected bones, root first; of equals that with the active one."""
    active = owner.data.bones.active
    name = "" if active is None else active.name
    return max(
        (_run_up(owner, tip, selected) for tip in sorted(selected)),
        # As in Blender: of two single bones the active one is the tip, the other the target.
        key=lambda run: (len(run), run[-1] == name, name in run),
    )


def _run_up(owner: bpy.types.Object, tip: str, selected: set[str]) -> tuple[str, ...]:
    line, above = [tip], owner.pose.bones[tip].parent
    while above is not None and above.name in selected:
        line.append(above.name)
        above = above.parent
    return tuple(line[::-1])


def _belongs(candidate: bpy.types.Object, armature_object: bpy.types.Object) -> bool:
    """Tell whether a selected object is no target itself.

    That is the armature, a mesh that it deforms, and another armature posed at the same time, of
    which bones are selected.
    """
    return (
        candidate == armature_object
        or candidate.mode == "POSE"
        or any(getattr(each, "object", None) == armature_object for each in candidate.modifiers)
    )
