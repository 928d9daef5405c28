"""Selection by a click in the viewport, for operators whose gizmos receive the click."""

from __future__ import annotations

from typing import Any

import bpy

from ...rig.reading.spec import Anchor
from .. import selection


def click(pixel: tuple[int, int], *, toggle: bool) -> None:
    """Select what is at a pixel of the viewport; if nothing is there, nothing changes."""
    result = bpy.ops.view3d.select(location=pixel, deselect_all=False, toggle=toggle)
    if result == {"FINISHED"}:
        bpy.ops.ed.undo_push(message="Select")


def pick(context: bpy.types.Context, anchor: Anchor, *, toggle: bool) -> bool:
    """Select a bone in pose mode, or an object in object mode, as Blender does on a click on it.

    With ``toggle`` other things stay selected, and an active and selected one is deselected.

    Returns:
        Whether it can be selected in this mode; if not, nothing has changed.
    """
    if not anchor.bone:
        return _pick_object(context, anchor.object, toggle=toggle)
    visible = {(bone.id_data, bone.name): bone for bone in context.visible_pose_bones or ()}
    bone = visible.get((anchor.object, anchor.bone))
    if context.mode != "POSE" or bone is None or bone.bone.hide_select:
        return False
    is_deselected = toggle and bone == context.active_pose_bone and _selectable(bone).select
    for other in () if toggle else context.selected_pose_bones:
        _selectable(other).select = False
    # Before Blender 5.0 this selects the bone as well.
    anchor.object.data.bones.active = bone.bone
    _selectable(bone).select = not is_deselected
    selection.view_layer_of(context).objects.active = anchor.object
    return True


def _selectable(bone: bpy.types.PoseBone) -> Any:
    """Return the bone that has ``select``: from Blender 5.0 on the pose bone itself."""
    return bone if hasattr(bone, "select") else bone.bone


def _pick_object(context: bpy.types.Context, picked: bpy.types.Object, *, toggle: bool) -> bool:
    if context.mode != "OBJECT" or picked.hide_select or not picked.visible_get():
        return False
    is_deselected = toggle and picked == context.active_object and picked.select_get()
    for other in () if toggle else context.selected_objects:
        other.select_set(False)
    picked.select_set(not is_deselected)
    selection.view_layer_of(context).objects.active = picked
    return True
