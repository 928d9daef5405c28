"""The settings of Auto Keying, as Blender's own transforms use them."""

from __future__ import annotations

import bpy

from ...rig.keying.auto_keys import AutoKeying


def auto_keying(context: bpy.types.Context) -> AutoKeying | None:
    """Return how to key what was just moved; None while Auto Keying is off."""
    scene, edit = context.scene, context.preferences.edit
    if scene is None or not scene.tool_settings.use_keyframe_insert_auto:
        return None
    tools = scene.tool_settings
    options = {
        "INSERTKEY_NEEDED": edit.use_auto_keyframe_insert_needed,
        "INSERTKEY_CYCLE_AWARE": tools.use_keyframe_cycle_aware,
        "INSERTKEY_REPLACE": tools.auto_keying_mode == "REPLACE_KEYS",
    }
    return AutoKeying(
        frame=scene.frame_current_final,
        options=frozenset(name for name, is_on in options.items() if is_on),
        kind=tools.keyframe_type,
        only_keyed=edit.use_keyframe_insert_available,
    )
