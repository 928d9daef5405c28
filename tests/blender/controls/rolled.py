"""Rigify's human whose feet roll, and functions that read and change it."""

from collections.abc import Callable, Sequence
from math import radians

import bpy
import numpy as np
from mathutils import Matrix

from tests.blender.operators.test_characters import add_rig
from tests.blender.setups import rigs
from tests.blender.setups.saved_rigs import opened
from tests.blender.setups.selecting import press

setup = bpy.ops.pose.chain_ik_setup
MECHANISM = "Chain IK Mechanism"
ROLL, BANK = "Foot Roll", "Foot Bank"


def control_of(ob: bpy.types.Object, chain: str) -> str:
    """Return the control bone that an animator moves to move a chain's target."""
    bone = ob.data.bones[ob.chain_ik.chains[chain].subtarget]
    while MECHANISM in bone.collections:
        bone = bone.parent
    return bone.name


def make_human(*, down: float = 0.12, scale: Sequence[float] = (1, 1, 1)) -> bpy.types.Object:
    """Return Rigify's human with controls and bent knees, on an object with this scale."""
    ob = add_rig("human")
    rigs.change(ob, scale=scale)
    press(setup, control="BONE")
    hips = ob.pose.bones["spine"]
    rigs.change(hips, matrix=Matrix.Translation((0.0, 0.0, -down)) @ hips.matrix)
    return ob


def human(**settings: object) -> bpy.types.Object:
    return opened(make_human, **settings)


def remove_right_leg(ob: bpy.types.Object) -> None:
    for chain in ("Toe.R", "Leg.R"):
        press_for(ob, chain, bpy.ops.pose.chain_ik_remove, delete_controls=True)


def turn(ob: bpy.types.Object, channel: str, degrees: float, side: str = "L") -> None:
    ob.pose.bones[f"Leg Target.{side}"][channel] = radians(degrees)
    rigs.tagged(ob)


def activate(ob: bpy.types.Object, chain: str) -> None:
    ob.chain_ik.active_index = ob.chain_ik.chains.find(chain)


def press_for(ob: bpy.types.Object, chain: str, button: Callable, **settings: object) -> None:
    activate(ob, chain)
    press(button, **settings)


def moved_by(before: dict[str, np.ndarray], after: dict[str, np.ndarray], *bones: str) -> float:
    """Return the largest change of a matrix entry of these bones; of all if none is named."""
    return max(float(np.abs(after[name] - before[name]).max()) for name in bones or before)


def all_reached(ob: bpy.types.Object) -> bool:
    return all(chain.status.startswith("Reached") for chain in ob.chain_ik.chains)


def delete(ob: bpy.types.Object, bone: str) -> None:
    rigs.delete_bones(ob, bone)
    rigs.updated()


def mechanism(ob: bpy.types.Object) -> set[str]:
    return {bone.name for bone in ob.data.bones if MECHANISM in bone.collections}
