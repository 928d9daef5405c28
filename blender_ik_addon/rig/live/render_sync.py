"""Keep what animation gives an armature object while a chain writes to it in a hidden graph.

A render, and an Alembic or USD export, evaluates a dependency graph of its own, and a script that
sets a frame those of all view layers. Only graphs that a viewport has shown flush animated values
to the original data. Writing any channel of the original copies all of it into the hidden graph,
with the values of another frame: every other animated channel would freeze, the settings of chains
as well. So the values of the hidden graph's frame are copied to the original first.
"""

from __future__ import annotations

from typing import Any

import bpy

from ..reading.animation import animated_paths
from ..reading.channels import CHANNEL_SIZES, read_floats


def keep_animated_values(original: bpy.types.Object, evaluated: bpy.types.Object) -> None:
    """Copy everything animated on an armature object from its evaluated copy."""
    for name, size in CHANNEL_SIZES.items():
        original.pose.bones.foreach_set(name, read_floats(evaluated.pose.bones, name, size))
    for path, index in animated_paths(original):
        _copy_value(original, evaluated, path, index)


def _copy_value(
    original: bpy.types.Object, evaluated: bpy.types.Object, path: str, index: int
) -> None:
    owner_path, name, key = _split(path)
    try:
        value: Any = evaluated.path_resolve(path)
        owner: Any = original.path_resolve(owner_path) if owner_path else original
    except ValueError:
        return  # A path to something that is gone; Blender ignores it as well.
    if key is not None:
        owner[key] = value
    elif isinstance(value, (bool, int, float, str)):
        setattr(owner, name, value)
    else:
        getattr(owner, name)[index] = value[index]


def _split(path: str) -> tuple[str, str, str | None]:
    """Return owner path and attribute of a data path, or owner path and custom property key."""
    if path.endswith('"]'):
        owner, _, key = path.rpartition('["')
        return owner, "", bpy.utils.unescape_identifier(key[:-2])
    owner, _, name = path.rpartition(".")
    return owner, name, None
