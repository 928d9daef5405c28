"""What chains of a whole body say that it cannot move; each with its reason."""

from __future__ import annotations

from functools import partial

import bpy

from tests.blender.rig.test_rig_bad_input import Scene, make_scene
from tests.blender.setups import rigs
from tests.blender.words.said_of_input import driver, no_driver, set_chain, set_on
from tests.blender.words.sentences import Said, Step


def make_body() -> Scene:
    """Return two limbs, of which one carries the other."""
    scene = make_scene()
    rigs.enter(scene.ob, "EDIT")
    bones = scene.ob.data.edit_bones
    bones["Other.0"].parent = bones["Limb.1"]
    bpy.ops.object.mode_set(mode="OBJECT")
    return scene


SaidOfBody = partial(Said, makes=make_body)


def body(root: str, chain_count: int = 2) -> Step:
    """Make the limb a body that is carried by a root."""

    def apply(scene: Scene) -> None:
        scene.chain.chain_count = chain_count
        scene.ob.chain_ik.body.root, scene.ob.chain_ik.body.use_body = root, True

    return apply


def constraint(scene: Scene) -> None:
    scene.bone(0).constraints.new("LIMIT_LOCATION")


def no_constraint(scene: Scene) -> None:
    scene.bone(0).constraints[0].mute = True


BODIES = {
    "a solver that belongs to no body": SaidOfBody(
        "A chain with the solver Force or Follow belongs to no body: choose another solver, or"
        " mute the chain.",
        set_chain(solver="FORCE"),
        set_chain(solver="NEWTON"),
        body("Limb.0"),
    ),
    "a root that is gone": SaidOfBody(
        "Reached (# iterations). Bone 'gone', the root of the body, does not exist: choose another"
        " Root.",
        body("gone"),
        body("Limb.0"),
        body("Limb.0"),
    ),
    "a chain that no bone of the body carries": SaidOfBody(
        "Reached. No bone of the body carries this chain, so it is solved by itself:"
        " choose a Root above it, if it is to go along",
        body("Other.0"),
        body("Limb.0"),
        body("Limb.0"),
    ),
    "a connected root": SaidOfBody(
        "Connected is on for bone 'Limb.1', so the body cannot move it: clear Connected in edit"
        " mode, or choose another Root.",
        body("Limb.1"),
        body("Limb.0"),
        body("Limb.0"),
    ),
    "a locked root": SaidOfBody(
        "The location of bone 'Limb.0' is locked, so the body cannot move it: unlock it, or choose"
        " another Root.",
        set_on("0", "lock_location", (False, True, False)),
        set_on("0", "lock_location", (False, False, False)),
        body("Limb.0"),
    ),
    "a root with a constraint": SaidOfBody(
        "Bone 'Limb.0', the root of the body, has a constraint: mute it, or choose another Root.",
        constraint,
        no_constraint,
        body("Limb.0"),
    ),
    "a root with a driver": SaidOfBody(
        "Bone 'Limb.0' has a driver on its location, which always wins: remove the driver, or"
        " choose another Root.",
        driver(0, "location"),
        no_driver(0, "location"),
        body("Limb.0"),
    ),
    "a driven bone that carries a limb": SaidOfBody(
        "Bone 'Limb.0' of the body has a driver on its rotation, which always wins: remove the"
        " driver, or switch Whole Body off.",
        driver(0, "rotation_euler"),
        no_driver(0, "rotation_euler"),
        body("Limb.0"),
    ),
    "a chain above the root": SaidOfBody(
        "This chain begins above bone 'Limb.1', the root of its body: give it a shorter Chain"
        " Length, or choose another Root.",
        body("Limb.1", 3),
        body("Limb.0", 3),
        body("Limb.0", 3),
    ),
}
