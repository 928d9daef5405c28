"""The meaning of the selection in the viewport: a tip, a chain, a target. Read once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import bpy
import numpy as np

from ..properties.chains import ChainGroup, active_armature, active_chain, chains_of, owner_of
from ..properties.choices import uses
from ..properties.records import bones_of_chains, existing_controls
from ..properties.settings import ChainSettings
from ..rig.reading.refusals import HIDDEN, IN_EDIT_MODE, RigError, library_problem, pose_problem
from ..rig.reading.spec import Anchor
from ..rig.reading.world import ends_of
from ..rig.tools.move_by_location import place_of

# The target and the pole of a chain.
MAX_CONTROLS = 2


@dataclass(frozen=True)
class Selection:
    """A selected chain, its target and its pole.

    Attributes:
        armature_object: The armature object.
        bones: Names of the selected run of bones, root first; a single one is the tip.
        target: A selected object or bone outside of the run; None without.
        pole: A second one, farther from the tip; None without.
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
        """Number of bones in the run; 0 for a single bone, which means all up to the root."""
        return len(self.bones) if len(self.bones) > 1 else 0


def problem_of_owner(context: bpy.types.Context) -> str:
    """Return why the active armature cannot be posed, in words; empty if it can."""
    owner = active_armature(context)
    return "" if owner is None else problem_of(owner)


def problem_of(armature_object: bpy.types.Object) -> str:
    """Return why an armature cannot be posed, in words; empty if it can."""
    # Edit mode can rename and delete bones that the pose still has.
    is_edited = armature_object.type == "ARMATURE" and armature_object.data.is_editmode
    return library_problem(armature_object) or (IN_EDIT_MODE if is_edited else "")


def problem_of_chain(context: bpy.types.Context) -> str:
    """Return why the active chain cannot be changed, in words; empty if it can."""
    has_chain = active_chain(context) is not None
    no_chain = "Select an armature that has a chain, and the chain in its list."
    return problem_of_owner(context) or ("" if has_chain else no_chain)


def problem_of_pose(armature_object: bpy.types.Object) -> str:
    """Return why no control can be placed by an armature's pose, in words; empty if one can."""
    view_layer = bpy.context.view_layer
    depsgraph = None if view_layer is None else view_layer.depsgraph
    return problem_of(armature_object) or pose_problem(armature_object, depsgraph)


def problem_of_controls(context: bpy.types.Context) -> str:
    """Return why controls can neither be made nor deleted, in words; empty if they can."""
    owner = active_armature(context)
    if owner is None:
        return ""
    # With a visible mesh, a hidden armature shows its pose; still Blender does not edit its bones.
    return problem_of_pose(owner) or (HIDDEN if owner.hide_viewport else "")


def problem_of_pole(context: bpy.types.Context) -> str:
    """Return why the active chain cannot bend toward a pole, in words; empty if it can."""
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
    """Return why no active armature can get chains, in words; empty if one can."""
    owner = active_armature(context)
    if owner is None:
        return "Select an armature and make it active."
    return problem_of(owner)


def problem(context: bpy.types.Context) -> str:
    """Return why the selection names no chain, in words; empty if it may name one."""
    if armature_problem := problem_of_armature(context):
        return armature_problem
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

    ``tip`` is the tip bone, in modes that do not show which bones are selected.

    Raises:
        RigError: If the selection means no chain or more than one.
    """
    owner = cast(bpy.types.Object, active_armature(context))
    selected = {tip} if tip else selected_bones(context, owner)
    if not selected:
        raise RigError("Choose the bone at the end of the chain, or select its bones in pose mode.")
    if tip and tip not in owner.pose.bones:
        raise RigError(
            "Bone '{tip}' does not exist: choose the bone at the end of the chain.", tip=tip
        )
    run = _longest_run(owner, selected)
    others = [Anchor(other) for other in context.selected_objects if not _is_excluded(other, owner)]
    others += [Anchor(owner, name) for name in sorted(selected.difference(run))]
    rigs = [rig for rig in context.selected_objects if rig != owner]
    selected_in = [(rig, selected_bones(context, rig)) for rig in rigs]
    others += [Anchor(rig, *names) for rig, names in selected_in if len(names) == 1]
    if len(others) > MAX_CONTROLS:
        raise RigError(
            "Too much is selected for a chain, a target and a pole: select one run of bones, and"
            " at most two controls."
        )
    end = ends_of(owner, [owner.pose.bones[run[-1]]])[1]
    others.sort(key=lambda anchor: float(np.linalg.norm(place_of(anchor) - end)))
    target, pole = (*others, None, None)[:MAX_CONTROLS]
    return Selection(owner, run, target, pole)


def selected_bones(context: bpy.types.Context, owner: bpy.types.Object) -> set[str]:
    """Return the names of the selected bones; none outside pose mode."""
    bones = context.selected_pose_bones or () if owner.mode == "POSE" else ()
    return {bone.name for bone in bones if bone.id_data == owner}


def selected_chains(context: bpy.types.Context, owner: bpy.types.Object) -> list[ChainGroup]:
    """Return the chains of an armature that have a selected bone, target or pole."""
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
        or any(map(is_selected, existing_controls(settings)))
    ]


def chosen_chains(context: bpy.types.Context) -> list[ChainGroup]:
    """Return the selected chains of all armatures, those of the active armature first.

    Without one, return the active chain; call it only where ``problem_of_chain`` is empty.
    """
    active, bones = chain(context), context.selected_pose_bones or ()
    posed = [cast(bpy.types.Object, bone.id_data) for bone in bones]
    rigs = dict.fromkeys([owner_of(active), *posed])
    posable = [rig for rig in rigs if not problem_of(rig)]
    return [chain for rig in posable for chain in selected_chains(context, rig)] or [active]


def _longest_run(owner: bpy.types.Object, selected: set[str]) -> tuple[str, ...]:
    """Return the longest run of selected bones, root first; of equals that with the active one."""
    active = owner.data.bones.active
    name = "" if active is None else active.name
    return max(
        (_run_up(owner, tip, selected) for tip in sorted(selected)),
        # As in Blender, of two single bones the active one is the tip and the other the target.
        key=lambda run: (len(run), run[-1] == name, name in run),
    )


def _run_up(owner: bpy.types.Object, tip: str, selected: set[str]) -> tuple[str, ...]:
    run, parent = [tip], owner.pose.bones[tip].parent
    while parent is not None and parent.name in selected:
        run.append(parent.name)
        parent = parent.parent
    return tuple(run[::-1])


def _is_excluded(candidate: bpy.types.Object, armature_object: bpy.types.Object) -> bool:
    """Tell whether a selected object cannot be a target.

    That is the armature, a mesh that it deforms, or another armature in pose mode, whose selected
    bones count instead.
    """
    return (
        candidate == armature_object
        or candidate.mode == "POSE"
        or any(getattr(change, "object", None) == armature_object for change in candidate.modifiers)
    )
