"""What settings have in common: they can be overridden, and a change solves anew."""

from __future__ import annotations

from typing import Literal, cast

import bpy

OVERRIDABLE: set[Literal["LIBRARY_OVERRIDABLE"]] = {"LIBRARY_OVERRIDABLE"}
EXTENSIBLE: set[Literal["LIBRARY_OVERRIDABLE", "USE_INSERTION"]] = {
    "LIBRARY_OVERRIDABLE",
    "USE_INSERTION",
}
# Of bones, in bytes.
LONGEST_NAME = 63


def tag(settings: bpy.types.PropertyGroup, _context: bpy.types.Context | None = None) -> None:
    """Have Blender evaluate the rig, so that the handler sees the change."""
    cast(bpy.types.Object, settings.id_data).update_tag()
