"""The chain of the other side: settings, joints and controls mirrored at the armature's middle."""

from __future__ import annotations

import bpy

from ..rig.anatomy.bone_names import opposite
from ..rig.reading.refusals import RigError
from .chains import ChainGroup, copy_settings, owner_of, set_values
from .choices import CHAIN_SPECIFIC_SETTINGS
from .joints.selected import has_mirrored_axes, values_of
from .records import bones_of_chain, bones_of_chains, drivers_of

# Settings that a mirrored chain does not take over, and the group ``force``, copied by itself.
NOT_COPIED = CHAIN_SPECIFIC_SETTINGS | {"force"}


def check_opposite(settings: ChainGroup) -> None:
    """Raise a ``RigError`` unless a chain can have a counterpart on the other side."""
    owner = owner_of(settings)
    bones = bones_of_chain(settings)
    if not bones:
        raise RigError("This chain has no bones: choose its tip bone first.")
    others = [opposite(name) for name in bones]
    for name, other in zip(bones, others, strict=True):
        if name == other:
            raise RigError(
                "Bone '{name}' has no side in its name: end it with .L or .R, or press + for the"
                " other side.",
                name=name,
            )
        if other not in owner.pose.bones:
            raise RigError(
                "There is no bone '{other}' on the other side of '{name}'.", other=other, name=name
            )
    counterparts = [list(map(opposite, names)) for names in bones_of_chains(owner)]
    for chain, _ in drivers_of(owner, others):
        # Chains may share bones, so the counterpart of another chain may be there.
        if (driven := bones_of_chain(chain)) == others or driven not in counterparts:
            raise RigError(
                "Chain '{name}' drives the other side already: remove it first.", name=chain.name
            )


def copy_mirrored(source: ChainGroup, copy: ChainGroup) -> list[str]:
    """Copy the settings of a chain, mirrored, to a chain of the other side.

    Return the names of bones whose joints were left out, as their axes are not mirrored.
    """
    _copy(source, copy, NOT_COPIED)
    copy.pole_angle = -source.pole_angle
    if source.solver == "FORCE":
        _copy(source.force, copy.force, frozenset(("rna_type",)))
    left_out = []
    owner = owner_of(source)
    for joint in source.joints:
        if has_mirrored_axes(owner, joint.bone):
            values = values_of(joint, is_across=True)
            set_values(copy.joints.add(), {"bone": opposite(joint.bone)} | values)
        else:
            left_out.append(joint.bone)
    return left_out


def _copy(
    source: bpy.types.PropertyGroup, copy: bpy.types.PropertyGroup, excluded: frozenset[str]
) -> None:
    """Copy the settings that are set. Others stay unset, so that Blender need not copy them."""
    names = [name for name in source.bl_rna.properties.keys() if name not in excluded]
    copy_settings(source, copy, filter(source.is_property_set, names))
