"""Joints of several bones at once: copies of one, mirrored on the other side, and presets."""

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
from ...rig.reading.chain_plan import planned, straight_angle
from ...rig.reading.channels import quaternions_of, read_pose
from ...rig.reading.spec import OwnJoint
from ..chains import ChainGroup, owner_of, set_values
from ..records import bend_spec, bones_of_chain, drivers_of
from .ends import joint_of
from .own import RANGED_AXES, JointSettings, held_bone

_OF_ONE_BONE = frozenset(("rna_type", "name", "bone"))


@dataclass
class JointChanges:
    """What has become of bones that were to have joints, by their names.

    Attributes:
        changed: Those that have them now.
        without_chain: Those that no chain drives.
        without_next: Those that have no next bone in their chain, which the joint would hold.
        unlike: Those whose axes are not the mirror image of the other side's.
        between: Those that bend about an axis between their X and Z axes.
        wider: Those of the changed ones whose ranges are wider than the preset's.
    """

    changed: list[str] = field(default_factory=list)
    without_chain: list[str] = field(default_factory=list)
    without_next: list[str] = field(default_factory=list)
    unlike: list[str] = field(default_factory=list)
    between: list[str] = field(default_factory=list)
    wider: list[str] = field(default_factory=list)


def copy_joint(chain: ChainGroup, index: int, names: Iterable[str]) -> JointChanges:
    """Give other bones copies of a joint of a chain; those of the other side mirror it.

    Each copy is in the chain itself, where that drives the bone, or else in the first that does.
    """
    owner, source = owner_of(chain), chain.joints[index]
    # Read before any joint is added, which may move the others in memory.
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
    """Give bones joints by anatomy, which hold their rest and their present pose.

    Args:
        armature_object: The original object.
        presets: By the names of bones.
        first: The chain that has the joints of the bones that it drives; of others, and without
            it, that is the first that does.
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
        plan, bone = planned(skeleton, spec), skeleton.index[name]
        row = plan.written.tolist().index(bone)
        found = preset_joint(preset, plan, row, turns[bone], straight_angle(spec))
        if found is None:
            changes.between.append(name)
            continue
        joint, is_wider = found
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
    """Return the settings of a joint but for its bone, or those of its mirror image.

    Mirrored, turns about X stay as they are; those about Y and Z change their sense.
    """
    names = {each.identifier for each in joint.bl_rna.properties} - _OF_ONE_BONE
    values = {name: getattr(joint, name) for name in names}
    for axis in "yz" if is_across else "":
        low, high = values[f"min_{axis}"], values[f"max_{axis}"]
        values |= {f"min_{axis}": -high, f"max_{axis}": -low}
    return values


def _chain_of(
    armature_object: bpy.types.Object, bone: str, first: ChainGroup | None
) -> ChainGroup | None:
    """Return the chain that a bone's joint belongs in: the first choice, or else the first."""
    driving = [chain for chain, _ in drivers_of(armature_object, [bone])]
    return first if first in driving else next(iter(driving), None)


def _joint_for(chain: ChainGroup, bone: str, relative_to: str) -> JointSettings | None:
    """Return the joint that a copy goes into, a new one if need be; None if it holds no bone."""
    held = held_bone(bones_of_chain(chain), bone, relative_to)
    return (joint_of(chain, held) or chain.joints.add()) if held else None


def _set_ranges(settings: JointSettings, joint: OwnJoint) -> None:
    """Make a joint have the kind and ranges of a record; stiffness and slide stay as they are."""
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
