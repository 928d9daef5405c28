"""Values of animated properties, by data path and index as in F-curves."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple

import bpy

from ..reading.channels import CHANNEL_SIZES, read_floats
from .writer import BulkChannels

PropertyValues = dict[tuple[str, int], Any]
"""Values of properties, by data path and index."""

# A data path ends with the name of a property, or with the name of a custom one in brackets.
_LAST_NAME = re.compile(r'(?:^|\.)(?P<name>\w+)$|\["(?P<custom>(?:[^"\\]|\\.)*)"\]$')
# Errors that Blender raises if data or a property is gone, or has another type than before.
ACCESS_ERRORS = (ReferenceError, AttributeError, LookupError, TypeError, ValueError, OverflowError)

# Threads inside ``_set_attribute``, which makes Blender call the callback of the property.
_setting_threads: set[int] = set()


def is_set_by_user() -> bool:
    """Return whether the user or a script has set the property whose callback asks this."""
    return threading.get_ident() not in _setting_threads


def get_value(owner: bpy.types.ID, path: str, index: int) -> Any:
    """Return the value of a property of some data.

    Raises:
        ACCESS_ERRORS: One of these, if it is gone or has no plain value.
    """
    value: Any = owner.path_resolve(path)
    value = value[index] if _has_components(value) else value
    # Anything but a plain value is part of the data, and may be gone when it is used.
    if not isinstance(value, float | int | str | set):
        raise TypeError(path)
    return value


def set_value(owner: bpy.types.ID, path: str, index: int, value: Any) -> None:
    """Set the value of a property of some data.

    Raises:
        ACCESS_ERRORS: One of these, if it is gone or no longer accepts the value.
    """
    present: Any = owner.path_resolve(path)
    last = _LAST_NAME.search(path)
    if _has_components(present):
        present[index] = value
    elif last is not None:
        parent_path = path[: last.start()]
        parent: Any = owner.path_resolve(parent_path) if parent_path else owner
        if last["name"] is None:
            parent[bpy.utils.unescape_identifier(last["custom"])] = value
        else:
            _set_attribute(parent, last["name"], value)


def _set_attribute(owner: Any, name: str, value: Any) -> None:
    thread = threading.get_ident()
    _setting_threads.add(thread)
    try:
        setattr(owner, name, value)
    finally:
        _setting_threads.discard(thread)


def _has_components(value: Any) -> bool:
    """Return whether a value is a vector: no number, and no item or set of items of an enum."""
    return hasattr(value, "__len__") and not isinstance(value, str | set)


def read_values(owner: bpy.types.ID, paths: Iterable[tuple[str, int]]) -> PropertyValues:
    """Return the values of some properties of some data, without those that are gone."""
    values: PropertyValues = {}
    for path, index in paths:
        # Blender ignores invalid paths as well.
        with suppress(*ACCESS_ERRORS):
            values[path, index] = get_value(owner, path, index)
    return values


class RigValues(NamedTuple):
    """Values of an armature object that animation may set.

    Attributes:
        channels: Channels of all bones.
        properties: Values of properties.
    """

    channels: BulkChannels
    properties: PropertyValues

    @classmethod
    def read(cls, owner: bpy.types.Object, paths: Iterable[tuple[str, int]]) -> RigValues:
        """Return the values of an object, of properties with these data paths and indices."""
        bones, sizes = owner.pose.bones, CHANNEL_SIZES.items()
        channels = {name: read_floats(bones, name, size) for name, size in sizes}
        return cls(channels, read_values(owner, paths))

    def write(self, owner: bpy.types.Object) -> None:
        """Write the values to an object, which must have the same bones; tag nothing."""
        for name, values in self.channels.items():
            owner.pose.bones.foreach_set(name, values)
        for (path, index), value in self.properties.items():
            with suppress(*ACCESS_ERRORS):
                set_value(owner, path, index, value)
