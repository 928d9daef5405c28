"""Feet that roll: their bones and properties, told from outside."""

from __future__ import annotations

import bpy

from blender_ik_addon.rig.controls.foot_roll import BANK, MECHANISM, ROLL
from tests.blender.edits.random_checks import BONE, drivers_of, paths
from tests.blender.edits.random_scene import armatures, driven

CHANNELS = (ROLL, BANK)

Mechanisms = dict[tuple[str, str], str]
"""What may not change, by armature object and bone, or by path of a bone or a driver."""


def feet_of(ob: bpy.types.Object | None) -> list[bpy.types.PoseBone]:
    """Return the controls of feet that roll."""
    bones = () if ob is None or ob.pose is None else ob.pose.bones
    return [bone for bone in bones if ROLL in bone and BANK in bone]


def bones_of_feet(ob: bpy.types.Object) -> list[str]:
    """Return the bones without which a foot no longer rolls as it did: mechanisms and toes."""
    return [
        bone.name for bone in ob.data.bones if MECHANISM in bone.collections or "toe" in bone.name
    ]


def mechanisms() -> Mechanisms:
    """Return how feet are rolled, how mechanisms stand, and which drivers turn nothing.

    What is keyed stands as its keys say, which it does anew whenever Blender plays them: of that
    only the keys are told. How a bone stands is not told while a chain drives it or has it as its
    pole, so that it is nothing new to compare once that chain is gone.
    """
    found: Mechanisms = {}
    chains = [chain for owner in armatures() for chain in owner.chain_ik.chains]
    for ob in armatures():
        poles = {chain.pole_subtarget for chain in chains if chain.pole_target == ob}
        written = driven(ob) | poles
        keyed = {path for path in paths(ob) if not path.endswith("rotation_euler")}
        for bone in ob.pose.bones:
            own = bone.path_from_id()
            rolls = [float(bone.get(name, 0.0)) for name in CHANNELS]
            told = [path for path in keyed if path.startswith(f'{own}["')]
            found[ob.name_full, bone.name] = str(sorted(told) or rolls)  # nan is not itself
            if _stands_between(ob.data.bones.get(bone.name)) and bone.name not in written:
                told = [path for path in keyed if path.startswith(f"{own}.")]
                told += [tie.name for tie in bone.constraints]
                found[ob.name_full, own] = str(sorted(told) or [*bone.location, *bone.scale])
        for curve in drivers_of(ob):
            match = BONE.match(curve.data_path)
            if match and bpy.utils.unescape_identifier(match[1]) not in ob.pose.bones:
                found[ob.name_full, curve.data_path] = "without a bone"
    return found


def _stands_between(bone: bpy.types.Bone | None) -> bool:
    """Tell whether a bone is one of a mechanism that has a control.

    Of the armature: poses of objects that no scene has name bones that undo has freed.
    """
    above = bone
    while above is not None and MECHANISM in above.collections:
        above = above.parent
    return above is not None and above != bone


def touched(before: Mechanisms) -> list[str]:
    """Return what of the feet is another one now, or new and turns nothing."""
    return [
        f"{owner}, {name}: {before.get((owner, name))} became {now}"
        for (owner, name), now in mechanisms().items()
        if before.get((owner, name), now if now != "without a bone" else None) != now
    ]
