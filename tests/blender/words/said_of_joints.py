"""What chains say of joints and creatures that cannot be used, each with its reason."""

from __future__ import annotations

import bpy

from tests.blender.rig.test_rig_bad_input import LIMB, Scene, set_chain
from tests.blender.setups import rigs
from tests.blender.setups.jointed_rigs import give
from tests.blender.words.said_of_input import both, driver, no_driver, set_scale
from tests.blender.words.sentences import Said, Step


def creature(text: str) -> Step:
    def apply(scene: Scene) -> None:
        scene.chain.force.creature = text

    return apply


def entries(text: str) -> Step:
    return creature(f'{{"creature": 1, {text}}}')


PAIRS = ": give a number, a list of numbers, or pairs [place, number]"
TEXTS = {
    "This is not a creature file of version #: use a file that Save Creature has written.": (
        creature("[]")
    ),
    "The creature file has an unknown entry 'weight':"
    " use name, stiffness, mass, gravity, comfort, joints.": entries('"weight": 2'),
    "The creature's name is not text: put it in quotes.": entries('"name": 3'),
    "The creature's name 'a\\u0000' has a character that Blender cannot store:"
    " write the name anew.": entries('"name": "a\\u0000"'),
    "The creature's text is longer than # characters: choose another.": creature(" " * 1_000_001),
    "The creature's text has too many brackets inside each other: remove some of them.": (
        creature("[" * 21)
    ),
    "Line # of the creature file is not JSON (Expecting value): correct it there.": creature("x"),
    "The creature's comfort does not name the axes x, y and z: write it as"
    ' {"x": [least, greatest], "y": ..., "z": ...} in degrees.': entries('"comfort": 1'),
    "The creature's comfort about x is not a range: write [least, greatest].": (
        entries('"comfort": {"x": 1}')
    ),
    "The creature's comfort about x ends before it begins: swap its two ends.": (
        entries('"comfort": {"x": [5, -5]}')
    ),
    "The creature's comfort about x is out of bounds: set it to between -# and #.": (
        entries('"comfort": {"x": [-200, 5]}')
    ),
    "The creature's joints are not a list of kinds: choose from"
    " BALL, SWING, ELBOW_X, ELBOW_Z, HINGE_X, HINGE_Y, HINGE_Z, FIXED.": entries('"joints": ["A"]'),
    f"The creature's mass has places that do not grow from # to #{PAIRS} in order.": (
        entries('"mass": [[0, 1], [0, 2]]')
    ),
    "The creature's mass is an empty list: put numbers in it.": entries('"mass": []'),
    "The creature's mass is out of bounds: set it to # or more.": entries('"mass": -1'),
    f'The creature\'s mass is "a", not a number{PAIRS}.': entries('"mass": "a"'),
    "The creature's mass is greater than Blender can store: give a smaller number.": (
        entries('"mass": 1e39')
    ),
}
CREATURES = {
    sentence[:50]: Said(sentence, breaks, creature(""), set_chain(solver="FORCE"))
    for sentence, breaks in TEXTS.items()
}


def joint(bone: str, kind: str = "BALL", **settings: object) -> Step:
    def apply(scene: Scene) -> None:
        give(scene.chain, bone, kind, **settings)
        scene.ob.update_tag()

    return apply


def change_joint(index: int = -1, **settings: object) -> Step:
    def apply(scene: Scene) -> None:
        for name, value in settings.items():
            setattr(scene.chain.joints[index], name, value)

    return apply


def no_joint(scene: Scene) -> None:
    scene.chain.joints.remove(len(scene.chain.joints) - 1)
    scene.ob.update_tag()


def set_edit_bone(bone: str, **settings: object) -> Step:
    def apply(scene: Scene) -> None:
        rigs.enter(scene.ob, "EDIT")
        for name, value in settings.items():
            setattr(scene.ob.data.edit_bones[bone], name, value)
        bpy.ops.object.mode_set(mode="OBJECT")

    return apply


def slid_by_another(scene: Scene) -> None:
    """Have the other chain slide the last bone of the limb, whose head this chain leads."""
    scene.chain.chain_count = 2
    scene.other.bone, scene.other.chain_count = LIMB[2], 1
    give(scene.other, LIMB[2], "BALL", use_slide=True)


SLIDES = {"use_slide": True, "slide_min": -0.2, "slide_max": 0.2}
APART = set_edit_bone(LIMB[1], use_connect=False)
JOINTS = {
    "a joint without a bone": Said(
        "A joint of this chain has no bone: choose its bone or remove it.",
        joint(""),
        change_joint(bone=LIMB[0]),
    ),
    "a joint of a bone that is gone": Said(
        "Bone 'Gone', which has a joint in this chain, no longer exists:"
        " choose the joint's bone again or remove the joint.",
        joint("Gone"),
        no_joint,
    ),
    "a joint that counts from no parent": Said(
        "Bone 'Limb.0' has no parent to measure from: set Angles From to Rest Pose in its joint.",
        joint(LIMB[0], relative_to="PARENT"),
        change_joint(relative_to="REST"),
    ),
    "a joint that counts from a parent that turns for itself": Said(
        "Bone 'Limb.1' does not inherit its parent's rotation:"
        " set Angles From to Rest Pose in its joint.",
        set_edit_bone(LIMB[1], use_inherit_rotation=False),
        set_edit_bone(LIMB[1], use_inherit_rotation=True),
        joint(LIMB[1], relative_to="PARENT"),
    ),
    "a joint that counts from no child": Said(
        "Bone 'Limb.2' is the last of the chain and has no child in it to limit:"
        " set Angles From to Rest Pose or Parent Bone in its joint.",
        joint(LIMB[2], relative_to="CHILD"),
        change_joint(relative_to="REST"),
    ),
    "two joints of one bone": Said(
        "Bone 'Limb.1' has two joints in this chain, of its own or from its parent bone:"
        " remove one of them.",
        joint(LIMB[0], relative_to="CHILD"),
        no_joint,
        joint(LIMB[1]),
    ),
    "a range that is no number": Said(
        "The setting 'Max X' of the joint of 'Limb.1' is not a number:"
        " enter a new value, or correct its keyframes and driver.",
        change_joint(max_x=float("nan")),
        change_joint(max_x=0.5),
        joint(LIMB[1], x=(-20, 20)),
    ),
    "a range that ends before it begins": Said(
        "Bone 'Limb.1' has a joint whose X range ends before it begins:"
        " swap or correct its two ends.",
        change_joint(min_x=0.5),
        change_joint(min_x=-0.5),
        joint(LIMB[1], x=(-20, 20)),
    ),
    "a slide that ends before it begins": Said(
        "Bone 'Limb.1' has a joint whose slide range ends before it begins:"
        " swap or correct its two ends.",
        change_joint(slide_min=0.5),
        change_joint(slide_min=-0.5),
        both(APART, joint(LIMB[1], **SLIDES)),
    ),
    "a slide in a chain that stretches": Said(
        "Bone 'Limb.1' slides in a chain that stretches, and only one of them can bring it to"
        " its target: switch Stretch off, or Slide in the bone's joint.",
        set_chain(use_stretch=True),
        set_chain(use_stretch=False),
        both(APART, joint(LIMB[1], **SLIDES)),
    ),
    "a slide of the tip whose head is led": Said(
        "Bone 'Limb.2' cannot slide, as its head is what comes to the target:"
        " switch Slide off in its joint, or switch Use Tail on.",
        joint(LIMB[2], **SLIDES),
        no_joint,
        both(
            set_edit_bone(LIMB[2], use_connect=False),
            set_chain(use_tail=False, use_rotation=True),
        ),
    ),
    "a driver on the location of a bone that slides": Said(
        "Bone 'Limb.1' has a driver on its location, which always wins:"
        " remove the driver, or switch Slide off in the bone's joint.",
        driver(1, "location", 1),
        no_driver(1, "location", 1),
        both(APART, joint(LIMB[1], **SLIDES)),
    ),
    "a head that another chain slides": Said(
        "The head of bone 'Limb.2' slides with chain 'Other':"
        " choose its parent as the tip bone, and switch Use Tail on.",
        slid_by_another,
        set_chain(bone=LIMB[1], use_tail=True),
        both(set_edit_bone(LIMB[2], use_connect=False), set_chain(use_tail=False)),
    ),
}


JOINTS["dragged below a bone scaled flat"] = Said(
    "Bone 'Limb.0' has a scale of zero, so nothing below it can be dragged: give it a scale above"
    " zero.",
    set_scale("0", 0.0, 1.0, 1.0),
    set_scale("0"),
    both(set_edit_bone(LIMB[1], use_connect=False), set_chain(solver="FOLLOW", chain_count=2)),
)
