"""What animated properties hold, by data path and index as F-curves have them."""

from __future__ import annotations

import re
from typing import Any

import bpy

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
