"""Functions that make and delete the controls of chains: empties, or bones of the armature."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np

from ..core.algebra.arithmetic import Array
from ..preferences.addon import preferences
from ..properties.chains import active_armature
from ..rig.controls.control_spaces import place
from ..rig.keying.keys import remove_animation
from ..rig.reading.spec import Anchor
from ..rig.tools.control_bones import (
    add_edit_bones,
    can_add_bones,
    check_controls,
    remove_empty_collections,
    rest_matrices,
    style_bones,
)
from ..rig.tools.controls import Control, make_empty
from ..rig.tools.space_keys import remove_spaces_of
from .selection import scene_of

NO_BONES = "New bones cannot be added to an armature from a library, so the controls are empties."


def search_parents(
    _operator: bpy.types.Operator, context: bpy.types.Context | None, text: str
) -> list[str]:
    """Return the bones whose names contain a text; each can be the parent of control bones."""
    owner = None if context is None else active_armature(context)
    names = [] if owner is None else owner.data.bones.keys()
    return [name for name in names if text.lower() in name.lower()]


def choose_control(operator: bpy.types.Operator, context: bpy.types.Context) -> None:
    """Set an operator's kind of controls to that of the preferences, unless a user chose one."""
    settings = cast(Any, operator)
    if not settings.properties.is_property_set("control"):
        settings.control = preferences(context).control


def make_controls(
    context: bpy.types.Context,
    armature_object: bpy.types.Object,
    controls: Sequence[Control],
    kind: str,
) -> list[Anchor]:
    """Make controls at their places, and return them.

    References to bones are invalid afterwards. The armature object becomes the active one if it
    gets bones. It gets empties if it takes no bones, or if the kind is "EMPTY", not "BONE".

    Raises:
        RigError: If a control cannot be a child of its parent; nothing is made then.
    """
    check_controls(armature_object, controls)
    if kind == "EMPTY" or not controls or not can_add_bones(armature_object):
        collection = _collection_beside(context, armature_object)
        return [Anchor(make_empty(collection, control)) for control in controls]
    matrices = rest_matrices(armature_object, controls)
    with _edit_mode(context, armature_object):
        anchors = add_edit_bones(armature_object, controls, matrices)
    style_bones(anchors, controls)
    return anchors


def delete_controls(
    context: bpy.types.Context, armature_object: bpy.types.Object, anchors: Sequence[Anchor]
) -> None:
    """Delete controls, empties or bones of an armature.

    Objects and bones that have them as a space keep their pose, and their motion as keys.
    """
    remove_spaces_of(anchors, scene_of(context))
    bones = [anchor.bone for anchor in anchors if anchor.bone]
    places = _children_matrices(armature_object, bones)
    # Left-over keys and drivers would move a new control of the same name.
    paths = [armature_object.pose.bones[name].path_from_id() for name in bones]
    remove_animation(armature_object, paths)
    for anchor in anchors:
        if not anchor.bone:
            bpy.data.objects.remove(anchor.object)
    if bones:
        with _edit_mode(context, armature_object):
            edit_bones = armature_object.data.edit_bones
            for name in bones:
                edit_bones.remove(edit_bones[name])
        remove_empty_collections(armature_object.data)
    for name, matrix in places.items():
        place(Anchor(armature_object, name), matrix)


def set_parent(
    context: bpy.types.Context, armature_object: bpy.types.Object, name: str, parent: str
) -> None:
    """Make a bone the parent of a bone, whose rest pose stays; linked armatures do not change."""
    bone = armature_object.data.bones[name]
    is_child = bone.parent is not None and bone.parent.name == parent
    if is_child or not can_add_bones(armature_object):
        return
    with _edit_mode(context, armature_object):
        edit_bones = armature_object.data.edit_bones
        edit_bones[name].parent = edit_bones[parent]


def _children_matrices(armature_object: bpy.types.Object, bones: Sequence[str]) -> dict[str, Array]:
    """Return the matrices of the children of bones, armature space, shape (4, 4) each."""
    children = [
        bone
        for bone in armature_object.pose.bones
        if bone.parent is not None and bone.parent.name in bones and bone.name not in bones
    ]
    places = {bone.name: np.array(bone.matrix, dtype=np.float64) for bone in children}
    return {name: matrix for name, matrix in places.items() if np.isfinite(matrix).all()}


def _collection_beside(
    context: bpy.types.Context, armature_object: bpy.types.Object
) -> bpy.types.Collection:
    """Return the collection for empties: one of the armature's, otherwise the scene's.

    So a link to that collection includes the controls. Collections that are hidden, or come from a
    library, get no empties.
    """
    visible = set(_visible_collections(context.view_layer.layer_collection))
    for collection in armature_object.users_collection:
        # Blender cannot add objects to overrides of collections.
        is_local = collection.library is None and collection.override_library is None
        if is_local and collection in visible:
            return collection
    return context.scene.collection


def _visible_collections(layer: bpy.types.LayerCollection) -> Iterator[bpy.types.Collection]:
    if layer.is_visible:
        yield layer.collection
    for child in layer.children:
        yield from _visible_collections(child)


@contextmanager
def _edit_mode(context: bpy.types.Context, armature_object: bpy.types.Object) -> Iterator[None]:
    """Switch an armature to edit mode and back; it becomes the active object."""
    context.view_layer.objects.active = armature_object
    mode = armature_object.mode
    bpy.ops.object.mode_set(mode="EDIT")
    yield
    bpy.ops.object.mode_set(mode=mode)
