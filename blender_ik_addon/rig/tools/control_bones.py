"""Control bones: bones of the same armature that chains follow, drawn with custom shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...core.algebra import rotation
from ...core.algebra.arithmetic import Array
from ..controls.control_shapes import MAKERS, name_of, shape_of
from ..controls.control_sizes import ControlLook
from ..controls.foot_roll import MECHANISM
from ..planning.checks import bone_not_finite, check_scale, is_flat
from ..reading.refusals import RigError
from ..reading.spec import Anchor
from ..reading.world import array_of
from .controls import BONE_SIZE, Control

COLLECTION = "Chain IK Controls"
PALETTE = "THEME09"
# Minimum length of a new bone, as a share of its largest coordinate (of 1 at least). Blender
# deletes bones of zero length, and float32 resolves this share of the coordinates well.
MIN_LENGTH_SHARE = 1e-4


def can_add_bones(armature_object: bpy.types.Object) -> bool:
    """Return whether bones can be added to an armature; Blender edits no library data."""
    data_blocks = armature_object, armature_object.data
    return all(block.library is None and block.override_library is None for block in data_blocks)


def check_controls(armature_object: bpy.types.Object, controls: Sequence[Control]) -> None:
    """Raise a ``RigError`` if an object's scale allows no controls, or a parent does not exist."""
    check_scale(armature_object, array_of(armature_object.matrix_world))
    for parent in [control.parent for control in controls if control.parent]:
        if parent not in armature_object.data.bones:
            raise RigError(
                "Bone '{parent}' does not exist: choose another parent for the controls.",
                parent=parent,
            )


def rest_matrices(armature_object: bpy.types.Object, controls: Sequence[Control]) -> list[Array]:
    """Return the rest matrices with which new bones are at the present places of their controls.

    One for each control, armature space, shape (4, 4).

    Raises:
        RigError: If the pose of a parent is not finite, or its scale is zero.
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
            # A hand of zero scale has no orientation, and Blender deletes a bone with this matrix.
            matrix[:3, :3] = np.eye(3)
    return matrices


def _rest_under(armature_object: bpy.types.Object, parent: str) -> Array:
    """Return the matrix (4, 4) from the pose of a parent to its rest pose, armature space."""
    if not parent:
        return np.eye(4)
    bone = armature_object.pose.bones[parent]
    posed = array_of(bone.matrix)
    if not np.isfinite(posed).all():
        raise bone_not_finite(parent)
    if is_flat(posed):
        raise RigError(
            "Bone '{parent}' has a scale of zero, so it cannot be the parent of controls: choose"
            " another parent for the controls.",
            parent=parent,
        )
    return array_of(bone.bone.matrix_local) @ np.linalg.inv(posed)


def add_edit_bones(
    armature_object: bpy.types.Object, controls: Sequence[Control], matrices: Sequence[Array]
) -> list[Anchor]:
    """Add bones to an armature in edit mode; return anchors, which outlive edit bones."""
    edit_bones = armature_object.data.edit_bones
    unit = _unit(armature_object)
    anchors: list[Anchor] = []
    for control, matrix in zip(controls, matrices, strict=True):
        bone = edit_bones.new(control.name)
        min_length = MIN_LENGTH_SHARE * max(1.0, float(np.abs(matrix[:3, 3]).max()))
        bone.tail = (0.0, max(BONE_SIZE * control.length / unit, min_length), 0.0)
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
    """Return a bone collection of an armature; create it if it does not exist."""
    collection: bpy.types.BoneCollection | None = armature.collections_all.get(name)
    if collection is None:
        collection = armature.collections.new(name)
        # If other collections are solo, new controls would be hidden.
        collection.is_solo = name == COLLECTION and armature.collections.is_solo_active
    return collection


def remove_empty_collections(armature: Any) -> None:
    """Remove the bone collections of controls that are empty."""
    for name in (COLLECTION, MECHANISM):
        collection = armature.collections_all.get(name)
        if collection is not None and not collection.bones and not collection.children:
            armature.collections.remove(collection)


def _draw_as(bone: bpy.types.PoseBone, control: Array, display_matrix: Array, unit: float) -> None:
    """Draw the bone of a control (4, 4) at another place than its own, both in world space.

    ``display_matrix`` leads from a shape of length one to its display, shape (4, 4). ``unit`` is
    the length of one armature unit in world space.
    """
    display = np.linalg.inv(control) @ display_matrix
    sides = np.linalg.norm(display[:3, :3], axis=0)
    if not sides.all():
        # The part of the body is scaled to a point or a plane: keep the default shape.
        return
    rotation_matrix = Matrix((display[:3, :3] / sides).tolist())
    # The length of the bone only matters where shapes are not drawn.
    bone.use_custom_shape_bone_size = False
    bone.custom_shape_translation = (display[:3, 3] / unit).tolist()
    bone.custom_shape_rotation_euler = rotation_matrix.to_euler()
    bone.custom_shape_scale_xyz = (sides / unit).tolist()


def look_of_bone(armature_object: bpy.types.Object, name: str) -> ControlLook | None:
    """Return how a control bone is drawn around a part of the body; None for other bones."""
    bone: Any = armature_object.pose.bones[name]
    drawn = bone.custom_shape
    shape = next((kind for kind in MAKERS if drawn and drawn.name == name_of(kind)), None)
    if shape is None or bone.use_custom_shape_bone_size:
        return None
    look = Matrix.LocRotScale(
        bone.custom_shape_translation, bone.custom_shape_rotation_euler, bone.custom_shape_scale_xyz
    )
    return ControlLook(shape, array_of(armature_object.matrix_world @ bone.matrix @ look))


def _unit(armature_object: bpy.types.Object) -> float:
    """Return the length of one armature unit in world space; 1 if the scale is zero."""
    sides = array_of(armature_object.matrix_world)[:3, :3]
    return float(np.cbrt(abs(np.linalg.det(sides)))) or 1.0


def is_control_bone(anchor: Anchor) -> bool:
    """Return whether a bone is a control bone, by its bone collection."""
    bone = anchor.object.data.bones.get(anchor.bone)
    return bone is not None and COLLECTION in bone.collections
