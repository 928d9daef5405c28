"""Save the empty file that the examples begin with: its sidebar shows the tab of the extension.

    BLENDER_USER_RESOURCES=$(mktemp -d) blender --factory-startup --enable-event-simulate \
        --python scripts/window/examples_tab.py -- dist/chain_ik-*.zip /tmp

A file keeps its tab, but a tab can be chosen only in a window, and the examples are made without
one. Use a Blender before 4.5, for 4.2 opens no newer files. Save the file once more with the oldest
Blender, which then opens it without a warning, as scripts/examples/parts/empty.blend.
"""

from __future__ import annotations

import sys
from pathlib import Path

import bpy

# Blender puts the folder of a script that it runs on no path.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from window.driver import REDRAW, Session, Viewport, play, read_paths
from window.opening import install, show_tab


def steps(zip_path: Path, folder: Path) -> Session:
    """Yield the seconds to wait, from the first step to the last."""
    viewport = Viewport()
    yield from install(viewport, zip_path)
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    yield REDRAW
    viewport.area.spaces.active.show_region_ui = True
    yield REDRAW
    yield from show_tab(viewport)
    others = [each for each in bpy.data.workspaces if each != viewport.window.workspace]
    bpy.data.batch_remove(others)
    yield REDRAW
    path = folder / "empty.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path), compress=True)
    print(f"written: {path}, {path.stat().st_size / 1024.0:.0f} KB")


if __name__ == "__main__":
    play(steps(*read_paths("the zip, a folder for the file")))
