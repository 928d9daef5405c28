"""Targets and poles of a chain in world space, as the dependency graph has evaluated them."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...core.algebra.arithmetic import Array
from .spec import ChainSpec, NegativeScale
from .world import WorldMatrices


@dataclass(frozen=True)
class Target:
    """Where a chain's goal lies.

    Attributes:
        matrix: The target's matrix, world space, shape (4, 4).
        pole: The pole's position, world space, shape (3,), or None.
        unmirrored: Linear map of armature space, shape (3, 3), after which the armature's world
            matrix shows what it would show without negative scale; None where nothing mirrors.
    """

    matrix: Array
    pole: Array | None
    unmirrored: Array | None


def read_target(armature_object: bpy.types.Object, spec: ChainSpec, world: WorldMatrices) -> Target:
    """Return where the goal of a chain lies.

    Raises:
        RigError: If an object is hidden in a way that keeps Blender from evaluating it.
    """
    assert spec.target is not None
    matrix = world.matrix(spec.target, "target")
    pole = None if spec.pole is None else world.matrix(spec.pole, "pole")[:3, 3]
    unmirrored = None
    if spec.negative_scale is NegativeScale.KEEP:
        unmirrored = find_unmirrored(armature_object.evaluated_get(world.depsgraph))
    return Target(matrix, pole, unmirrored)


def find_unmirrored(evaluated: bpy.types.Object) -> Array | None:
    """Return the linear map that undoes negative scales of an object and its parents.

    With the world matrix W and the one without negative signs W', it is inverse(W) W'. The sign
    stands in the scale channels only: no matrix tells which of its axes was mirrored.
    """
    world = np.array(evaluated.matrix_world, dtype=np.float64)[:3, :3]
    if np.linalg.det(world) >= 0.0:
        return None
    undone = np.eye(3)
    owner: bpy.types.Object | None = evaluated
    while owner is not None:
        # An object's matrix ends in its own scale, so its signs S undo themselves there:
        # W = O B with the owner's matrix O, and inverse(W) (O S B) = inverse(B) S B.
        below = np.linalg.solve(np.array(owner.matrix_world, dtype=np.float64)[:3, :3], world)
        signs = np.diag(np.where(np.array(owner.scale) < 0.0, -1.0, 1.0))
        undone = np.linalg.solve(below, signs @ below) @ undone
        owner = owner.parent
    return None if np.linalg.det(undone) > 0.0 else undone
