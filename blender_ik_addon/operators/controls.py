"""Making and deleting the controls of chains: empties, or bones of the same armature."""

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
    check_controls,
    remove_empty_collections,
    rest_matrices,
    style_bones,
    takes_bones,
)
from ..rig.tools.controls import Control, make_empty
from ..rig.tools.space_keys import leave
from .selection import scene_of

NO_BONES = "An armature from a library takes no new bones, so the controls are empties."


def parents(
    _operator: bpy.types.Operator, context: bpy.types.Context | None, text: str
) -> list[str]:
    """Return the bones that can be parents of control bones and whose names match a text."""
    owner = None if context is None else active_armature(context)
    names = [] if owner is None else owner.data.bones.keys()
    return [name for name in names if text.lower() in name.lower()]


def choose_control(operator: bpy.types.Operator, context: bpy.types.Context) -> None:
    """Set an operator's kind of controls to that of the preferences, unless one was given."""
    settings = cast(Any, operator)
    if not settings.properties.is_property_set("control"):
        settings.control = preferences(context).control


def make_controls(
    context: bpy.types.Context,
    armature_object: bpy.types.Object,
    controls: Sequence[Control],
    kind: str,
) -> list[Anchor]:
    """Make controls where they belong, and return them.

    References to bones are invalid afterwards.

    Args:
        context: Its view layer shows where empties can go.
        armature_object: Gets the bones, and becomes the active object then.
        controls: What to make.
        kind: "BONE" or "EMPTY"; an armature that takes no bones gets empties.

    Raises:
        RigError: If nothing can hang under a parent; nothing is made then.
    """
    check_controls(armature_object, controls)
    if kind == "EMPTY" or not controls or not takes_bones(armature_object):
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
    """Delete controls: empties, and bones of an armature; what goes along with them stays.

    Its motion stays as well, with keys.
    """
    leave(anchors, scene_of(context))
    bones = [anchor.bone for anchor in anchors if anchor.bone]
    places = _places_of_hung(armature_object, bones)
    # They would move a new control of that name.
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


def _places_of_hung(armature_object: bpy.types.Object, bones: Sequence[str]) -> dict[str, Array]:
    """Return where bones stand that hang under some others, armature space, shape (4, 4) each."""
    hung = [
        bone
        for bone in armature_object.pose.bones
        if bone.parent is not None and bone.parent.name in bones and bone.name not in bones
    ]
    places = {bone.name: np.array(bone.matrix, dtype=np.float64) for bone in hung}
    return {name: matrix for name, matrix in places.items() if np.isfinite(matrix).all()}


def _collection_beside(
    context: bpy.types.Context, armature_object: bpy.types.Object
) -> bpy.types.Collection:
    """Return the collection that takes empties: one of the armature's, else the scene's own.

    So whoever links that collection gets the controls with it. Collections that are not shown, or
    come from a library, take none.
    """
    shown = set(_shown_below(context.view_layer.layer_collection))
    for collection in armature_object.users_collection:
        # Blender adds nothing to overrides of collections either.
        is_own = collection.library is None and collection.override_library is None
        if is_own and collection in shown:
            return collection
    return context.scene.collection


def _shown_below(layer: bpy.types.LayerCollection) -> Iterator[bpy.types.Collection]:
    if layer.is_visible:
        yield layer.collection
    for child in layer.children:
        yield from _shown_below(child)


@contextmanager
def _edit_mode(context: bpy.types.Context, armature_object: bpy.types.Object) -> Iterator[None]:
    """Keep an armature in edit mode meanwhile; it becomes the active object."""
    context.view_layer.objects.active = armature_object
    mode = armature_object.mode
    bpy.ops.object.mode_set(mode="EDIT")
    yield
    bpy.ops.object.mode_set(mode=mode)
