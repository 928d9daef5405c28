"""Chains of one armature object that share bones or stand on each other, for the kept poses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import bpy

from tests.blender.kept.kept_kinds import Dress
from tests.blender.setups import rigs, scaled_rigs, tree_rigs
from tests.blender.setups.tree_rigs import Rig


@dataclass(frozen=True)
class Bond:
    """Several chains on one armature object.

    Attributes:
        make: Returns the rig by its name.
        settings: Of all chains.
        own: Of each, by name.
        dress: Done to the object and its tip bones first.
        axes: As of a kind.
        has_pole: Whether each chain has one.
        carried: Which bone carries the target of a chain, by the chain's name.
        far: As of a kind.
        only_tips: Why rotations need not be the same; empty where they have to be.
    """

    make: Callable[[str], Rig]
    settings: Mapping[str, object] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    dress: tuple[Dress, ...] = ()
    axes: Mapping[int, str] = field(default_factory=dict)
    has_pole: bool = False
    carried: Mapping[str, str] = field(default_factory=dict)
    far: float = 1.0
    only_tips: str = ""


def limited(ob: bpy.types.Object, _tips: Sequence[str]) -> None:
    """Give all bones ranges."""
    for bone in ob.pose.bones:
        for axis in "xyz":
            setattr(bone, f"use_ik_limit_{axis}", True)
            setattr(bone, f"ik_min_{axis}", -0.9)
            setattr(bone, f"ik_max_{axis}", 0.9)


def uneven(ob: bpy.types.Object, _tips: Sequence[str]) -> None:
    """Scale the first bone unevenly."""
    ob.pose.bones[0].scale = (1.2, 1.0, 0.8)


def unturned(ob: bpy.types.Object, tips: Sequence[str]) -> None:
    """Have the first tip inherit no rotation."""
    scaled_rigs.set_bones(ob, tips[:1], use_inherit_rotation=False)


def mirrored(ob: bpy.types.Object, _tips: Sequence[str]) -> None:
    """Mirror the object."""
    ob.scale = (1.0, -1.0, 1.0)


def make_levels(name: str) -> Rig:
    """Return a spine of three bones and an arm of two that hangs on it without sharing any."""
    ob = rigs.make_armature(name)
    rigs.add_bones(ob, rigs.zigzag(3, seed=7, length=0.4), prefix="Spine")
    points = ((0.2, 0.0, 1.2), (0.5, -0.1, 1.1), (0.8, 0.0, 1.0))
    rigs.add_bones(ob, points, prefix="Arm", parent="Spine.2")
    return Rig(ob, {"Spine": "Spine.2", "Arm": "Arm.1"}, 1.2)


ARM_ALONE = {"Spine": {"chain_count": 3}, "Arm": {"chain_count": 2, "solver": "TWO_BONE"}}

BONDS: dict[str, Bond] = {
    "tree": Bond(tree_rigs.make_y),
    "tree of FABRIK": Bond(tree_rigs.make_y, {"solver": "FABRIK"}),
    "tree, hand": Bond(tree_rigs.make_hand),
    "tree, body": Bond(tree_rigs.make_body),
    "tree with limits": Bond(tree_rigs.make_y, dress=(limited,)),
    "tree of FABRIK with limits": Bond(tree_rigs.make_y, {"solver": "FABRIK"}, dress=(limited,)),
    "tree with poles": Bond(tree_rigs.make_y, has_pole=True),
    "tree with poles and limits": Bond(tree_rigs.make_y, dress=(limited,), has_pole=True),
    "tree with rotation": Bond(tree_rigs.make_body, {"use_rotation": True}),
    "tree with influence": Bond(tree_rigs.make_y, {"influence": 0.6}),
    "tree, CURRENT": Bond(tree_rigs.make_y, {"start_from": "CURRENT"}),
    "tree out of reach": Bond(tree_rigs.make_y, own={"Left": {"weight": 0.3}}, far=1.4),
    "tree, uneven": Bond(tree_rigs.make_y, dress=(uneven,)),
    "tree, uneven, with limits": Bond(tree_rigs.make_y, dress=(uneven, limited)),
    "tree, uneven, with poles": Bond(tree_rigs.make_y, dress=(uneven,), has_pole=True),
    "tree, one tip inherits no rotation": Bond(
        tree_rigs.make_y,
        dress=(unturned,),
        only_tips="Was solved as if it did, again and again, and now as it is: another pose that"
        " reaches.",
    ),
    "tree, mirrored": Bond(tree_rigs.make_y, dress=(mirrored,)),
    "levels": Bond(make_levels, own=ARM_ALONE),
    "levels with poles": Bond(make_levels, own=ARM_ALONE, has_pole=True),
    "levels, target carried along": Bond(make_levels, own=ARM_ALONE, carried={"Arm": "Spine.2"}),
    # Carried along: the limb is never straight, where its roll would tell nothing.
    "levels, uneven": Bond(make_levels, own=ARM_ALONE, dress=(uneven,), carried={"Arm": "Spine.2"}),
}
