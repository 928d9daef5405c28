"""Library overrides: items of the library, which cannot be removed, and settings that are saved."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import bpy


def has_linked(armature_object: bpy.types.Object, items: Any, indices: Iterable[int]) -> bool:
    """Return whether any of the items at indices of a collection come from the library.

    Blender has no property for that. Names can be changed here, the library may get more items, and
    the override lists some linked items as inserted. But only local items can be moved, so each
    item is moved to a new last place and back. References to items are invalid afterwards.
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


def create_setting_groups(owner: bpy.types.Object) -> None:
    """Create all groups of settings of an override, so that Blender saves its changes correctly.

    To be called before each save. If only the override or only the library's object has used a
    group, 5.2 saves it as replaced as a whole, cannot read that again and reports an error. Reading
    a group creates it. Other original objects are ignored.
    """
    library = owner.override_library
    if library is not None and library.reference is not None:
        for settings in (owner.chain_ik, library.reference.chain_ik):
            _groups = (settings.body, *(chain.force for chain in settings.chains))
