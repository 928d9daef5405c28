"""Keys that Auto Keying sets after a change, as Blender's transforms do."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy

from ...properties.chains import ChainGroup, owner_of
from ...rig.reading.animation import by_address, curves
from ...rig.reading.spec import Anchor
from ...rig.reading.world import channels_of


def key_moved(
    context: bpy.types.Context, anchor: Anchor, names: Iterable[str] = ("location",)
) -> None:
    """Key the present transform of an object or a bone if Auto Keying is on.

    ``names`` are those of its changed properties.

    Raises:
        RigError: If there is no such bone.
    """
    options = _options(context)
    if options is None:
        return
    transformed, group = channels_of(anchor), anchor.bone or "Object Transforms"
    is_only_available = context.preferences.edit.use_keyframe_insert_available
    keyed = by_address(curves(anchor.object))
    for name in names:
        path = transformed.path_from_id(name)
        for axis in range(len(getattr(transformed, name))):
            if (path, axis) in keyed or not is_only_available:
                transformed.keyframe_insert(name, index=axis, group=group, **options)


def key_setting(context: bpy.types.Context, settings: ChainGroup, name: str) -> None:
    """Key a setting that has keys already, as Blender does after a change of its field."""
    owner, path, options = owner_of(settings), settings.path_from_id(name), _options(context)
    if options is not None and any(curve.data_path == path for curve in curves(owner)):
        owner.keyframe_insert(path, **options)


def _options(context: bpy.types.Context) -> dict[str, Any] | None:
    """Return the arguments of ``keyframe_insert``; None while Auto Keying is off."""
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
