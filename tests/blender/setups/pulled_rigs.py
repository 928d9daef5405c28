"""Chains that a force pulls, and the same chains as records of the core, from rest matrices."""

from dataclasses import replace
from itertools import pairwise

import bpy
import numpy as np

from blender_ik_addon.core import Chain, Forces, JointKind
from blender_ik_addon.core.algebra import rotation
from blender_ik_addon.core.kinematics.bend_plane import bend_side
from blender_ik_addon.core.model.joints import free_joints
from tests.blender.setups import rigs
from tests.helpers import Array

SETTINGS = {"stiffness_root": 3.0, "stiffness_tip": 0.3, "mass": 1.5, "gravity": 1.0}


def make_pulled(
    count: int = 6,
    location: tuple[float, float, float] = (1.8, 2.0, 1.5),
    *,
    name: str = "Rig",
    **force: object,
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.PropertyGroup]:
    """Return an armature object with a chain that a force pulls, its target and the chain."""
    ob = rigs.make_rig(rigs.zigzag(count), name=name)
    target = rigs.make_empty(f"{name} Target", location)
    chain = rigs.add_chain(ob, f"Bone.{count - 1}", target, solver="FORCE")
    set_forces(chain, **force)
    rigs.updated()
    return ob, target, chain


def set_forces(chain: bpy.types.PropertyGroup, **force: object) -> None:
    for name, value in force.items():
        setattr(chain.force, name, value)


def core_chain(
    ob: bpy.types.Object, forces: Forces, kinds: tuple[JointKind, ...] | None = None
) -> Chain:
    """Return a core chain with forces from the rest pose of an object whose bones form one line.

    It bends as in its rest pose; a straight one bends toward the root bone's Z. The ranges are
    Blender's IK limits of the bones.
    """
    matrices = np.array([bone.matrix_local for bone in ob.data.bones])
    joints = rest_joints(ob)
    local = [matrices[0, :3, :3]] + [
        np.linalg.solve(parent, child)[:3, :3] for parent, child in pairwise(matrices)
    ]
    free = free_joints(np.array(local), np.tile([1.0, 0.0, 0.0, 0.0], (len(local), 1)))
    low, high = (np.array(ends) for ends in zip(*map(_range, ob.pose.bones), strict=True))
    limited = replace(free, kinds=kinds or free.kinds, low=low, high=high)
    side = bend_side(joints)
    return Chain(joints, matrices[0, :3, 2] if side is None else side, limited, forces)


def _range(bone: bpy.types.PoseBone) -> tuple[list[float], list[float]]:
    is_on = [getattr(bone, f"use_ik_limit_{axis}") for axis in "xyz"]
    return tuple(
        [
            getattr(bone, f"ik_{end}_{axis}") if on else unlimited
            for axis, on in zip("xyz", is_on, strict=True)
        ]
        for end, unlimited in (("min", -np.inf), ("max", np.inf))
    )


def rest_joints(ob: bpy.types.Object) -> Array:
    """Return heads and last tail of the rest pose, armature space, shape (n + 1, 3)."""
    bones = ob.data.bones
    return np.array([bone.head_local for bone in bones] + [bones[-1].tail_local])


def bone_lengths(ob: bpy.types.Object) -> Array:
    return np.linalg.norm(np.diff(rest_joints(ob), axis=0), axis=1)


def joints_of(ob: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None = None) -> Array:
    """Return heads and last tail of the evaluated pose, armature space, shape (n + 1, 3)."""
    bones = rigs.evaluated(ob, depsgraph or bpy.context.view_layer.depsgraph).pose.bones
    return np.array([bone.head for bone in bones] + [bones[-1].tail])


def core_matrices(chain: Chain, local_wxyz: Array) -> Array:
    """Return the posed axes of a chain's bones from their local rotations, shape (n, 3, 3)."""
    matrices, axes = [], np.eye(3)
    for offset, local in zip(chain.joints.offsets, local_wxyz, strict=True):
        axes = axes @ offset @ rotation.matrix_from_quaternion(local)
        matrices.append(axes)
    return np.array(matrices)
