"""Rigify's human as a whole body: functions that make it, move it and read its pose."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

from tests.blender.operators.test_characters import MAIN_LIMBS, add_rig
from tests.blender.setups import rigs
from tests.blender.setups.selecting import press

PLACE_TOLERANCE = 1e-6
"""Tolerance of bones that stay, as a share of the height: float32 on a body of 2 m."""
PIN_TOLERANCE = 2e-5
"""Tolerance of pinned feet at their targets, as a share of the height."""
HIPS = "spine"


def lose_leg(ob: bpy.types.Object) -> None:
    thigh = ob.data.bones["thigh.R"]
    rigs.delete_bones(ob, *[bone.name for bone in (*thigh.children_recursive, thigh)])


def scale_unevenly(ob: bpy.types.Object) -> None:
    rigs.change(ob, scale=(1.0, 1.3, 0.8))


FORMS = {"one leg": lose_leg, "scaled unevenly": scale_unevenly}
"""Changes of a human's shape, made before it has chains."""


def make_character(
    name: str = "human", control: str = "BONE", form: str = "", **settings: object
) -> bpy.types.Object:
    """Return one of Rigify's characters in a form, with controls and chains for its limbs."""
    ob = add_rig(name)
    FORMS.get(form, lambda _: None)(ob)
    press(bpy.ops.pose.chain_ik_setup, control=control, **{"kinds": MAIN_LIMBS} | settings)
    return ob


def make_human(control: str = "BONE", **settings: object) -> bpy.types.Object:
    return make_character("human", control, **settings)


def make_body(**settings: object) -> bpy.types.Object:
    ob = make_human(**settings)
    press(bpy.ops.pose.chain_ik_body, control=settings.get("control", "BONE"))
    rigs.updated()
    return ob


def height(ob: bpy.types.Object) -> float:
    return float(max(bone.head_local.z for bone in ob.data.bones if bone.use_deform))


def places(ob: bpy.types.Object) -> dict[str, np.ndarray]:
    """Return head and tail of each bone, world space, as shares of the height, shape (2, 3)."""
    owner = rigs.evaluated(ob)
    to_world, size = owner.matrix_world, height(ob)
    return {
        bone.name: np.array((to_world @ bone.head, to_world @ bone.tail)) / size
        for bone in owner.pose.bones
    }


def farthest(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> float:
    """Return the largest difference of places or channels, of the bones in the first mapping."""
    return max(float(np.abs(np.subtract(after[name], rows)).max()) for name, rows in before.items())


def all_reach(ob: bpy.types.Object) -> bool:
    return all(chain.mute or chain.status == "Reached" for chain in ob.chain_ik.chains)


def move(ob: bpy.types.Object, control: str, offset: tuple[float, float, float]) -> None:
    """Move a control by an offset from rest in armature space."""
    bone = ob.pose.bones[control]
    rigs.change(bone, location=bone.bone.matrix_local.to_3x3().inverted() @ Vector(offset))


def spaces_from(ob: bpy.types.Object) -> dict[str, list[str]]:
    return {
        bone.name: [
            item.targets[0].subtarget if item.type == "ARMATURE" else item.subtarget
            for item in bone.constraints
        ]
        for bone in ob.pose.bones
        if bone.constraints
    }


AWAY = (0.5, -0.6, -0.2)
"""Offset of a hand's target from rest, in scene units: the arm alone does not reach it."""
FEET = ("foot.L", "foot.R")


def human() -> bpy.types.Object:
    """Return the human of the open file: undo and load replace all objects."""
    return bpy.data.objects["metarig"]
