"""What chains say that share bones, or follow each other, and cannot; each with its reason."""

from __future__ import annotations

import bpy

from tests.blender.setups import rigs, tree_rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.words.said_of_joints import SLIDES
from tests.blender.words.sentences import Said, Step


def left(rig: tree_rigs.Rig) -> bpy.types.PropertyGroup:
    return rig.chain("Left")


def right(rig: tree_rigs.Rig) -> bpy.types.PropertyGroup:
    return rig.chain("Right")


def make_tree() -> tree_rigs.Rig:
    rig = tree_rigs.make_y()
    rig.follow()
    rig.place(1)
    rigs.updated()
    return rig


def make_arms() -> tree_rigs.Rig:
    """Return two arms that share no bone, each with a chain."""
    ob = rigs.make_armature("Arms")
    rigs.add_bones(ob, tree_rigs.LEFT, prefix="Left")
    rigs.add_bones(ob, tree_rigs.RIGHT, prefix="Right")
    rig = tree_rigs.Rig(ob, {"Left": "Left.1", "Right": "Right.1"}, 0.9)
    rig.follow()
    return rig


def set_tree(name: str, **settings: object) -> Step:
    def apply(rig: tree_rigs.Rig) -> None:
        for setting, value in settings.items():
            setattr(rig.chain(name), setting, value)

    return apply


def set_tree_bone(bone: str, name: str, value: object) -> Step:
    def apply(rig: tree_rigs.Rig) -> None:
        setattr(rig.ob.pose.bones[bone], name, value)

    return apply


def follow_bone(name: str, bone: str) -> Step:
    def apply(rig: tree_rigs.Rig) -> None:
        rig.chain(name).target, rig.chain(name).subtarget = rig.ob, bone

    return apply


def follow_own_target(name: str) -> Step:
    def apply(rig: tree_rigs.Rig) -> None:
        rig.chain(name).target, rig.chain(name).subtarget = rig.target(name), ""

    return apply


def slide_right(rig: tree_rigs.Rig) -> None:
    give(rig.chain("Right"), "Right.0", "BALL", **SLIDES)
    rig.ob.update_tag()


def no_weights(rig: tree_rigs.Rig) -> None:
    rig.chain("Left").weight = rig.chain("Right").weight = 0.0


def shared(cure: str) -> str:
    return (
        "Bone 'Trunk.0' already belongs to chain 'Left', and they cannot be solved together:"
        f" {cure}, shorten one of the two or mute it."
    )


TREES = {
    "another solver in a tree": Said(
        shared("choose Newton or FABRIK as the solver for this chain"),
        set_tree("Right", solver="CCD"),
        set_tree("Right", solver="FABRIK"),
        makes=make_tree,
        who=right,
    ),
    "another solver of the first chain of a tree": Said(
        shared("choose Newton or FABRIK as the solver for 'Left'"),
        set_tree("Left", solver="FORCE"),
        set_tree("Left", solver="NEWTON"),
        makes=make_tree,
        who=right,
    ),
    "stretch in a tree": Said(
        shared("switch Stretch off for this chain"),
        set_tree("Right", use_stretch=True),
        set_tree("Right", use_stretch=False),
        makes=make_tree,
        who=right,
    ),
    "slides in a tree": Said(
        shared("switch the slides of joints off for this chain"),
        slide_right,
        set_tree("Right", use_limits=False),
        makes=make_tree,
        who=right,
    ),
    "a target within its own tree": Said(
        "This chain follows bones of chain 'Right' and shares others with it:"
        " choose a target and a pole that neither of them moves.",
        follow_bone("Left", "Trunk.0"),
        set_tree("Right", mute=True),
        set_tree("Left", chain_count=3),
        makes=make_tree,
        who=left,
    ),
    "chains that follow each other": Said(
        "This chain and chain 'Left' follow each other:"
        " give one of the two a target that neither of them moves.",
        follow_bone("Right", "Left.1"),
        follow_own_target("Right"),
        follow_bone("Left", "Right.1"),
        makes=make_arms,
        who=right,
    ),
    "a tree without any weight": Said(
        "No chain of this tree has a weight above zero: raise one.",
        no_weights,
        set_tree("Left", weight=0.1),
        makes=make_tree,
        who=left,
    ),
    "a bone of a tree scaled flat": Said(
        "A bone of the tree has a scale of zero: give it a scale above zero.",
        set_tree_bone("Trunk.0", "scale", (0.0, 1.0, 1.0)),
        set_tree_bone("Trunk.0", "scale", (1.0, 1.0, 1.0)),
        makes=make_tree,
        who=left,
    ),
    "the armature of a tree scaled flat": Said(
        "The armature object has a scale of zero: give it a scale above zero.",
        lambda rig: setattr(rig.ob, "scale", (1.0, 0.0, 1.0)),
        lambda rig: setattr(rig.ob, "scale", (1.0, 1.0, 1.0)),
        makes=make_tree,
        who=left,
    ),
}
