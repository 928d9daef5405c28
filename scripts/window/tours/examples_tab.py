"""Save the empty file that the examples begin with: its sidebar shows the tab of the extension.

A file keeps its tab, but a tab can be chosen only in a window, and the examples are made without
one. Use a Blender before 4.5, for 4.2 opens no newer files. Save the file once more with the oldest
Blender, which then opens it without a warning, as scripts/examples/parts/empty.blend.
"""

from __future__ import annotations

import bpy

from window.driver import REDRAW, Session
from window.tour import Tour


class Steps(Tour):
    """One step, which leaves empty.blend in the folder."""

    ui_scale = 1.0

    def steps(self) -> Session:
        """Yield the seconds to wait, from the first step to the last."""
        yield from self.install()
        bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
        yield REDRAW
        self.viewport.area.spaces.active.show_region_ui = True
        yield REDRAW
        yield from self.show_tab()
        others = [each for each in bpy.data.workspaces if each != self.viewport.window.workspace]
        bpy.data.batch_remove(others)
        yield REDRAW
        bpy.ops.wm.save_as_mainfile(filepath=str(self.folder / "empty.blend"), compress=True)
