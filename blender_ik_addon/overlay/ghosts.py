"""Ghosts: the poses of compared solvers, each in its own colour, with its name at the tip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import gpu
import numpy as np
from bpy.app.translations import pgettext_iface

from ..preferences.colours import ghost_colours, width_of
from ..properties.choices import OWN_WORDS
from ..properties.compared.kept import kept_of
from .batches import draw_lines, make_batch
from .colours import Colour, read_colours
from .dots import draw_dots
from .strokes import Pieces
from .words import find_pixels, write

Place = tuple[float, float]

# Pixels at an interface scale of 1: height of a line of text, distance from a tip to its name.
LINE = 21.0
ASIDE = 12.0
# Names nearer than this side by side, in heights of a line, would overlap.
WIDE = 12.0
# Ghosts are slightly transparent, as they are not the real pose.
ALPHA = 0.85
# The chosen ghost is this many times as wide as the others.
CHOSEN = 2.0
# Diameter of a dot, in line widths.
ACROSS = 3.0


class Ghost(NamedTuple):
    """One pose to draw.

    Attributes:
        name: Of its solver.
        joints: World space, a float32 array of shape (m + 1, 3).
        colour: With alpha.
        is_chosen: Whether its row is the one that is chosen in the panel.
    """

    name: str
    joints: Any
    colour: Colour
    is_chosen: bool = False


def ghosts(context: bpy.types.Context) -> list[Ghost]:
    """Return the ghosts to draw in a viewport; none if nothing is compared, or they are off."""
    kept = kept_of(context.window_manager)
    if not kept.show_ghosts or kept.chain is None:
        return []
    space = context.space_data
    if isinstance(space, bpy.types.SpaceView3D) and not space.overlay.show_overlays:
        return []
    colours = ghost_colours(context, len(kept.solvers))
    pairs = enumerate(zip(kept.solvers, colours, strict=True))
    return [
        Ghost(row.name, row.ghost(), (*colour, ALPHA), i == kept.active_index)
        for i, (row, colour) in pairs
        if row.is_solved
    ]


def side_by_side(places: Sequence[Place], line: float) -> list[Place]:
    """Return places of names that do not overlap: each is moved below those before it.

    Args:
        places: Left ends of the names before that, pixels.
        line: Height of a line, pixels.
    """
    found: list[Place] = []
    for x, y in places:
        while near := [b for a, b in found if abs(x - a) < WIDE * line and abs(y - b) < line]:
            y = min(near) - line
        found.append((x, y))
    return found


def _chosen_last(found: Sequence[Ghost]) -> list[Ghost]:
    """Return the ghosts in the order of drawing: the chosen one covers others in its place."""
    return sorted(found, key=lambda each: each.is_chosen)


def draw_in_scene() -> None:
    """Draw lines."""
    context, found = bpy.context, ghosts(bpy.context)
    if not found:
        return
    size, width = (context.region.width, context.region.height), width_of(context, "ghost_width")
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE")
    for each in _chosen_last(found):
        batch = make_batch("LINE_STRIP", Pieces([each.joints], [each.colour]).join())
        assert batch is not None
        draw_lines(batch, size, CHOSEN * width if each.is_chosen else width)
    gpu.state.blend_set("NONE")


def draw_on_screen() -> None:
    """Draw dots, and the names of solvers."""
    context, found = bpy.context, ghosts(bpy.context)
    if not found:
        return
    # The scale is zero in background mode.
    scale, colours = context.preferences.system.ui_scale or 1.0, read_colours(context)
    dots, matrix = Pieces(), context.region_data.perspective_matrix
    for each in _chosen_last(found):
        dots.add(each.joints, each.colour)
    batch = make_batch("POINTS", dots.join())
    assert batch is not None
    gpu.state.blend_set("ALPHA")
    draw_dots(batch, matrix, ACROSS * width_of(context, "ghost_width"), scale, colours.back)
    tips = np.array([each.joints[-1] for each in found])
    size = context.region.width, context.region.height
    pixels = find_pixels(tips, np.array(matrix), size)
    pixels[:, 0] += ASIDE * scale
    # Those behind the eye have none.
    seen = np.isfinite(pixels[:, 0]).nonzero()[0].tolist()
    places = side_by_side(pixels[seen].tolist(), LINE * scale)
    texts = [
        (pgettext_iface(found[i].name, OWN_WORDS), found[i].colour, x, y)
        for i, (x, y) in zip(seen, places, strict=True)
    ]
    write(texts, scale, colours.plate)
    gpu.state.blend_set("NONE")
