"""Feet that roll: their bones and properties, as read from Blender."""

from __future__ import annotations

import bpy

from blender_ik_addon.rig.controls.foot_roll import BANK, MECHANISM, ROLL
from tests.blender.edits.random_checks import BONE, drivers_of, paths
from tests.blender.edits.random_scene import armatures, driven_bones

CHANNELS = (ROLL, BANK)

Mechanisms = dict[tuple[str, str], str]
"""Values that may not change, by armature object and bone, or by path of a bone or a driver."""


def feet_of(ob: bpy.types.Object | None) -> list[bpy.types.PoseBone]:
    """Return the controls of feet that roll."""
    bones = () if ob is None or ob.pose is None else ob.pose.bones
    return [bone for bone in bones if ROLL in bone and BANK in bone]


def bones_of_feet(ob: bpy.types.Object) -> list[str]:
    """Return the bones that a foot needs to roll: mechanisms and toes."""
    return [
        bone.name for bone in ob.data.bones if MECHANISM in bone.collections or "toe" in bone.name
    ]


def mechanisms() -> Mechanisms:
    """Return how feet are rolled, the poses of mechanisms, and the drivers without a bone.

    Of keyed channels only the paths are returned, as Blender poses these whenever it plays their
    keys. The pose of a bone is left out while a chain drives it or has it as its pole, so that
    there is no new pose to compare once that chain is gone.
    """
    state: Mechanisms = {}
    chains = [chain for owner in armatures() for chain in owner.chain_ik.chains]
    for ob in armatures():
        poles = {chain.pole_subtarget for chain in chains if chain.pole_target == ob}
        written = driven_bones(ob) | poles
        keyed = {path for path in paths(ob) if not path.endswith("rotation_euler")}
        for bone in ob.pose.bones:
            prefix = bone.path_from_id()
            rolls = [float(bone.get(name, 0.0)) for name in CHANNELS]
            animated = [path for path in keyed if path.startswith(f'{prefix}["')]
            state[ob.name_full, bone.name] = str(sorted(animated) or rolls)  # nan is not itself
            if _is_controlled_mechanism(ob.data.bones.get(bone.name)) and bone.name not in written:
                animated = [path for path in keyed if path.startswith(f"{prefix}.")]
                animated += [tie.name for tie in bone.constraints]
                state[ob.name_full, prefix] = str(sorted(animated) or [*bone.location, *bone.scale])
        for curve in drivers_of(ob):
            match = BONE.match(curve.data_path)
            if match and bpy.utils.unescape_identifier(match[1]) not in ob.pose.bones:
                state[ob.name_full, curve.data_path] = "without a bone"
    return state


def _is_controlled_mechanism(bone: bpy.types.Bone | None) -> bool:
    """Return whether a bone is part of a mechanism that has a control.

    It is a bone of the armature: after undo, poses of objects in no scene refer to freed bones.
    """
    above = bone
    while above is not None and MECHANISM in above.collections:
        above = above.parent
    return above is not None and above != bone


def changed_mechanisms(before: Mechanisms) -> list[str]:
    """Return what has changed of the feet, and new drivers without a bone."""
    return [
        f"{owner}, {name}: {before.get((owner, name))} became {now}"
        for (owner, name), now in mechanisms().items()
        if before.get((owner, name), now if now != "without a bone" else None) != now
    ]
