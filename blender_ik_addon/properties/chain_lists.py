"""Changes of the lists of chains and joints; all checks come before the first change."""

from __future__ import annotations

import bpy

from ..core import Solver
from ..rig.controls.foot_roll import control_above, is_mechanism, mechanism_of, parent_of
from ..rig.keying.library_changes import record_chains
from ..rig.keying.renumbering import Renumbering, indices_without
from ..rig.reading.bone_joints import has_joint
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import BONE_SETTINGS, Anchor, ChainSpec
from ..rig.tools.overrides import has_linked
from ..rig.trees.shared_bones import TREE_SOLVERS
from .chains import ANCHORS, ChainGroup, chain_key, chains_of, copy_settings, owner_of
from .choices import NEW_CHAIN_SETTINGS
from .controls.hierarchy import is_control
from .joints.joint_definitions import copy_bone_settings, slides_of
from .records import anchors_of, bones_of_chain, bones_of_chains, existing_controls
from .sharing import shares_bones
from .stored import release


def add_chain(
    armature_object: bpy.types.Object,
    spec: ChainSpec,
    bone_count: int,
    new: bpy.types.AddonPreferences | None = None,
    solver: str = "",
) -> ChainGroup:
    """Add a chain to an armature object, make it active, and return its settings.

    The pose of its bones is not stored yet. The record has name, bones, rotation, target, pole, and
    the settings of the bend side. A number is added to the name if another chain has it.
    ``bone_count`` bones bend. ``new`` are the preferences for new chains; None if the caller copies
    the settings. Without ``solver`` they choose the solver.
    """
    group = armature_object.chain_ik
    settings: ChainGroup = group.chains.add()
    group.active_index = len(group.chains) - 1
    settings.name = spec.name
    # The tip comes last: from then on the chain has bones.
    names = ("pole_mode", "pole_lean", "pole_angle", *reversed(BONE_SETTINGS))
    copy_settings(spec, settings, names)
    if new is not None and not solver:
        shares = shares_bones(settings)
        solver = new.solver_of_two if bone_count == 2 and not shares else new.solver
        if shares and Solver(solver) not in TREE_SOLVERS:
            solver = Solver.NEWTON.value
    settings.solver = solver
    if new is not None:
        copy_settings(new, settings, NEW_CHAIN_SETTINGS)
    for anchor, (name, bone) in zip((spec.target, spec.pole), ANCHORS, strict=True):
        if anchor is not None:
            setattr(settings, name, anchor.object)
            setattr(settings, bone, anchor.bone)
    return settings


def activate_chain_of(armature_object: bpy.types.Object, clicked: Anchor) -> None:
    """Activate the first chain that a bone or object belongs to, unless such a chain is active.

    A control belongs to the chains that follow it; any other bone to the chains that drive it.
    """
    chains = chains_of(armature_object)
    indices = [i for i, chain in enumerate(chains) if clicked in existing_controls(chain)]
    if not indices and clicked.object == armature_object:
        driven = bones_of_chains(armature_object)
        indices = [i for i, bones in enumerate(driven) if clicked.bone in bones]
    if indices and armature_object.chain_ik.active_index not in indices:
        armature_object.chain_ik.active_index = indices[0]


def remove_chain(settings: ChainGroup, *, keep_pose: bool) -> list[str]:
    """Remove a chain, and return the names of data with drivers that read it.

    Its settings are invalid afterwards. Its bones get their stored pose, or stay where they are.
    Other chains keep their keys and drivers.

    Raises:
        RigError: If it cannot be removed, with what to do first; nothing is changed then.
    """
    owner = owner_of(settings)
    _, index = chain_key(settings)
    chains = owner.chain_ik.chains
    if has_linked(owner, chains, [index]):
        raise RigError(
            "Chain '{name}' comes from a library and cannot be removed here: mute it instead.",
            name=chains[index].name,
        )
    places = indices_without(len(chains), index)
    renumbering = Renumbering(owner, places)
    settings = chains[index]
    if not keep_pose:
        release(settings)
    settings.target = settings.pole_target = None
    chains.remove(index)
    owner.chain_ik.active_index = _next_active(owner.chain_ik.active_index, places)
    owner.update_tag()
    # Auto Save calls no handler.
    record_chains([owner])
    return renumbering.carry_out()


def _next_active(active: int, places: list[int | None]) -> int:
    """Return the new index of the active item, or of the next or last one if it was removed."""
    remaining = [place for place in places[max(active, 0) :] if place is not None]
    return remaining[0] if remaining else max(0, len(places) - 2)


def remove_joint(settings: ChainGroup) -> list[str]:
    """Remove the active joint of a chain, and return the names of data with drivers that read it.

    Other joints keep the drivers that read them.

    Raises:
        RigError: If it cannot be removed, with what to do instead; nothing is changed then.
    """
    owner, joints = owner_of(settings), settings.joints
    _, chain = chain_key(settings)
    index = settings.active_joint_index
    if has_linked(owner, joints, [index]):
        raise RigError(
            "The joint of bone '{bone}' comes from a library and cannot be removed here: change it"
            " instead.",
            bone=joints[index].bone,
        )
    places = indices_without(len(joints), index)
    renumbering = Renumbering(owner, places, chain)
    joints.remove(index)
    settings.active_joint_index = _next_active(index, places)
    owner.update_tag()
    return renumbering.carry_out()


def copy_joints(settings: ChainGroup) -> list[str]:
    """Replace the joints of a chain by the IK settings of its bones.

    Return the names of data with drivers that read a joint that no longer exists.

    Raises:
        RigError: If they cannot be replaced, with what to do instead; nothing is changed then.
    """
    owner, joints = owner_of(settings), settings.joints
    _, chain = chain_key(settings)
    names = bones_of_chain(settings)
    slides = slides_of(settings, names)
    bones = [owner.pose.bones[name] for name in names]
    jointed = [bone.name for bone in bones if has_joint(bone) or bone.name in slides]
    if not jointed:
        raise RigError("No bone of this chain has IK limits, locks or stiffness to copy.")
    if has_linked(owner, joints, range(len(joints))):
        raise RigError(
            "Joints of this chain come from a library and cannot be replaced here: change them"
            " one by one instead."
        )
    # The new index of each joint. A second joint of a bone is removed.
    places = {name: i for i, name in enumerate(jointed)}
    renumbering = Renumbering(owner, [places.pop(joint.bone, None) for joint in joints], chain)
    joints.clear()
    for name in jointed:
        copy_bone_settings(joints.add(), owner.pose.bones[name], slides.get(name))
    settings.active_joint_index = 0
    owner.update_tag()
    return renumbering.carry_out()


def exclusive_controls(settings: ChainGroup) -> list[Anchor]:
    """Return the controls made for a chain that no other chain follows, with their mechanisms.

    Objects that share an armature share its bones.
    """
    shared = {
        _identity(anchor)
        for owner in bpy.data.objects
        if owner.type == "ARMATURE"
        for chain in chains_of(owner)
        if chain != settings
        for anchor in existing_controls(chain)
    }
    anchors = [anchor for anchor in existing_controls(settings) if _identity(anchor) not in shared]
    # If the control of a mechanism was deleted, the mechanism's first bone stands for it.
    # Target and pole may be the same.
    controls = [item for item in dict.fromkeys(anchors) if is_control(item) or is_mechanism(item)]
    mechanisms = [bone for anchor in anchors_of(settings) for bone in mechanism_of(anchor)]
    return [
        *(control for control in controls if control not in mechanisms),
        *(bone for bone in mechanisms if control_above(bone) in controls),
    ]


def _identity(anchor: Anchor) -> tuple[bpy.types.ID | None, str]:
    """Return what deleting a control deletes: a bone of an armature, or an object."""
    return (anchor.object.data if anchor.bone else anchor.object), anchor.bone


def toes_of(settings: ChainGroup) -> list[ChainGroup]:
    """Return the chains of a foot's toes: their controls hang on the mechanism of its chain."""
    mechanism = [bone for anchor in anchors_of(settings) for bone in mechanism_of(anchor)]
    return [
        toe
        for toe in chains_of(owner_of(settings))
        if toe != settings
        and any(parent_of(moved) in mechanism for moved in existing_controls(toe))
    ]
