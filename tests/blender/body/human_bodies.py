"""Rigify's human as a whole body: how it is made, moved and looked at, also where it reaches."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

from tests.blender.operators.test_characters import USUAL, add_rig
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

STILL = 1e-6
"""How far nothing moves, as a share of the height: what float32 leaves of a body of 2 m."""
HELD = 2e-5
"""How far pinned feet may be from their targets, as a share of the height."""
HIPS = "spine"


def lose_leg(ob: bpy.types.Object) -> None:
    thigh = ob.data.bones["thigh.R"]
    rigs.delete_bones(ob, *[bone.name for bone in (*thigh.children_recursive, thigh)])


def scale_unevenly(ob: bpy.types.Object) -> None:
    rigs.change(ob, scale=(1.0, 1.3, 0.8))


FORMS = {"one leg": lose_leg, "scaled unevenly": scale_unevenly}
"""What is done to a human before it has chains."""


def make_character(
    name: str = "human", control: str = "BONE", form: str = "", **settings: object
) -> bpy.types.Object:
    """Return one of Rigify's characters, of a form, with chains for its limbs and controls."""
    ob = add_rig(name)
    FORMS.get(form, lambda _: None)(ob)
    press(bpy.ops.pose.chain_ik_setup, control=control, **{"kinds": USUAL} | settings)
    return ob


def make_human(control: str = "BONE", **settings: object) -> bpy.types.Object:
    return make_character("human", control, **settings)


def make_body(**settings: object) -> bpy.types.Object:
    ob = make_human(**settings)
    press(bpy.ops.pose.chain_ik_body, control=settings.get("control", "BONE"))
    rigs.updated()
    return ob


def height(ob: bpy.types.Object) -> float:
    return float(max(each.head_local.z for each in ob.data.bones if each.use_deform))


def places(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return heads and tails of bones in the world, as shares of the height, shape (2, 3) each."""
    owner = rigs.evaluated(ob)
    to_world, size = owner.matrix_world, height(ob)
    return {
        each.name: np.array((to_world @ each.head, to_world @ each.tail)) / size
        for each in owner.pose.bones
    }


def farthest(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    """Return by how much places or channels of bones differ at most, of those in the first."""
    return max(float(np.abs(np.subtract(after[name], held)).max()) for name, held in before.items())


def all_reach(ob: bpy.types.Object) -> bool:
    return all(each.mute or each.status == "Reached" for each in ob.chain_ik.chains)


def move(ob: bpy.types.Object, control: str, way: tuple[float, float, float]) -> None:
    """Move a control from rest in armature space."""
    bone = ob.pose.bones[control]
    rigs.change(bone, location=bone.bone.matrix_local.to_3x3().inverted() @ Vector(way))


def spaces_from(ob: bpy.types.Object) -> dict[str, list[str]]:
    return {
        bone.name: [
            each.targets[0].subtarget if each.type == "ARMATURE" else each.subtarget
            for each in bone.constraints
        ]
        for bone in ob.pose.bones
        if bone.constraints
    }


AWAY = (0.5, -0.6, -0.2)
"""The way of a hand's target from rest, in scene units: the arm alone does not reach it."""
FEET = ("foot.L", "foot.R")


def human() -> bpy.types.Object:
    """Return the human of the file that is open: undo and load replace all objects."""
    return bpy.data.objects["metarig"]
