"""The items that a library override has from its library: they cannot be removed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy


def has_linked(armature_object: bpy.types.Object, items: Any, indices: Iterable[int]) -> bool:
    """Tell whether any of some items of a list come from the library.

    Blender has no property for that. Names can be changed here, the library may get more items,
    and the override lists some linked items as inserted. But only items that were added here can be
    moved, so each is moved to a new last place and back.

    Args:
        armature_object: The original object.
        items: A collection of its settings; references to items are invalid afterwards.
        indices: Of the items.
    """
    if armature_object.override_library is None:
        return False
    items.add()
    last = len(items) - 1
    try:
        for index in indices:
            items.move(index, last)
            items.move(last, index)
    except TypeError:
        return True
    finally:
        items.remove(last)
    return False
