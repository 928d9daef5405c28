"""Rigs that are saved and then opened or linked; some are made only once in a test run."""

from collections.abc import Callable
from pathlib import Path

import bpy

from tests.blender.setups import rigs

_FILES: dict[str, tuple[str, str]] = {}


def opened(make: Callable[..., bpy.types.Object], **settings: object) -> bpy.types.Object:
    """Open a saved file with the rig of a function, called once per run, and return the rig."""
    rig_key = f"{make.__module__} {make.__name__} {sorted(settings.items())}"
    if rig_key not in _FILES:
        ob = make(**settings)
        path = Path(bpy.app.tempdir) / f"made {len(_FILES)}.blend"
        bpy.ops.wm.save_as_mainfile(filepath=str(path), copy=True)
        _FILES[rig_key] = str(path), ob.name
    filepath, name = _FILES[rig_key]
    bpy.ops.wm.open_mainfile(filepath=filepath)
    return bpy.data.objects[name]


def reopen(path: Path) -> None:
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.open_mainfile(filepath=str(path))


def linked(path: Path, *names: str) -> list[bpy.types.Object]:
    """Save the open file as a library, and link objects from it into the scene of an empty file."""
    return [rigs.link(ob) for ob in link_saved(path, "objects", *names)]


def link_saved(path: Path, kind: str, *names: str) -> list[bpy.types.ID]:
    """Save the open file as a library, and link the named IDs of ``bpy.data.<kind>`` from it."""
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(path), link=True) as (_available, loaded):
        setattr(loaded, kind, list(names))
    return list(getattr(loaded, kind))
