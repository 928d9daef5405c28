"""Chains with joints in their settings, and the joint angles of Blender's evaluated bones."""

from collections.abc import Sequence

import bpy
import numpy as np

from tests.blender.setups import rigs
from tests.core.chains import turned_about, unit
from tests.helpers import Array, make_rng, vector_angles

READ_ERROR = 1e-6
"""Tolerance of angles that are read from float32 matrices, in radians."""


def add_joint(chain: bpy.types.PropertyGroup, bone: str, kind: str, **settings: object) -> object:
    """Add a joint to a bone and return it; ranges, ``x=(10, 90)``, and ``cone`` are in degrees."""
    joint = chain.joints.add()
    joint.bone, joint.kind = bone, kind
    for axis in "xyz":
        if axis in settings:
            least, greatest = settings.pop(axis)
            setattr(joint, f"use_limit_{axis}", True)
            setattr(joint, f"min_{axis}", np.radians(least))
            setattr(joint, f"max_{axis}", np.radians(greatest))
    if "cone" in settings:
        joint.cone_angle = np.radians(settings.pop("cone"))
    for name, value in settings.items():
        setattr(joint, name, value)
    return joint


def against_rest(
    ob: bpy.types.Object, bone: str, depsgraph: bpy.types.Depsgraph | None = None
) -> Array:
    """Return the local matrix of an evaluated bone, from pose matrices alone, shape (4, 4)."""
    posed = rigs.evaluated(ob, depsgraph).pose.bones[bone]
    rest, matrix = np.array(posed.bone.matrix_local), np.array(posed.matrix)
    if posed.parent is not None:
        rest = np.linalg.solve(np.array(posed.parent.bone.matrix_local), rest)
        matrix = np.linalg.solve(np.array(posed.parent.matrix), matrix)
    return np.linalg.solve(rest, matrix)


def local(ob: bpy.types.Object, bone: str) -> Array:
    """Return the rotation of an evaluated bone relative to its rest pose, shape (3, 3)."""
    return against_rest(ob, bone)[:3, :3]


def about(matrix: Array, axis: str) -> float:
    """Return the angle of a rotation about one axis; check that this is its only axis."""
    i = "xyz".index(axis)
    j, k = (i + 1) % 3, (i + 2) % 3
    np.testing.assert_allclose(matrix[:, i], np.eye(3)[i], atol=READ_ERROR, err_msg="not a hinge")
    return float(np.arctan2(matrix[k, j], matrix[j, j]))


def swing(matrix: Array) -> float:
    """Return the angle by which a rotation swings the bone's Y axis, in any direction."""
    return float(np.arctan2(np.hypot(matrix[0, 1], matrix[2, 1]), matrix[1, 1]))


def twist(matrix: Array) -> float:
    """Return the angle of the twist about the bone's length, which precedes its swing."""
    return float(2.0 * np.arctan2(matrix[0, 2] - matrix[2, 0], 1.0 + np.trace(matrix)))


def bend_from_parent(ob: bpy.types.Object, bone: str) -> float:
    posed = rigs.evaluated(ob).pose.bones[bone]
    return float(vector_angles(*(b.tail - b.head for b in (posed.parent, posed))))


def tails_at(ob: bpy.types.Object, turns: Sequence[Array], *tips: str) -> Array:
    """Return tails in armature space, shape (n, 3), computed from the bones' local rotations."""
    posed: dict[str, Array] = {}
    for bone, local_turn in zip(ob.data.bones, turns, strict=True):
        matrix, local_matrix = np.array(bone.matrix_local), np.eye(4)
        if bone.parent is not None:
            parent_rest = np.array(bone.parent.matrix_local)
            matrix = posed[bone.parent.name] @ np.linalg.solve(parent_rest, matrix)
        local_matrix[:3, :3] = local_turn
        posed[bone.name] = matrix @ local_matrix
    return np.array([posed[tip] @ (0.0, ob.data.bones[tip].length, 0.0, 1.0) for tip in tips])[
        :, :3
    ]


def turn(axis: Sequence[float] | str, angle: float) -> Array:
    vector = np.eye(3)["xyz".index(axis)] if isinstance(axis, str) else axis
    return turned_about(unit(vector), angle)


def any_turn(seed: int) -> Array:
    rng = make_rng(seed)
    return turn(rng.normal(size=3), rng.uniform(0.0, np.pi))
