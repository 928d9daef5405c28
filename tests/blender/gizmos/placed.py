"""Targets and poles to be moved to a point, and where they are then."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from tests.blender.setups import rigs
from tests.helpers import make_rng

POINT = (0.5, -0.4, 1.1)
# Float32 under parents of any scale.
PLACED = 5e-6
PARENTS = {
    "none": ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "scaled": ((2.0, 2.0, 2.0), (0.5, 0.5, 0.5)),
    "mirrored": ((-1.0, 1.0, 1.0), (1.0, 1.0, 1.0)),
    "sheared": ((0.4, 1.5, -2.0), (1.0, 3.0, 0.7)),
}


def place(ob: bpy.types.Object, bone: str = "") -> np.ndarray:
    return rigs.head(ob, bone) if bone else rigs.position(ob)


def make_arm(**settings: object) -> bpy.types.Object:
    """Return an active armature object in pose mode with an arm that follows an empty."""
    ob, _ = rigs.make_arm(**settings)
    rigs.enter(ob, "POSE")
    return ob


def hang(ob: bpy.types.Object, kind: str) -> None:
    """Hang an object under two others, turned and scaled."""
    above = None
    for i, scale in enumerate(PARENTS[kind]):
        parent = rigs.make_empty(f"Parent {i}", (0.2 * i, 0.3, -0.1), parent=above)
        parent.rotation_euler, parent.scale = make_rng(i).uniform(-2, 2, 3), scale
        above = parent
    ob.parent = above
    rows = (1, 0, 0, 0.3), (0, 0, -1, 0), (0, 1, 0, 0.1), (0, 0, 0, 1)
    # As a matrix: Blender takes nested rows for columns.
    ob.matrix_parent_inverse = Matrix(rows)
    rigs.updated()


def add_control(ob: bpy.types.Object, parent: str, seed: int = 0) -> str:
    """Add a bone to follow, off its parent and turned."""
    rng = make_rng(seed)
    start = rng.uniform(-0.5, 0.5, 3)
    (name,) = rigs.add_bones(
        ob, (start, start + rng.uniform(0.1, 0.4, 3)), prefix="Control", parent=parent
    )
    return name
