"""Conversion between Blender's IK constraints and chains: shared and unsupported settings."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from typing import Any

import bpy
import numpy as np

from ...core import Solver
from ...core.algebra.arithmetic import Array
from ...core.model.message import Message, joined
from ..keying.setting_moves import SettingMove
from ..live.writer import write_rotation
from ..planning.order import PlannedChain
from ..reading.animation import animated_paths, bone_of_path
from ..reading.bone_joints import has_joint
from ..reading.chain_plan import ChainPlan
from ..reading.channels import QUATERNION, Pose, converted
from ..reading.refusals import RigError
from ..reading.skeleton import Skeleton
from ..reading.spec import Anchor, ChainSpec, PoleMode
from .lengths import LengthUnit, length_in_words

IKConstraint = Any
"""A KinematicConstraint of Blender; the type stubs only know what all constraints share."""

# Settings with the same name and meaning in chains and constraints.
SHARED_SETTINGS = ("mute", "influence", "weight", "use_rotation", "orient_weight", "iterations")
# Settings that can be animated in both, by their names in constraints, with those in chains. The
# eye in Blender's panel animates ``enabled``, the opposite of ``mute``.
_NAMES_IN_CONSTRAINTS = {
    name: name for name in ("mute", "influence", "weight", "orient_weight", "pole_angle")
} | {"enabled": "mute"}
_NAMES_IN_CHAINS = {name: name for name in _NAMES_IN_CONSTRAINTS.values()}

# The name that Blender gives to new constraints; from the second one of a bone on with a number.
_DEFAULT_NAME = "IK"

MOST_BONES_OF_CONSTRAINT = 255
# The minimum weight of constraints: 0.01 is a little less in float32.
MIN_WEIGHT = 0.01 - 1e-6
# Tolerance of a head on its parent's tail, as a share of the parent's length.
TAIL_SHARE = 1e-5
# Tolerance of joints that have not moved, as a share of the chain's length.
UNMOVED_SHARE = 1e-3

# Settings that only iTaSC uses, Blender's other solver, with their default values.
_OF_CONSTRAINTS_ALONE: dict[str, object] = {"reference_axis": "BONE"} | {
    f"lock_{what}_{axis}": True for what in ("location", "rotation") for axis in "xyz"
}
_OF_CHAINS_ALONE = ("soft_distance", "tolerance", "start_from", "negative_scale")


def ik_constraints(bone: bpy.types.PoseBone) -> list[IKConstraint]:
    """Return the IK constraints of a bone."""
    return [constraint for constraint in bone.constraints if constraint.type == "IK"]


def spec_of_constraint(skeleton: Skeleton, bone: str, constraint: IKConstraint) -> ChainSpec:
    """Return the settings of a chain with the bones and goals of a constraint.

    Without Use Tail, a constraint brings the parent's tail to the target and turns the parent. So
    the chain ends at the parent if that tail is not at the bone's head or the parent is turned.
    Constraints with Blender's default name give their chain the name of its bone.
    """
    use_tail, tip = constraint.use_tail, skeleton.index[bone]
    parent = int(skeleton.parents[tip])
    if not use_tail and parent >= 0:
        is_on_tail = skeleton.begins_at_tail(np.array([tip]), TAIL_SHARE).all()
        if not is_on_tail or constraint.use_rotation:
            use_tail, bone = True, skeleton.names[parent]
    pole = constraint.pole_target
    has_default_name = re.fullmatch(rf"{_DEFAULT_NAME}(\.\d+)?", constraint.name)
    return ChainSpec(
        name=bone if has_default_name else constraint.name,
        bone=bone,
        chain_count=constraint.chain_count,
        use_tail=use_tail,
        use_rotation=constraint.use_rotation,
        target=Anchor(constraint.target, constraint.subtarget) if constraint.target else None,
        pole=None if pole is None else Anchor(pole, constraint.pole_subtarget),
        pole_angle=constraint.pole_angle,
        influence=constraint.influence,
    )


def name_of_constraint(chain: str, bone: str) -> str:
    """Return the name of a chain's constraint, from the names of the chain and its bone."""
    return _DEFAULT_NAME if chain == bone else chain


def check_solver(armature_object: bpy.types.Object) -> None:
    """Raise a ``RigError`` if an armature's constraints are solved by iTaSC."""
    if armature_object.pose.ik_solver != "LEGACY":
        raise RigError(
            "This armature's IK Solver is iTaSC, which chains do not support: set it to Standard"
            " in the armature's properties first."
        )


def check_constraint(bone: bpy.types.PoseBone, constraint: IKConstraint) -> None:
    """Raise a ``RigError`` if a chain cannot do what a constraint does."""
    if constraint.is_override_data or _is_in_library(bone, constraint.name):
        raise RigError(
            "This constraint comes from a library: convert it there first, and then here again to"
            " move the keys of this file."
        )
    if constraint.ik_type != "COPY_POSE":
        raise RigError("Chains have no Distance mode: set IK Type to Copy Pose first.")
    if not constraint.use_location:
        raise RigError("Chains need a position: switch Position on first.")
    if not constraint.iterations:
        raise RigError("Its Iterations are 0, so it moves nothing: enter a higher number first.")
    if constraint.target_space != "WORLD":
        raise RigError(
            "Chains follow their targets in world space: set its Target Space to World Space first."
        )
    goals = (
        (constraint.target, constraint.subtarget),
        (constraint.pole_target, constraint.pole_subtarget),
    )
    for goal, part in goals:
        if goal is None:
            continue
        if goal.type == "ARMATURE" and not part:
            raise RigError("No bone of '{name}' is set: choose the bone to follow.", name=goal.name)
        if goal.type != "ARMATURE" and part:
            raise RigError(
                "Chains cannot follow the vertex group '{part}' of '{name}': follow an empty with a"
                " vertex parent instead.",
                part=part,
                name=goal.name,
            )
    if _is_active(constraint) and sum(map(_is_active, ik_constraints(bone))) > 1:
        raise RigError(
            "Blender uses only the first IK constraint of a bone: mute or delete the others first."
        )


def _is_in_library(bone: bpy.types.PoseBone, name: str) -> bool:
    """Return whether an override has a constraint from its library; 4.2 has no property for it."""
    override = bone.id_data.override_library
    bones = override.reference.pose.bones if override else {}
    return bone.name in bones and name in bones[bone.name].constraints


def _is_active(constraint: IKConstraint) -> bool:
    return not constraint.mute and constraint.target is not None


def check_chain(
    plan: ChainPlan, spec: ChainSpec, bones: bpy.types.bpy_prop_collection[bpy.types.PoseBone]
) -> None:
    """Raise a ``RigError`` if a constraint cannot do what a chain does; ``bones`` are all bones."""
    skeleton = plan.skeleton
    driven = [bones[skeleton.names[bone]] for bone in plan.segments]
    if spec.options.solver in (Solver.FORCE, Solver.FOLLOW):
        raise RigError(
            "IK constraints do not have the solvers Force and Follow: choose another solver first."
        )
    if spec.joints and spec.use_limits:
        raise RigError(
            "IK constraints cannot use the joints of a chain: remove these joints first."
        )
    if not spec.use_limits and any(map(has_joint, driven)):
        raise RigError("IK constraints always use the limits of bones: switch Limits on first.")
    if spec.pole_mode is PoleMode.FOLLOW:
        raise RigError("IK constraints cannot bend with the body: press Add Pole first.")
    if spec.options.use_flip_bend and spec.pole is None:
        raise RigError("IK constraints have no Flip Bend: add a pole, or switch it off.")
    if plan.turns_tip and not plan.ends_at_tail:
        raise RigError(
            "IK constraints cannot turn bone '{names}' with the target: switch Rotation off, and"
            " give that bone a Copy Rotation constraint.",
            names=skeleton.names[plan.tip],
        )
    if len(driven) > MOST_BONES_OF_CONSTRAINT:
        raise RigError(
            "IK constraints move at most {most_bones_of_constraint} bones: shorten the chain.",
            most_bones_of_constraint=MOST_BONES_OF_CONSTRAINT,
        )
    weights = (spec.weight, float(spec.options.orient_weight) if plan.turns_tip else 1.0)
    if min(weights) < MIN_WEIGHT:
        raise RigError(
            "IK constraints need a weight of at least 0.01: enter a higher weight first."
        )
    tip = np.array([skeleton.index[spec.bone]])
    if not spec.use_tail and not skeleton.begins_at_tail(tip, TAIL_SHARE).all():
        raise RigError(
            "Without Use Tail, IK constraints need a bone whose head is at the tail of its"
            " parent: switch Use Tail on."
        )
    if any(map(_is_active, ik_constraints(bones[spec.bone]))):
        raise RigError(
            "Bone '{bone}' already has an IK constraint: delete it first.", bone=spec.bone
        )


def can_grow(armature_object: bpy.types.Object, plan: ChainPlan) -> bool:
    """Return whether any bone of a chain has an IK stretch."""
    bones = armature_object.pose.bones
    return any(bones[plan.skeleton.names[bone]].ik_stretch > 0.0 for bone in plan.segments)


def take_settings(constraint: IKConstraint, chain: PlannedChain, pole_angle: float) -> None:
    """Give a new constraint the settings that chains share, and a pole angle in radians."""
    spec, options = chain.spec, chain.spec.options
    constraint.influence, constraint.weight = spec.influence, spec.weight
    constraint.use_rotation = chain.plan.turns_tip
    constraint.orient_weight = float(options.orient_weight)
    constraint.iterations = int(options.iterations)
    # Without bones that stretch it has no effect: keep Blender's default, which is on.
    constraint.use_stretch = spec.use_stretch or not can_grow(chain.object, chain.plan)
    constraint.pole_angle = math.remainder(pole_angle, math.tau)
    constraint.use_tail = spec.use_tail
    constraint.chain_count = min(spec.chain_count, MOST_BONES_OF_CONSTRAINT)


def lost_of_constraint(constraint: IKConstraint) -> list[str]:
    """Return the labels of changed settings of a constraint that a chain does not have."""
    labels = constraint.bl_rna.properties
    return [
        labels[name].name
        for name, default in _OF_CONSTRAINTS_ALONE.items()
        if getattr(constraint, name) != default
    ]


def lost_of_chain(settings: bpy.types.PropertyGroup) -> list[str]:
    """Return the labels of changed settings of a chain that a constraint does not have."""
    labels = settings.bl_rna.properties
    lost = {
        "solver": settings.solver in (Solver.FABRIK, Solver.CCD),
        **{name: getattr(settings, name) != labels[name].default for name in _OF_CHAINS_ALONE},
        "use_keep_volume": settings.use_stretch and settings.use_keep_volume,
        "joints": bool(settings.joints),
    }
    return [labels[name].name for name, is_lost in lost.items() if is_lost]


def moving_to_chain(
    armature_object: bpy.types.Object, bone: str, constraint: str, index: int
) -> SettingMove:
    """Return the changes that move keys of a constraint's settings to those of a chain.

    Raises:
        RigError: If they cannot be moved.
    """
    bones = armature_object.pose.bones
    number = bones[bone].constraints.find(constraint)
    before = [
        path
        for owner in _items("pose.bones", bones.find(bone), bone)
        for path in _items(f"{owner}.constraints", number, constraint)
    ]
    after = f"chain_ik.chains[{index}]"
    return SettingMove(armature_object, before, after, _NAMES_IN_CONSTRAINTS, ("enabled",))


def moving_from_library(
    armature_object: bpy.types.Object, index: int, bones: Collection[str] | None
) -> SettingMove:
    """Return the changes that move keys of a constraint which the library replaced by a chain.

    Keys of the pole angle stay: the angle of the constraint counted from elsewhere. Only the named
    bones count as those that had the constraint; None for all.

    Raises:
        RigError: If they cannot be moved.
    """
    chain = armature_object.chain_ik.chains[index]
    tip = armature_object.pose.bones.get(chain.bone)
    # A chain has a number where constraints of several bones have the same name.
    stem = re.sub(r"\.\d{3,}$", "", chain.name)
    names = {name_of_constraint(name, chain.bone) for name in (chain.name, stem)}
    # Without Use Tail, a child of the tip had the constraint, unless it has a chain of its own.
    others = {other.bone for other in armature_object.chain_ik.chains}
    ends = [tip, *(child for child in tip.children if child.name not in others)] if tip else []
    before = [
        _items(f"{end.path_from_id()}.constraints", 0, name)[1]
        for end in ends
        for name in names.difference(end.constraints.keys())
        if bones is None or end.name in bones
    ]
    settings = {old: new for old, new in _NAMES_IN_CONSTRAINTS.items() if old != "pole_angle"}
    after = f"chain_ik.chains[{index}]"
    return SettingMove(armature_object, before, after, settings, ("enabled",), stuck=())


def moving_to_constraint(
    armature_object: bpy.types.Object, index: int, bone: str, constraint: str
) -> SettingMove:
    """Return the changes that move keys of a chain's settings to those of a constraint.

    Raises:
        RigError: If they cannot be moved.
    """
    chains = armature_object.chain_ik.chains
    name = chains[index].name
    before = _items("chain_ik.chains", index, name)
    before = before if chains.find(name) == index else before[:1]
    _, bone_path = _items("pose.bones", 0, bone)
    _, after = _items(f"{bone_path}.constraints", 0, constraint)
    return SettingMove(armature_object, before, after, _NAMES_IN_CHAINS, stuck=("use_flip_bend",))


def _items(items: str, index: int, name: str) -> tuple[str, ...]:
    """Return the data paths to an item by index and by name."""
    return f"{items}[{index}]", f'{items}["{bpy.utils.escape_identifier(name)}"]'


def padlocked_bones(
    armature_object: bpy.types.Object, plan: ChainPlan, pose: Pose
) -> list[bpy.types.PoseBone]:
    """Return the bones of a chain with locked rotations, which chains obey and constraints do not.

    Raises:
        RigError: If any cannot be unlocked here.
    """
    paths = [bone_of_path(path) for path, _ in animated_paths(armature_object)]
    animated = {path[0] for path in paths if path and path[1].startswith("lock_rotation")}
    if found := next(filter(animated.__contains__, plan.names), None):
        raise RigError(
            "The rotation locks of bone '{bone}' are animated, and chains obey them: delete their"
            " keys or drivers first.",
            bone=found,
        )
    locked = plan.written[pose.locks[plan.written].any(axis=1)]
    bones = [armature_object.pose.bones[plan.skeleton.names[row]] for row in locked]
    # Blender 4.2 does not save the padlocks of overrides.
    is_override, lock = armature_object.override_library is not None, "lock_rotation"
    if is_override and not all(bone.is_property_overridable_library(lock) for bone in bones):
        raise RigError(
            "The rotation of bone '{bone}' is locked in the library, and chains cannot turn it:"
            " unlock it there first.",
            bone=bones[0].name,
        )
    return bones


def write_evaluated_pose(
    armature_object: bpy.types.Object, evaluated: bpy.types.Object, pose: Pose, plan: ChainPlan
) -> None:
    """Write the evaluated rotations of a chain's bones to the channels of the original."""
    wxyz = []
    for row in plan.written:
        bone = evaluated.pose.bones[plan.skeleton.names[row]]
        local = evaluated.convert_space(
            pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL"
        )
        wxyz.append(local.to_quaternion())
    modes = pose.modes[plan.written]
    channels = converted(np.array(wxyz, dtype=np.float64), np.full_like(modes, QUATERNION), modes)
    write_rotation(armature_object, plan.written, modes, channels)


def bones_in_words(count: int) -> Message:
    """Return a number of bones, in words."""
    return Message("1 bone") if count == 1 else Message("{value} bones", value=count)


def change_in_words(gaps: Array, length: float, frames: Sequence[float], unit: LengthUnit) -> str:
    """Return how joints of a chain have moved, in words; empty if they have not.

    ``gaps`` are the distances of each joint at each frame, shape (f, m + 1), and ``length`` is that
    of the chain. The first of the f frames is the present one.
    """
    farthest, tips = gaps.max(axis=1), gaps[:, -1]
    if np.max(farthest) <= UNMOVED_SHARE * length:
        return ""
    most, tip = (length_in_words(float(np.max(lengths)), unit) for lengths in (farthest, tips))
    bones = bones_in_words(gaps.shape[1] - 1)
    is_tip_same = np.max(tips) <= UNMOVED_SHARE * length
    text = (
        "({bones}): the tip is the same, but the bends differ: joints are up to {most} apart."
        if is_tip_same
        else "({bones}): the tip is {tip} off, joints are up to {most} apart."
    )
    change = Message(text, bones=bones, tip=tip, most=most)
    if len(frames) == 1:
        return change
    worst, worst_of_tip = (f"{frames[int(np.argmax(gap))]:g}" for gap in (farthest, tips))
    where = Message("The difference is largest at frame {frames}.", frames=worst)
    if not is_tip_same and worst_of_tip != worst:
        text = "The tip is farthest off at frame {tip}, a joint at frame {frames}."
        where = Message(text, tip=worst_of_tip, frames=worst)
    return joined(" ", (change, where))
