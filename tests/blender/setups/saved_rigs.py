"""Rigs that are saved, and opened again or brought in from there; some are made once in a run."""

from collections.abc import Callable
from pathlib import Path

import bpy

from tests.blender.setups import rigs

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
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))


def linked(path: Path, *names: str) -> list[bpy.types.Object]:
    """Save what is open as a library, and link objects of it into the scene of an empty file."""
    return [rigs.link(ob) for ob in link_saved(path, "objects", *names)]


def link_saved(path: Path, kind: str, *names: str) -> list[bpy.types.ID]:
    """Save what is open as a library, and link what of ``bpy.data.<kind>`` has these names."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_found, wanted):
        setattr(wanted, kind, list(names))
    return list(getattr(wanted, kind))
