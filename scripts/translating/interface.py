"""What Blender shows of the registered extension: labels, tooltips and names of choices."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy
from bl_ui.utils import PresetPanel

from blender_ik_addon.translations.catalogue import LABEL, OPERATOR

from .sources import Entry

BASES = (
    bpy.types.Operator,
    bpy.types.Panel,
    bpy.types.Menu,
    bpy.types.UIList,
    bpy.types.PropertyGroup,
    bpy.types.AddonPreferences,
)
OF_NAMES = bpy.types.PropertyGroup.bl_rna.properties["name"].description
"""Blender's own words for the name of anything, which it translates itself."""


def interface_entries(package: str) -> Iterator[Entry]:
    """Yield what the registered classes of a package show."""
    for base in BASES:
        for shown in sorted(_subclasses(base), key=lambda each: (each.__module__, each.__name__)):
            # Blender gives a panel of presets the name of the last one as its label, else its own.
            is_ours = shown.__module__.startswith(f"{package}.") and shown.is_registered
            if is_ours and not issubclass(shown, PresetPanel):
                yield from _entries_of(shown)


def _subclasses(base: type) -> set[Any]:
    own = set(base.__subclasses__())
    return own.union(*(_subclasses(each) for each in own))


def _entries_of(shown: Any) -> Iterator[Entry]:
    """Yield what one class shows: its own words, and those of its properties."""
    name, rna = shown.__name__, shown.bl_rna
    if issubclass(shown, bpy.types.Operator):
        module, _, operator = shown.bl_idname.partition(".")
        rna = getattr(getattr(bpy.ops, module), operator).get_rna_type()
        yield Entry(OPERATOR, rna.name, name)
        yield Entry(LABEL, rna.description, name)
    else:
        context = getattr(shown, "bl_translation_context", None) or LABEL
        yield Entry(context, getattr(shown, "bl_label", None) or "", name)
        for attribute in ("bl_description", "bl_category"):
            yield Entry(LABEL, getattr(shown, attribute, None) or "", name)
    package = shown.__module__.partition(".")[0]
    own = [each for each in shown.__mro__ if each.__module__.partition(".")[0] == package]
    annotated = {key for each in own for key in vars(each).get("__annotations__", {})}
    for each in rna.properties:
        if each.identifier in annotated and not each.is_hidden:
            yield from _entries_of_property(each, f"{name}.{each.identifier}")


def _entries_of_property(shown: Any, place: str) -> Iterator[Entry]:
    if shown.name == shown.identifier:
        # Groups and lists, which are never shown as such.
        return
    context = shown.translation_context or LABEL
    yield Entry(context, shown.name, place)
    if shown.description != OF_NAMES:
        yield Entry(LABEL, shown.description, place)
    if shown.type == "ENUM":
        for item in shown.enum_items_static:
            yield Entry(context, item.name, f"{place}.{item.identifier}")
            yield Entry(LABEL, item.description, f"{place}.{item.identifier}")
