"""What is done to the lists of chains and joints: all is decided before the first change."""

from __future__ import annotations

from typing import cast

import bpy

from ..core import Solver
from ..rig.controls.foot_roll import control_above, hangs_on, is_mechanism, mechanism_of
from ..rig.keying.renumbering import Renumbering, places_without
from ..rig.reading.bone_joints import has_joint
from ..rig.reading.refusals import RigError
from ..rig.reading.spec import OF_BONES, Anchor, ChainSpec
from ..rig.tools.overrides import has_linked
from ..rig.trees.shared_bones import SOLVERS as SOLVERS_OF_TREES
from .chains import ANCHORS, ChainGroup, ObjectGroup, chain_key, chains_of, copy_settings, owner_of
from .choices import OF_NEW_CHAINS
from .controls.hierarchy import is_control
from .joints.own import slides_of, take_over
from .records import anchors_of, bones_of_chain, bones_of_chains, moved_by_hand
from .sharing import shares_bones
from .stored import release


def add_chain(
    armature_object: bpy.types.Object,
    wanted: ChainSpec,
    bone_count: int,
    new: bpy.types.AddonPreferences | None = None,
    solver: str = "",
) -> ChainGroup:
    """Add a chain to an armature object, the active one from now on, and return its settings.

    Its stored pose is still to be taken.

    Args:
        armature_object: The original object.
        wanted: Name, bones, rotation, target, pole and how its side is told.
        bone_count: How many bones bend.
        new: What new chains are to have; None where the settings of another one are copied.
        solver: Identifier of the solver; empty for the one that new chains are to have.
    """
    holder = cast("ObjectGroup", armature_object.chain_ik)
    settings: ChainGroup = holder.chains.add()
    holder.active_index = len(holder.chains) - 1
    settings.name = wanted.name
    # The tip comes last: from then on there are bones.
    names = ("pole_mode", "pole_lean", "pole_angle", *reversed(OF_BONES))
    copy_settings(wanted, settings, names)
    if new is not None and not solver:
        shares = shares_bones(settings)
        solver = new.solver_of_two if bone_count == 2 and not shares else new.solver
        if shares and Solver(solver) not in SOLVERS_OF_TREES:
            solver = Solver.NEWTON.value
    settings.solver = solver
    if new is not None:
        copy_settings(new, settings, OF_NEW_CHAINS)
    for anchor, (name, bone) in zip((wanted.target, wanted.pole), ANCHORS, strict=True):
        if anchor is not None:
            setattr(settings, name, anchor.object)
            setattr(settings, bone, anchor.bone)
    return settings


def activate_chain_of(armature_object: bpy.types.Object, clicked: Anchor) -> None:
    """Make a chain the active one that something belongs to, unless the active one is such a chain.

    A control belongs to the chain that follows it, before the chain that poses it.

    Args:
        armature_object: The original object whose chains are asked.
        clicked: A bone, of this armature or not, or an object.
    """
    chains = chains_of(armature_object)
    found = [i for i, each in enumerate(chains) if clicked in moved_by_hand(each)]
    if not found and clicked.object == armature_object:
        driven = bones_of_chains(armature_object)
        found = [i for i, bones in enumerate(driven) if clicked.bone in bones]
    holder = cast("ObjectGroup", armature_object.chain_ik)
    if found and holder.active_index not in found:
        holder.active_index = found[0]


def remove_chain(settings: ChainGroup, *, keep_pose: bool) -> list[str]:
    """Remove a chain; keys and drivers of the others stay with them.

    Args:
        settings: Of the chain; void afterwards.
        keep_pose: Whether its bones stay where they are, instead of getting their stored pose.

    Returns:
        The names of data with drivers that read the chain.

    Raises:
        RigError: With what to do first; nothing is changed then.
    """
    owner = owner_of(settings)
    _, index = chain_key(settings)
    chains = owner.chain_ik.chains
    if has_linked(owner, chains, [index]):
        raise RigError(
            f"Chain '{chains[index].name}' comes from a library and cannot be removed here: mute it"
            " instead."
        )
    places = places_without(len(chains), index)
    moved = Renumbering(owner, places)
    settings = chains[index]
    if not keep_pose:
        release(settings)
    settings.target = settings.pole_target = None
    chains.remove(index)
    owner.chain_ik.active_index = _next_active(owner.chain_ik.active_index, places)
    owner.update_tag()
    return moved.carry_out()


def _next_active(active: int, places: list[int | None]) -> int:
    """Return the place of the active item, of the next one if it has gone, or else of the last."""
    left = [place for place in places[max(active, 0) :] if place is not None]
    return left[0] if left else max(0, len(places) - 2)


def remove_joint(settings: ChainGroup) -> list[str]:
    """Remove the active joint of a chain; drivers that read the others stay with them.

    Returns:
        The names of data with drivers that read the joint.

    Raises:
        RigError: With what to do instead; nothing is changed then.
    """
    owner, joints = owner_of(settings), settings.joints
    _, chain = chain_key(settings)
    index = settings.active_joint_index
    if has_linked(owner, joints, [index]):
        raise RigError(
            f"The joint of bone '{joints[index].bone}' comes from a library and cannot be removed"
            " here: change it instead."
        )
    places = places_without(len(joints), index)
    moved = Renumbering(owner, places, chain)
    joints.remove(index)
    settings.active_joint_index = _next_active(index, places)
    owner.update_tag()
    return moved.carry_out()


def copy_joints(settings: ChainGroup) -> list[str]:
    """Replace the joints of a chain by what its bones' own settings for IK say.

    Returns:
        The names of data with drivers that read a joint of a bone that has none any more.

    Raises:
        RigError: With what to do instead; nothing is changed then.
    """
    owner, joints = owner_of(settings), settings.joints
    _, chain = chain_key(settings)
    names = bones_of_chain(settings)
    slides = slides_of(settings, names)
    bones = [owner.pose.bones[name] for name in names]
    held = [bone.name for bone in bones if has_joint(bone) or bone.name in slides]
    if not held:
        raise RigError("No bone of this chain has IK limits, locks or stiffness to copy.")
    if has_linked(owner, joints, range(len(joints))):
        raise RigError(
            "Joints of this chain come from a library and cannot be replaced here: change them"
            " one by one instead."
        )
    # The place of each among those to come; a second one of a bone goes.
    places = {name: i for i, name in enumerate(held)}
    moved = Renumbering(owner, [places.pop(each.bone, None) for each in joints], chain)
    joints.clear()
    for name in held:
        take_over(joints.add(), owner.pose.bones[name], slides.get(name))
    settings.active_joint_index = 0
    owner.update_tag()
    return moved.carry_out()


def own_controls(settings: ChainGroup) -> list[Anchor]:
    """Return the controls that were made for a chain and that no other follows, with mechanisms.

    Objects that share an armature share its bones.
    """
    shared = {
        _identity(anchor)
        for owner in bpy.data.objects
        if owner.type == "ARMATURE"
        for chain in chains_of(owner)
        if chain != settings
        for anchor in moved_by_hand(chain)
    }
    moved = [each for each in moved_by_hand(settings) if _identity(each) not in shared]
    # A mechanism whose control somebody has deleted is moved by its own first bone.
    # Target and pole may be one.
    controls = [each for each in dict.fromkeys(moved) if is_control(each) or is_mechanism(each)]
    mechanisms = [bone for each in anchors_of(settings) for bone in mechanism_of(each)]
    return [
        *(each for each in controls if each not in mechanisms),
        *(each for each in mechanisms if control_above(each) in controls),
    ]


def _identity(anchor: Anchor) -> tuple[bpy.types.ID | None, str]:
    """Return what is deleted with a control: a bone of an armature, or an object."""
    return (anchor.object.data if anchor.bone else anchor.object), anchor.bone


def toes_of(settings: ChainGroup) -> list[ChainGroup]:
    """Return the chains that follow what hangs on the mechanism of a chain: toes of its foot."""
    mechanism = [bone for each in anchors_of(settings) for bone in mechanism_of(each)]
    return [
        each
        for each in chains_of(owner_of(settings))
        if each != settings and any(hangs_on(moved, mechanism) for moved in moved_by_hand(each))
    ]
