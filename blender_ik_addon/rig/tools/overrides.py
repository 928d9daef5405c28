"""Library overrides: items of the library, which cannot be removed, and settings that are saved."""

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


def make_groups(owner: bpy.types.Object) -> None:
    """Have Blender save what an override changes in groups of settings; before each save.

    Of a group that only the override or only the library's object has used, 5.2 saves that all of
    it is replaced. It cannot read that again, and reports an error. Reading a group makes it.

    Args:
        owner: The original object; any.
    """
    library = owner.override_library
    if library is not None and library.reference is not None:
        for settings in (owner.chain_ik, library.reference.chain_ik):
            _groups = (settings.body, *(chain.force for chain in settings.chains))
