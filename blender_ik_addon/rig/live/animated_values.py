"""What animated properties hold, by data path and index as F-curves have them."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import bpy

from ..reading.animation import animated_paths
from ..reading.channels import CHANNEL_SIZES, read_floats

# A data path ends with the name of a property, or with that of a custom one in brackets.
_LAST_NAME = re.compile(r'(?:^|\.)(?P<name>\w+)$|\["(?P<custom>(?:[^"\\]|\\.)*)"\]$')
# What Blender raises for data and properties that are gone, or are not what they were.
UNFIT = (ReferenceError, AttributeError, LookupError, TypeError, ValueError, OverflowError)


def value_at(owner: bpy.types.ID, path: str, index: int) -> Any:
    """Return what a property of some data holds.

    Raises:
        UNFIT: One of these, if it is gone or holds no plain value.
    """
    value: Any = owner.path_resolve(path)
    value = value[index] if _has_components(value) else value
    # Anything but a plain value is part of the data, and may be gone when it is read.
    if not isinstance(value, float | int | str | set):
        raise TypeError(path)
    return value


def set_value(owner: bpy.types.ID, path: str, index: int, value: Any) -> None:
    """Have a property of some data hold a value.

    Raises:
        UNFIT: One of these, if it is gone or does not take the value any more.
    """
    found: Any = owner.path_resolve(path)
    last = _LAST_NAME.search(path)
    if _has_components(found):
        found[index] = value
    elif last is not None:
        place = path[: last.start()]
        holder: Any = owner.path_resolve(place) if place else owner
        if last["name"] is None:
            holder[bpy.utils.unescape_identifier(last["custom"])] = value
        else:
            setattr(holder, last["name"], value)


def _has_components(value: Any) -> bool:
    """Tell a vector from a number and from an item, or items, of a list of choices."""
    return hasattr(value, "__len__") and not isinstance(value, str | set)


def keep_animated_values(original: bpy.types.Object, evaluated: bpy.types.Object) -> None:
    """Copy everything animated on an armature object from its evaluated copy.

    To be called before a chain writes to it in a hidden graph. A render, and an Alembic or USD
    export, evaluates a dependency graph of its own, and a script that sets a frame those of all
    view layers. Only graphs that a viewport has shown flush animated values to the original data.
    Writing any channel of the original copies all of it into the hidden graph, with the values of
    another frame: every other animated channel would freeze, the settings of chains as well.
    """
    for name, size in CHANNEL_SIZES.items():
        original.pose.bones.foreach_set(name, read_floats(evaluated.pose.bones, name, size))
    for path, index in animated_paths(original):
        # Blender ignores a path to something that is gone as well.
        with suppress(*UNFIT):
            set_value(original, path, index, value_at(evaluated, path, index))
