"""The first viewport of the file, without a window: what the overlay would draw there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import bpy
import gpu
import pytest

from blender_ik_addon.overlay.colours import read_colours
from blender_ik_addon.overlay.gathering import find_view, gather
from blender_ik_addon.overlay.known import known
from blender_ik_addon.overlay.strokes import Strokes

NEAR = (0.6, 0.5, 1.2)
"""A target that an arm reaches."""
needs_gpu = pytest.mark.skipif(
    not hasattr(gpu, "init"), reason="before 5.2 the module starts no graphics card by itself"
)


@contextmanager
def in_viewport() -> Iterator[None]:
    """Have the first viewport of the file that is open drawn; nothing is known of it."""
    known.clear()
    window = bpy.context.window_manager.windows[0]
    area = next(area for area in window.screen.areas if area.type == "VIEW_3D")
    region = next(region for region in area.regions if region.type == "WINDOW")
    with bpy.context.temp_override(window=window, area=area, region=region):
        yield
    known.clear()


def strokes() -> Strokes:
    """Return what would be drawn now, made anew where something has changed."""
    known.settle()
    colours = read_colours(bpy.context)
    found = find_view(bpy.context, known, colours)
    return Strokes() if found is None else gather(bpy.context, known, *found)
