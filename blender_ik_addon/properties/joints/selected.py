"""Joints of several bones at once: copies of one joint, mirrored if necessary, and presets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import bpy

from ...rig.anatomy.bone_names import Side, opposite, read
from ...rig.anatomy.joint_presets import JointPreset, preset_joint
from ...rig.anatomy.symmetry import is_mirrored
from ...rig.planning.known_skeletons import skeleton_of
from ...rig.reading.chain_plan import plan_chain, straight_angle
from ...rig.reading.channels import quaternions_of, read_pose
from ...rig.reading.spec import JointSpec
from ..chains import ChainGroup, owner_of, set_values
from ..records import bend_spec, bones_of_chain, drivers_of
from .ends import joint_of
from .joint_definitions import RANGED_AXES, JointSettings, held_bone

_OF_ONE_BONE = frozenset(("rna_type", "name", "bone"))


@dataclass
class JointChanges:
    """The results of giving joints to bones, as names of bones.

    Attributes:
        changed: Bones that have the joint now.
        without_chain: Bones that no chain drives.
        without_next: Bones without a next bone in their chain, which the joint would hold.
        unlike: Bones whose axes are not the mirror image of those of the other side.
        between: Bones that bend about an axis between their X and Z axes.
        wider: Bones in ``changed`` whose ranges are wider than those of the preset.
    """

    changed: list[str] = field(default_factory=list)
    without_chain: list[str] = field(default_factory=list)
    without_next: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    between: list[str] = field(default_factory=list)
    wider: list[str] = field(default_factory=list)


def copy_joint(chain: ChainGroup, index: int, names: Iterable[str]) -> JointChanges:
    """Copy a joint of a chain to other bones, mirrored for bones of the other side.

    A copy belongs to the same chain if that drives the bone, or to the first chain that does.
    """
    owner, source = owner_of(chain), chain.joints[index]
    # Read these before any joint is added, which may move the others in memory.
    side, relative_to = read(source.bone).side, source.relative_to
    values = {is_across: values_of(source, is_across=is_across) for is_across in (False, True)}
    changes = JointChanges()
    for name in names:
        is_across = {side, read(name).side} == {Side.LEFT, Side.RIGHT}
        driving = _chain_of(owner, name, chain)
        if driving is None:
            changes.without_chain.append(name)
        elif is_across and not has_mirrored_axes(owner, name):
            changes.unlike.append(name)
        elif (joint := _joint_for(driving, name, relative_to)) is None:
            changes.without_next.append(name)
        else:
            set_values(joint, {"bone": name} | values[is_across])
            changes.changed.append(name)
    owner.update_tag()
    return changes


def set_presets(
    armature_object: bpy.types.Object,
    presets: Mapping[str, JointPreset],
    first: ChainGroup | None = None,
) -> JointChanges:
    """Give bones joints by anatomy, whose ranges contain the rest pose and the present pose.

    Presets are by the name of the bone. The chain ``first`` gets the joints of the bones that it
    drives. Joints of other bones belong to the first chain that drives them.
    """
    skeleton, pose = skeleton_of(armature_object), read_pose(armature_object)
    turns = quaternions_of(pose.rotation, pose.modes)
    changes = JointChanges()
    for name, preset in presets.items():
        chain = _chain_of(armature_object, name, first)
        if chain is None:
            changes.without_chain.append(name)
            continue
        spec = bend_spec(chain)
        plan, bone = plan_chain(skeleton, spec), skeleton.index[name]
        row = plan.written.tolist().index(bone)
        result = preset_joint(preset, plan, row, turns[bone], straight_angle(spec))
        if result is None:
            changes.between.append(name)
            continue
        joint, is_wider = result
        _set_ranges(joint_of(chain, name) or chain.joints.add(), joint)
        changes.changed.append(name)
        if is_wider:
            changes.wider.append(name)
    armature_object.update_tag()
    return changes


def has_mirrored_axes(armature_object: bpy.types.Object, bone: str) -> bool:
    """Tell whether a bone has a counterpart on the other side, with mirrored axes."""
    other = opposite(bone)
    return other in armature_object.pose.bones and is_mirrored(armature_object, bone, other)


def values_of(joint: JointSettings, *, is_across: bool) -> dict[str, Any]:
    """Return the settings of a joint without its bone, or those of its mirror image.

    The mirror image has the same turns about X; turns about Y and Z change their sign.
    """
    names = {setting.identifier for setting in joint.bl_rna.properties} - _OF_ONE_BONE
    values = {name: getattr(joint, name) for name in names}
    for axis in "yz" if is_across else "":
        low, high = values[f"min_{axis}"], values[f"max_{axis}"]
        values |= {f"min_{axis}": -high, f"max_{axis}": -low}
    return values


def _chain_of(
    armature_object: bpy.types.Object, bone: str, first: ChainGroup | None
) -> ChainGroup | None:
    """Return the chain for a bone's joint: ``first`` if that drives it, or the first that does."""
    driving = [chain for chain, _ in drivers_of(armature_object, [bone])]
    return first if first in driving else next(iter(driving), None)


def _joint_for(chain: ChainGroup, bone: str, relative_to: str) -> JointSettings | None:
    """Return the joint to copy into, a new one if necessary; None if it would hold no bone."""
    held = held_bone(bones_of_chain(chain), bone, relative_to)
    return (joint_of(chain, held) or chain.joints.add()) if held else None


def _set_ranges(settings: JointSettings, joint: JointSpec) -> None:
    """Set kind and ranges of a joint from a record; stiffness and slide stay as they are."""
    kind = "CONE" if joint.is_cone else joint.kind.name
    values: dict[str, object] = {"bone": joint.bone, "kind": kind, "relative_to": "REST"}
    if joint.is_cone:
        values["cone_angle"] = joint.high[0]
    for axis in RANGED_AXES[kind]:
        low, high = joint.low["xyz".index(axis)], joint.high["xyz".index(axis)]
        values[f"use_limit_{axis}"] = is_limited = math.isfinite(low) and math.isfinite(high)
        if is_limited:
            values |= {f"min_{axis}": low, f"max_{axis}": high}
    set_values(settings, values)
