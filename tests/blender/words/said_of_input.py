"""What chains say of settings, bones and targets that cannot be used, each with its reason."""

from __future__ import annotations

from typing import Any

from tests.blender.rig.test_rig_bad_input import (
    LIMB,
    NO_POLE,
    Scene,
    follow_child_of_bone,
    follow_own_bone,
    follow_target,
    link_target,
    pole_is,
    set_chain,
    set_on,
    unlink_target,
)
from tests.blender.words.sentences import Said, Step


def both(*steps: Step) -> Step:
    """Return what does one after the other."""

    def apply(scene: Any) -> None:
        for step in steps:
            step(scene)

    return apply


def driver(bone: int, prop: str, index: int = 0) -> Step:
    def apply(scene: Scene) -> None:
        scene.bone(bone).rotation_mode = "XYZ"
        scene.bone(bone).driver_add(prop, index).driver.expression = "0.1"

    return apply


def no_driver(bone: int, prop: str, index: int = 0) -> Step:
    def apply(scene: Scene) -> None:
        scene.bone(bone).driver_remove(prop, index)

    return apply


def constrain(scene: Scene) -> None:
    scene.bone(2).constraints.new("IK").target = scene.other_target


def unconstrain(scene: Scene) -> None:
    scene.bone(2).constraints.remove(scene.bone(2).constraints["IK"])


def set_scale(part: str, *scale: float) -> Step:
    return set_on(part, "scale", scale or (1.0, 1.0, 1.0))


def set_near(scene: Scene) -> None:
    """Bring the target where two bones can reach it, too, with the tip turned as it is at rest."""
    scene.target.location = scene.ob.data.bones[LIMB[2]].tail_local
    scene.target.location.y -= 0.1
    scene.target.rotation_euler = scene.ob.data.bones[LIMB[2]].matrix_local.to_euler()


NAN = float("nan")
INPUT = {
    "a setting that is no number": Said(
        "The setting 'Tolerance' is not a number:"
        " enter a new value, or correct its keyframes and driver.",
        set_chain(tolerance=NAN),
        set_chain(tolerance=1e-5),
    ),
    "an armature that is nowhere": Said(
        "The transform of armature 'Rig' is not finite or too large:"
        " check its location, rotation, scale, parents, drivers and constraints.",
        set_on("ob", "location", (NAN, 0.0, 0.0)),
        set_on("ob", "location", (0.0, 0.0, 0.0)),
    ),
    "a tail and its target in different worlds": Said(
        "The chain or its target is too far away to drag it there: bring them nearer.",
        set_on("target", "location", (0.0, 1e30, 0.0)),
        set_on("target", "location", (0.8, 0.3, 1.6)),
        set_chain(solver="FOLLOW"),
    ),
    "no tip bone": Said(
        "No tip bone is set: choose the bone at the end of the chain.",
        set_chain(bone=""),
        set_chain(bone=LIMB[-1]),
    ),
    "missing tip bone": Said(
        "Bone 'Gone' no longer exists: choose another tip.",
        set_chain(bone="Gone"),
        set_chain(bone=LIMB[-1]),
    ),
    "the head of a root bone": Said(
        "Bone 'Limb.0' has no parent that could bring its head to the target:"
        " choose a bone further down, or switch Use Tail on.",
        set_chain(use_tail=False),
        set_chain(bone=LIMB[-1]),
        set_chain(bone=LIMB[0]),
    ),
    "no target": Said(
        "No target is set: choose an object for the chain to follow.",
        set_chain(target=None),
        follow_target,
    ),
    "target not in the scene": Said(
        "The target 'Target' is no longer in the scene: choose another target.",
        unlink_target,
        link_target,
    ),
    "pole is the armature": Said(
        "The pole is the armature itself: choose one of its bones as pole.",
        pole_is(lambda scene: scene.ob),
        NO_POLE,
    ),
    "missing target bone": Said(
        "The target bone 'Gone' no longer exists: choose another.",
        follow_own_bone("Gone"),
        follow_target,
    ),
    "target bone in the chain": Said(
        "The target bone 'Limb.1' is moved by the chain that would follow it:"
        " choose a bone outside the chain.",
        follow_own_bone(LIMB[1]),
        follow_target,
    ),
    "target below the chain": Said(
        "The target 'Child' is moved by the chain that would follow it:"
        " clear its parent or constraint, or choose another object.",
        follow_child_of_bone,
        follow_target,
    ),
    "driver on a rotation": Said(
        "Bone 'Limb.1' has a driver on its rotation, which always wins:"
        " remove the driver or end the chain before that bone.",
        driver(1, "rotation_euler"),
        no_driver(1, "rotation_euler"),
    ),
    "driver on a scale": Said(
        "Bone 'Limb.1' has a driver on its scale, which always wins:"
        " remove the driver, or switch Stretch off.",
        set_chain(use_stretch=True),
        set_chain(use_stretch=False),
        driver(1, "scale"),
    ),
    "constraint on bones of the chain and above it": Said(
        "The constraint 'IK' of bone 'Limb.2' moves bone 'Limb.0' above this chain as well:"
        " mute it, or give it a shorter Chain Length.",
        both(set_chain(chain_count=2), constrain),
        both(set_chain(chain_count=0), unconstrain),
    ),
    "bone without length": Said(
        "Bone 'Limb.1' has no length to turn:"
        " check its scale and location, or leave it out of the chain.",
        set_scale("1", 0.0, 0.0, 0.0),
        set_scale("1"),
    ),
    "bone of a limited chain scaled flat": Said(
        "A bone of the chain has a scale of zero: give it a scale above zero.",
        set_scale("0", 0.0, 1.0, 1.0),
        set_scale("0"),
        set_on("1", "use_ik_limit_x", True),
    ),
    "armature scaled flat": Said(
        "The armature object has a scale of zero: give it a scale above zero.",
        set_scale("ob", 1.0, 1.0, 0.0),
        set_scale("ob"),
    ),
    "armature of a dragged chain scaled flat": Said(
        "The armature object has a scale of zero: give it a scale above zero.",
        set_scale("ob", 1.0, 1.0, 0.0),
        set_scale("ob"),
        set_chain(solver="FOLLOW"),
    ),
    "Two-Bone on three bones": Said(
        "Two-Bone bends two bones and this chain has # to bend:"
        " choose Newton, FABRIK or CCD, or shorten the chain.",
        set_chain(solver="TWO_BONE"),
        set_chain(chain_count=2),
        set_near,
    ),
    "Two-Bone on two bones, one of which takes the target's rotation": Said(
        "Two-Bone bends two bones, and one is left where the tip takes the target's rotation:"
        " set Rotation Bone to Hand or Foot, or lengthen the chain.",
        set_chain(use_rotation=True),
        set_chain(chain_count=3),
        both(set_near, set_chain(solver="TWO_BONE", chain_count=2)),
    ),
    "dragged by a connected bone": Said(
        "Connected is on for bone 'Limb.1', so it cannot be dragged:"
        " clear Connected in edit mode, switch Anchor on, or choose another solver.",
        set_chain(chain_count=2),
        set_chain(chain_count=0),
        set_chain(solver="FOLLOW"),
    ),
    "dragged by a bone with a locked location": Said(
        "The location of bone 'Limb.0' is locked, so it cannot be dragged: unlock it.",
        set_on("0", "lock_location", (False, True, False)),
        set_on("0", "lock_location", (False, False, False)),
        set_chain(solver="FOLLOW"),
    ),
    "dragged by a driven bone": Said(
        "Bone 'Limb.0' has a driver on its location, which always wins:"
        " remove the driver, or choose another solver.",
        driver(0, "location"),
        no_driver(0, "location"),
        set_chain(solver="FOLLOW"),
    ),
}
