"""Rigs that are made once in a run, saved, and opened by each test: setting up takes far longer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy

_FILES: dict[str, tuple[str, str]] = {}


def opened(make: Callable[..., bpy.types.Object], **settings: object) -> bpy.types.Object:
    """Open the file with what a function makes in an empty one, and return the object."""
    known = f"{make.__module__} {make.__name__} {sorted(settings.items())}"
    if known not in _FILES:
        ob = make(**settings)
        path = Path(bpy.app.tempdir) / f"made {len(_FILES)}.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
        _FILES[known] = str(path), ob.name
    path_of, name = _FILES[known]
    bpy.ops.wm.open_mainfile(filepath=path_of)
    return bpy.data.objects[name]
