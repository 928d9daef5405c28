"""What a click in the viewport selects, where gizmos are in front of it."""

from __future__ import annotations

from typing import Any

import bpy

from ...rig.reading.spec import Anchor
from .. import selection


def click(pixel: tuple[int, int], *, toggle: bool) -> None:
    """Select what is at a pixel of the viewport; a click on nothing changes nothing."""
    found = bpy.ops.view3d.select(location=pixel, deselect_all=False, toggle=toggle)
    if found == {"FINISHED"}:
        bpy.ops.ed.undo_push(message="Select")


def pick(context: bpy.types.Context, anchor: Anchor, *, toggle: bool) -> bool:
    """Select a bone in pose mode, or an object in object mode, as Blender does on a click on it.

    Args:
        context: With the viewport.
        anchor: What to select.
        toggle: Whether all else stays selected; what is active is deselected then.

    Returns:
        Whether it can be selected in this mode; if not, nothing is changed.
    """
    if not anchor.bone:
        return _pick_object(context, anchor.object, toggle=toggle)
    shown = {(bone.id_data, bone.name): bone for bone in context.visible_pose_bones or ()}
    bone = shown.get((anchor.object, anchor.bone))
    if context.mode != "POSE" or bone is None or bone.bone.hide_select:
        return False
    is_off = toggle and bone == context.active_pose_bone and _holder(bone).select
    for each in () if toggle else context.selected_pose_bones:
        _holder(each).select = False
    # Before Blender 5.0 the active bone is selected by that alone.
    anchor.object.data.bones.active = bone.bone
    _holder(bone).select = not is_off
    selection.view_layer_of(context).objects.active = anchor.object
    return True


def _holder(bone: bpy.types.PoseBone) -> Any:
    """Return what tells whether a bone is selected: from Blender 5.0 on the pose bone itself."""
    return bone if hasattr(bone, "select") else bone.bone


def _pick_object(context: bpy.types.Context, picked: bpy.types.Object, *, toggle: bool) -> bool:
    if context.mode != "OBJECT" or picked.hide_select or not picked.visible_get():
        return False
    is_off = toggle and picked == context.active_object and picked.select_get()
    for each in () if toggle else context.selected_objects:
        each.select_set(False)
    picked.select_set(not is_off)
    selection.view_layer_of(context).objects.active = picked
    return True
