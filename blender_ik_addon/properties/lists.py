"""What operators do to the lists of chains and joints: all is decided before the first change."""

from __future__ import annotations

from ..rig.keying.renumbering import Renumbering, places_without
from ..rig.reading.refusals import RigError
from ..rig.tools.overrides import has_linked
from .chains import ChainGroup, chain_key, owner_of
from .joints import has_joint, slides_of, take_over
from .records import bones_of_chain
from .stored import release


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
    renumbering = Renumbering(owner, places)
    settings = chains[index]
    if not keep_pose:
        release(settings)
    settings.target = settings.pole_target = None
    chains.remove(index)
    owner.chain_ik.active_index = _next_active(owner.chain_ik.active_index, places)
    owner.update_tag()
    return renumbering.carry_out()


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
    renumbering = Renumbering(owner, places, chain)
    joints.remove(index)
    settings.active_joint_index = _next_active(index, places)
    owner.update_tag()
    return renumbering.carry_out()


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
    renumbering = Renumbering(owner, _places_of_bones([each.bone for each in joints], held), chain)
    joints.clear()
    for name in held:
        take_over(joints.add(), owner.pose.bones[name], slides.get(name))
    settings.active_joint_index = 0
    owner.update_tag()
    return renumbering.carry_out()


def _places_of_bones(bones: list[str], wanted: list[str]) -> list[int | None]:
    """Return the place of each bone among those wanted; none for one that was there before."""
    places = {name: i for i, name in enumerate(wanted)}
    return [places.pop(bone, None) for bone in bones]
