"""Files: of rigs that are made once in a run and opened by each test, and saved on the way."""

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


def reopen(path: Path) -> None:
    """Save what is there to a file, and open that."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))


def link_saved(path: Path, kind: str, name: str) -> bpy.types.ID:
    """Save what is there to a file, and return one thing of it linked into an empty one.

    Args:
        path: Of the file.
        kind: Where ``bpy.data`` has it: ``objects``, ``collections``, ...
        name: Its own.
    """
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        setattr(wanted, kind, [name])
    linked: bpy.types.ID = getattr(wanted, kind)[0]
    return linked
