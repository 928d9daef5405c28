"""Keys that Auto Keying sets on what a person has just moved, as Blender's own transforms do."""

from __future__ import annotations

from typing import Any

import bpy

from ...properties.chains import ChainGroup, owner_of
from ...rig.reading.animation import curves
from ...rig.reading.spec import Anchor
from ...rig.reading.world import channels_of


def key_location(context: bpy.types.Context, anchor: Anchor) -> None:
    """Key the location of an object or a bone as it stands.

    Raises:
        RigError: If there is no such bone.
    """
    options = _options(context)
    if options is None:
        return
    moved, group = channels_of(anchor), anchor.bone or "Object Transforms"
    path = moved.path_from_id("location")
    keyed = {curve.array_index for curve in curves(anchor.object) if curve.data_path == path}
    for axis in range(3):
        if axis in keyed or not context.preferences.edit.use_keyframe_insert_available:
            moved.keyframe_insert("location", index=axis, group=group, **options)


def key_setting(context: bpy.types.Context, settings: ChainGroup, name: str) -> None:
    """Key a setting that has keys already, as Blender does when its field is changed."""
    owner, path, options = owner_of(settings), settings.path_from_id(name), _options(context)
    if options is not None and any(curve.data_path == path for curve in curves(owner)):
        owner.keyframe_insert(path, **options)


def _options(context: bpy.types.Context) -> dict[str, Any] | None:
    """Return how ``keyframe_insert`` is to key; None while Auto Keying is off."""
    scene, edit = context.scene, context.preferences.edit
    if scene is None or not scene.tool_settings.use_keyframe_insert_auto:
        return None
    tools = scene.tool_settings
    options = {
        "INSERTKEY_NEEDED": edit.use_auto_keyframe_insert_needed,
        "INSERTKEY_CYCLE_AWARE": tools.use_keyframe_cycle_aware,
        "INSERTKEY_REPLACE": tools.auto_keying_mode == "REPLACE_KEYS",
    }
    return {
        "frame": scene.frame_current_final,
        "options": {name for name, is_on in options.items() if is_on},
        "keytype": tools.keyframe_type,
    }
