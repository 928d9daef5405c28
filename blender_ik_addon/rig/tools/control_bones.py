"""Control bones: bones of the same armature that chains follow, with shapes that riggers know."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..controls.control_shapes import MAKERS, name_of, shape_of
from ..controls.control_sizes import Look
from ..controls.foot_roll import MECHANISM
from ..planning.checks import bone_not_finite, check_scale
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import array_of
from .controls import BONE_SIZE, Control

COLLECTION = "Chain IK Controls"
PALETTE = "THEME09"
# Blender deletes bones without length; so much of their distance float32 tells well.
LEAST_LENGTH = 1e-4
# A bone of which one side is a smaller share of another puts nothing below it where it belongs.
FLAT = 1e-6


def takes_bones(armature_object: bpy.types.Object) -> bool:
    """Tell whether bones can be added to an armature: Blender edits nothing from a library."""
    both = armature_object, armature_object.data
    return all(each.library is None and each.override_library is None for each in both)


def check_controls(armature_object: bpy.types.Object, controls: Sequence[Control]) -> None:
    """Raise if controls cannot go along with an object, or bones hang under their parents.

    Raises:
        RigError: With what to do next.
    """
    check_scale(armature_object, array_of(armature_object.matrix_world))
    for parent in [control.parent for control in controls if control.parent]:
        if parent not in armature_object.data.bones:
            raise RigError(
                f"Bone '{parent}' does not exist: choose another parent for the controls."
            )


def rest_matrices(armature_object: bpy.types.Object, controls: Sequence[Control]) -> list[Array]:
    """Return the rest matrices that put new bones where controls belong now.

    Args:
        armature_object: The original object.
        controls: What to make.

    Returns:
        One for each control, armature space, shape (4, 4).

    Raises:
        RigError: If the parent of one is nowhere, or nothing can be put anywhere under it.
    """
    to_armature = np.linalg.inv(array_of(armature_object.matrix_world))
    to_rest = {
        parent: _rest_under(armature_object, parent) @ to_armature
        for parent in {control.parent for control in controls}
    }
    matrices = [to_rest[control.parent] @ control.matrix for control in controls]
    for matrix in matrices:
        matrix[:3, :3] = rotation.orientation(matrix[:3, :3])
        if np.linalg.matrix_rank(matrix[:3, :3]) < 3:
            # A hand that is scaled to nothing is turned nowhere; Blender deletes bones like that.
            matrix[:3, :3] = np.eye(3)
    return matrices


def _rest_under(armature_object: bpy.types.Object, parent: str) -> Array:
    """Return what takes a place under a bone as posed to the same under it at rest."""
    if not parent:
        return np.eye(4)
    bone = armature_object.pose.bones[parent]
    posed = array_of(bone.matrix)
    if not np.isfinite(posed).all():
        raise bone_not_finite(parent)
    sides = np.linalg.svd(posed[:3, :3], compute_uv=False)
    if sides[-1] <= FLAT * sides[0]:
        raise RigError(
            f"Bone '{parent}' has a scale of zero, so controls cannot hang under it:"
            " choose another parent for the controls."
        )
    return array_of(bone.bone.matrix_local) @ np.linalg.inv(posed)


def add_edit_bones(
    armature_object: bpy.types.Object,
    controls: Sequence[Control],
    matrices: Sequence[Array],
) -> list[Anchor]:
    """Add bones to an armature in edit mode; return anchors, as references end with that mode."""
    edit_bones = armature_object.data.edit_bones
    unit = _unit(armature_object)
    anchors: list[Anchor] = []
    for control, matrix in zip(controls, matrices, strict=True):
        bone = edit_bones.new(control.name)
        least = LEAST_LENGTH * max(1.0, float(np.abs(matrix[:3, 3]).max()))
        bone.tail = (0.0, max(BONE_SIZE * control.length / unit, least), 0.0)
        bone.matrix = Matrix(matrix.tolist())
        parent = anchors[-control.below].bone if control.below else control.parent
        bone.parent = edit_bones[parent] if parent else None
        bone.use_deform = False
        anchors.append(Anchor(armature_object, bone.name))
    return anchors


def style_bones(anchors: Sequence[Anchor], controls: Sequence[Control]) -> None:
    """Give new control bones their shapes, their colour and their bone collection."""
    for anchor, control in zip(anchors, controls, strict=True):
        bone = anchor.object.pose.bones[anchor.bone]
        if control.shape is None:
            mechanism = _collection(anchor.object.data, MECHANISM)
            mechanism.is_visible = False
            mechanism.assign(bone)
            bone.rotation_mode = "XYZ"
            continue
        _collection(anchor.object.data, COLLECTION).assign(bone)
        bone.custom_shape = shape_of(control.look.shape if control.look else control.shape)
        if control.look:
            _draw_as(bone, control.matrix, control.look.matrix, _unit(anchor.object))
        bone.color.palette = PALETTE
        bone.rotation_mode = "QUATERNION"


def _collection(armature: Any, name: str) -> bpy.types.BoneCollection:
    """Return a bone collection of an armature, made where it is not there yet."""
    found: bpy.types.BoneCollection | None = armature.collections_all.get(name)
    if found is None:
        found = armature.collections.new(name)
        # While others are shown alone, new controls would be hidden.
        found.is_solo = name == COLLECTION and armature.collections.is_solo_active
    return found


def remove_empty_collections(armature: Any) -> None:
    """Remove the bone collections of controls that hold nothing any more."""
    for name in (COLLECTION, MECHANISM):
        found = armature.collections_all.get(name)
        if found is not None and not found.bones and not found.children:
            armature.collections.remove(found)


def _draw_as(bone: bpy.types.PoseBone, control: Array, shown: Array, unit: float) -> None:
    """Draw a bone somewhere else than where it is.

    Args:
        bone: The bone of a control.
        control: Where that is, world space, shape (4, 4).
        shown: What takes a shape of length one to where it is drawn, world space, shape (4, 4).
        unit: Length of one unit of its armature.
    """
    place = np.linalg.inv(control) @ shown
    sides = np.linalg.norm(place[:3, :3], axis=0)
    if not sides.all():
        # Nothing is as small: such a part is scaled to a point or a plane.
        return
    turn = Matrix((place[:3, :3] / sides).tolist())
    # Lengths of the bone are for whoever sees bones without shapes.
    bone.use_custom_shape_bone_size = False
    bone.custom_shape_translation = (place[:3, 3] / unit).tolist()
    bone.custom_shape_rotation_euler = turn.to_euler()
    bone.custom_shape_scale_xyz = (sides / unit).tolist()


def look_of_bone(armature_object: bpy.types.Object, name: str) -> Look | None:
    """Return how a control bone is drawn around a part of the body; None for others."""
    bone: Any = armature_object.pose.bones[name]
    drawn = bone.custom_shape
    shape = next((each for each in MAKERS if drawn and drawn.name == name_of(each)), None)
    if shape is None or bone.use_custom_shape_bone_size:
        return None
    look = Matrix.LocRotScale(
        bone.custom_shape_translation,
        bone.custom_shape_rotation_euler,
        bone.custom_shape_scale_xyz,
    )
    return Look(shape, array_of(armature_object.matrix_world @ bone.matrix @ look))


def _unit(armature_object: bpy.types.Object) -> float:
    """Return how long one unit of an armature is; one where that is nothing."""
    sides = array_of(armature_object.matrix_world)[:3, :3]
    return float(np.cbrt(abs(np.linalg.det(sides)))) or 1.0


def is_control_bone(anchor: Anchor) -> bool:
    """Tell whether a bone was made as a control."""
    bone = anchor.object.data.bones.get(anchor.bone)
    return bone is not None and COLLECTION in bone.collections
