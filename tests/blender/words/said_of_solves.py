"""What chains say of how a solve has ended, each with its reason."""

from __future__ import annotations

from typing import Any

import bpy

from tests.blender.rig.test_rig_bad_input import GOALS, LIMB, Scene, set_chain, set_on
from tests.blender.setups import rigs, tree_rigs
from tests.blender.words.said_of_input import both
from tests.blender.words.said_of_joints import APART, SLIDES, change_joint, joint
from tests.blender.words.said_of_trees import left, make_tree, set_tree
from tests.blender.words.sentences import Said, Step

FAR, NEAR = (0.5, 3.0, 3.0), GOALS[0]


def goes(*place: float) -> Step:
    def apply(scene: Any) -> None:
        scene.target.location = place

    return apply


def turned(*angles: float) -> Step:
    def apply(scene: Scene) -> None:
        scene.target.rotation_euler = angles

    return apply


def on_bones(name: str, value: object) -> Step:
    """Return what sets a property of all bones of the limb."""

    def apply(scene: Scene) -> None:
        for bone in LIMB:
            setattr(scene.ob.pose.bones[bone], name, value)

    return apply


def limits(size: float) -> Step:
    return both(
        *(
            both(
                on_bones(f"use_ik_limit_{axis}", True),
                on_bones(f"ik_min_{axis}", -size),
                on_bones(f"ik_max_{axis}", size),
            )
            for axis in "xyz"
        )
    )


def make_hooked() -> Scene:
    """Return a limb whose first bone is longer than the other."""
    ob = rigs.make_rig(((0, 0, 0), (0, 0, 1.5), (0.1, 0, 2.0)))
    target = rigs.make_empty(location=(0.4, 0.0, 1.6))
    rigs.add_chain(ob, "Bone.1", target)
    rigs.updated()
    return Scene(ob, target, target)


def force(**settings: object) -> Step:
    def apply(scene: Scene) -> None:
        for name, value in settings.items():
            setattr(scene.chain.force, name, value)

    return apply


def scene_live(*, is_live: bool) -> Step:
    def apply(_scene: Scene) -> None:
        bpy.context.scene.chain_ik.use_live = is_live

    return apply


def mode(name: str) -> Step:
    def apply(scene: Scene) -> None:
        rigs.enter(scene.ob, name)

    return apply


def pose_position(name: str) -> Step:
    def apply(scene: Scene) -> None:
        scene.ob.data.pose_position = name

    return apply


def into_collection(scene: Scene) -> None:
    own = bpy.data.collections.new("Own")
    bpy.context.scene.collection.children.link(own)
    bpy.context.scene.collection.objects.unlink(scene.ob)
    own.objects.link(scene.ob)


def collection(*, hide_viewport: bool) -> Step:
    def apply(_scene: Scene) -> None:
        bpy.data.collections["Own"].hide_viewport = hide_viewport

    return apply


def layer_collection(*, exclude: bool) -> Step:
    def apply(_scene: Scene) -> None:
        bpy.context.view_layer.layer_collection.children["Own"].exclude = exclude

    return apply


def tree_goes(name: str, *place: float) -> Step:
    def apply(rig: tree_rigs.Rig) -> None:
        rig.target(name).location = place

    return apply


def tree_locks(*, is_on: bool) -> Step:
    def apply(rig: tree_rigs.Rig) -> None:
        for bone in rig.ob.pose.bones:
            bone.lock_ik_x = bone.lock_ik_y = bone.lock_ik_z = is_on

    return apply


HINGES = both(on_bones("lock_ik_y", True), on_bones("lock_ik_z", True))
FREE = both(on_bones("lock_ik_y", False), on_bones("lock_ik_z", False))
ROTATED = both(set_chain(use_rotation=True), goes(0.3, 0.6, 2.0), turned(1.2, 0.0, 0.0))
"""A rotation that a free tip can take at its target."""
TWISTED = both(goes(0.5, 1.0, 2.0), turned(0.0, -3.0, 0.0))
"""A rotation that no tip can take at its target."""

ONE_LEFT = (
    "the tip takes it, so one bone is left to reach; set Rotation Bone to Hand or Foot, or lengthen"
    " the chain"
)


def off(reason: str) -> str:
    return f"Reached (# iterations); the rotation is # degrees off the target's, as {reason}"


SOLVES = {
    "a target out of reach": Said("Out of reach by #: extended", goes(*FAR), goes(*NEAR)),
    "a target too near": Said(
        "Too near by #: folded",
        goes(0.0, 0.0, 0.5),
        goes(0.5, 0.0, 1.5),
        makes=make_hooked,
    ),
    "one bone that points": Said(
        "Points at its target, # away", set_chain(chain_count=1), set_chain(chain_count=0)
    ),
    "one bone that turns": Said(
        "Turned as its target, # away",
        set_chain(chain_count=1),
        set_chain(chain_count=0),
        set_chain(use_rotation=True),
    ),
    "a rotation that leaves the target out of reach": Said(
        "Out of reach by # with the target's rotation: extended",
        set_chain(use_rotation=True),
        set_chain(use_rotation=False),
        TWISTED,
    ),
    "a rotation that leaves one bone to reach a target that is too far": Said(
        f"Out of reach by # with the target's rotation: {ONE_LEFT}",
        set_chain(use_rotation=True),
        set_chain(use_rotation=False),
        both(TWISTED, set_chain(chain_count=2), goes(0.2, 0.4, 2.3)),
    ),
    "a rotation that leaves one bone to reach a target that is too near": Said(
        f"Too near by # with the target's rotation: {ONE_LEFT}",
        set_chain(use_rotation=True),
        set_chain(use_rotation=False),
        both(TWISTED, set_chain(chain_count=2), goes(0.1, 0.4, 1.3)),
    ),
    "a rotation for a hand that two bones do not have": Said(
        "Reached (# iterations); no single bone begins where the tip ends, so none is turned with"
        " the target: lengthen the chain, or switch Rotation off",
        set_chain(use_rotation=True),
        set_chain(use_rotation=False),
        both(goes(0.2, 0.4, 2.3), set_chain(chain_count=2, rotation_bone="AUTO")),
    ),
    "soft distance": Said(
        "Kept # short of the target by the soft distance",
        set_chain(soft_distance=0.5),
        set_chain(soft_distance=0.0),
        goes(0.9, 1.2, 2.0),
    ),
    "influence": Said(
        "Part of the way by influence, # left", set_chain(influence=0.5), set_chain(influence=1.0)
    ),
    "a force that eases": Said(
        "On its way, # left",
        both(force(use_gradual=True), goes(0.2, 0.9, 1.5)),
        force(use_gradual=False),
        both(set_chain(solver="FORCE"), force(ease=5.0)),
    ),
    "nothing to stretch": Said(
        "Out of reach by #: extended;"
        " to stretch, set IK Stretch on the bones and unlock their Y scale",
        set_chain(use_stretch=True),
        on_bones("ik_stretch", 0.5),
        goes(*FAR),
    ),
    "locked scales": Said(
        "Out of reach by #: extended;"
        " to stretch, set IK Stretch on the bones and unlock their Y scale",
        set_chain(use_stretch=True),
        on_bones("lock_scale", (True, False, True)),
        both(on_bones("ik_stretch", 0.5), on_bones("lock_scale", (False, True, False)), goes(*FAR)),
    ),
    "locked channels": Said(
        "Held back by locked rotation channels, # left: unlock them, or shorten the chain",
        both(on_bones("lock_rotation", (True,) * 3), on_bones("lock_rotation_w", True)),
        both(on_bones("lock_rotation", (False,) * 3), on_bones("lock_rotation_w", False)),
    ),
    "a limit": Said(
        "Held back by the limits of Limb.1 X, # left",
        set_on("1", "use_ik_limit_x", True),
        set_on("1", "use_ik_limit_x", False),
        both(
            HINGES,
            set_on("1", "ik_min_x", -0.1),
            set_on("1", "ik_max_x", 0.1),
            set_chain(bone=LIMB[1]),
            goes(0.0, 0.9, 1.3),
        ),
    ),
    "many limits": Said(
        "Held back by the limits of Limb.0 X, Limb.0 Y, Limb.1 X and # more, # left",
        limits(0.02),
        set_chain(use_limits=False),
    ),
    "a limit of a chain that a force pulls": Said(
        "Held back by the limits of Limb.0 X, Limb.0 Y, Limb.1 X and # more, # left",
        limits(0.02),
        set_chain(use_limits=False),
        set_chain(solver="FORCE"),
    ),
    "limits of a bare solver": Said(
        "# left because Finish with Newton is off: switch it on."
        " At their limits: Limb.1 X, Limb.2 X",
        limits(0.02),
        set_chain(use_limits=False),
        set_chain(solver="FABRIK", use_finish=False),
    ),
    "the angle of a cone": Said(
        "Held back by the limits of Limb.1 cone, # left",
        change_joint(cone_angle=0.1),
        change_joint(cone_angle=3.0),
        both(
            joint(LIMB[1], "CONE"),
            change_joint(cone_angle=3.0),
            set_chain(bone=LIMB[1]),
            goes(0.0, 0.9, 1.3),
        ),
    ),
    "the end of a slide": Said(
        "Held back by the limits of Limb.1 slide, # left",
        change_joint(slide_min=-0.05, slide_max=0.05),
        change_joint(slide_min=-0.5, slide_max=0.5),
        both(
            APART,
            joint(LIMB[0], "FIXED"),
            joint(LIMB[1], "FIXED", **SLIDES),
            goes(0.0, 0.02, 2.199),
            set_chain(bone=LIMB[1], tolerance=1e-3),
            change_joint(slide_min=-0.5, slide_max=0.5),
        ),
    ),
    "locked joints": Said("Held back by locked joints, # left", HINGES, FREE),
    "locked joints of a tree": Said(
        "Held back by locked joints, # left",
        tree_locks(is_on=True),
        tree_locks(is_on=False),
        both(set_tree("Right", weight=0.0), tree_goes("Left", 0.5, 0.7, 1.4)),
        makes=make_tree,
        who=left,
    ),
    "few iterations": Said(
        "Stopped # short after # iterations: raise Iterations",
        set_chain(iterations=2),
        set_chain(iterations=100),
    ),
    "few sweeps": Said(
        "Stopped # short after # iteration: raise Iterations or choose the solver Newton",
        set_chain(iterations=1),
        set_chain(iterations=100),
        set_chain(solver="CCD"),
    ),
    "a bare solver that stands still": Said(
        "# left because Finish with Newton is off: switch it on",
        set_on("0", "scale", (0.01, 1.0, 1.0)),
        set_on("0", "scale", (1.0, 1.0, 1.0)),
        set_chain(chain_count=2, solver="CCD", use_finish=False),
    ),
    "few sweeps of a bare solver": Said(
        "Stopped # short after # iterations: switch Finish with Newton on, or raise Iterations",
        set_chain(iterations=2),
        set_chain(iterations=100),
        set_chain(solver="CCD", use_finish=False),
    ),
    "few sweeps of a bare solver within limits": Said(
        "# left because Finish with Newton is off: switch it on."
        " At their limits: Limb.0 X, Limb.0 Y, Limb.1 X and # more",
        both(limits(0.02), set_chain(iterations=2)),
        set_chain(use_limits=False, iterations=100),
        set_chain(solver="CCD", use_finish=False),
    ),
    "a bare solver of joints that cannot turn": Said(
        "Held back by locked joints, # left",
        both(HINGES, on_bones("lock_ik_x", True)),
        both(FREE, on_bones("lock_ik_x", False)),
        set_chain(solver="FABRIK", use_finish=False),
    ),
    "a parent that is almost flat": Said(
        "Stopped # short: no nearer pose was found",
        set_on("0", "scale", (0.01, 1.0, 1.0)),
        set_on("0", "scale", (1.0, 1.0, 1.0)),
        set_chain(chain_count=2),
    ),
    "another chain of its tree": Said(
        "Outweighed by Right: # off",
        both(set_tree("Left", weight=0.1), tree_goes("Left", 1.5, 0.0, 0.5)),
        tree_goes("Left", 0.8, 0.0, 1.4),
        tree_goes("Right", -0.8, 0.0, 1.4),
        makes=make_tree,
        who=left,
    ),
    "a chain of its tree that is much heavier": Said(
        "Outweighed by Right: # off",
        set_tree("Right", mute=False),
        set_tree("Right", mute=True),
        both(
            set_tree("Left", weight=0.0),
            set_tree("Right", mute=True),
            tree_goes("Left", 1.3, 0.0, 0.5),
            tree_goes("Right", -1.3, 0.0, 0.5),
        ),
        makes=make_tree,
        who=left,
    ),
    "a tip whose position comes first": Said(
        off("the position comes first"),
        set_chain(use_rotation=True),
        set_chain(use_rotation=False),
        both(set_chain(solver="FORCE"), TWISTED),
    ),
    "a tip beside limits that nothing touches": Said(
        off("the position comes first"),
        set_chain(use_rotation=True),
        set_chain(use_rotation=False),
        both(set_chain(solver="FORCE"), limits(3.1), TWISTED),
    ),
    "a solve that ends as soon as it is near enough": Said(
        "Reached (#, # iterations)",
        set_chain(solver="FABRIK", use_finish=False, tolerance=0.001),
        set_chain(solver="NEWTON", tolerance=1e-5),
    ),
    "a tip within limits": Said(
        off("position and joints come first"),
        limits(1.0),
        set_chain(use_limits=False),
        both(set_chain(solver="FORCE"), ROTATED),
    ),
    "a tip that locks keep off": Said(
        off("position and joints come first"),
        HINGES,
        FREE,
        both(set_chain(solver="FORCE"), ROTATED, goes(0.0, 0.6, 1.8), turned(0.2, 0.5, 0.3)),
    ),
    "a tip beyond the effector": Said(
        "Reached; the rotation is # degrees off the target's, as its own joint holds it",
        set_on("2", "use_ik_limit_x", True),
        set_on("2", "use_ik_limit_x", False),
        both(
            set_on("2", "ik_max_x", 0.1),
            set_chain(use_rotation=True, use_tail=False),
            goes(0.5, 0.5, 1.2),
            turned(1.0, 0.0, 0.0),
        ),
    ),
    "a slide of a connected bone": Said(
        "Reached; connected bones cannot slide, clear Connected in edit mode: Limb.1",
        joint(LIMB[1], **SLIDES),
        APART,
    ),
    "a slide of a bone with a locked location": Said(
        "Reached (#); bones with a locked location cannot slide, unlock it: Limb.1",
        set_on("1", "lock_location", (False, True, False)),
        set_on("1", "lock_location", (True, False, True)),
        both(APART, joint(LIMB[1], **SLIDES)),
    ),
    "a bone that is turned by hand": Said(
        "This chain poses Limb.1, so it went back: move the target, or switch to FK to pose by"
        " hand. Reached (# iterations)",
        set_on("1", "rotation_quaternion", (0.8, 0.6, 0.0, 0.0)),
        goes(0.5, 0.5, 1.1),
    ),
    "a joint outside of the chain": Said(
        "Reached; joints of bones that are not in the chain have no effect: Limb.0",
        set_chain(chain_count=2),
        set_chain(chain_count=3),
        joint(LIMB[0]),
    ),
}
STATES = {
    "muted": Said("Muted", set_chain(mute=True), set_chain(mute=False)),
    "no influence": Said(
        "Influence is zero: the bones are free to be posed",
        set_chain(influence=0.0),
        set_chain(influence=1.0),
    ),
    "not live": Said("Live is off", scene_live(is_live=False), scene_live(is_live=True)),
    "edit mode": Said("Not solved: the armature is in edit mode", mode("EDIT"), mode("POSE")),
    "rest position": Said(
        "Not solved: the armature shows its rest position",
        pose_position("REST"),
        pose_position("POSE"),
    ),
    "hidden in viewports": Said(
        "Not solved: the armature is hidden, or not in this view layer",
        set_on("ob", "hide_viewport", True),
        set_on("ob", "hide_viewport", False),
    ),
    "hidden with its collection": Said(
        "Not solved: the armature is hidden, or not in this view layer",
        collection(hide_viewport=True),
        collection(hide_viewport=False),
        into_collection,
    ),
    "excluded": Said(
        "Not solved: the armature is hidden, or not in this view layer",
        layer_collection(exclude=True),
        layer_collection(exclude=False),
        into_collection,
    ),
    "not in the scene": Said(
        "Not solved: the armature is hidden, or not in this view layer",
        lambda scene: bpy.context.scene.collection.objects.unlink(scene.ob),
        lambda scene: rigs.link(scene.ob),
    ),
}
