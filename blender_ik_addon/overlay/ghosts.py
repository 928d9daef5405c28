"""Ghosts: the poses of compared solvers in different colours, with the names at the tips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import gpu
import numpy as np
from bpy.app.translations import pgettext_iface

from ..preferences.colours import ghost_colours, width_of
from ..properties.choices import LABEL_CONTEXT
from ..properties.compared.comparison_results import last_comparison
from .batches import draw_lines, make_batch
from .colours import Rgba, read_colours
from .dots import draw_dots
from .strokes import Pieces
from .viewport_labels import find_pixels, write

PixelPlace = tuple[float, float]

# Height of a line of text, and distance from a tip to its name, in pixels at an interface scale
# of 1.
LINE_HEIGHT = 21.0
NAME_OFFSET = 12.0
# Two names on one line may overlap if their left ends are nearer than this, in line heights.
NAME_WIDTH = 12.0
# Ghosts are slightly transparent, because they are not the real pose.
GHOST_ALPHA = 0.85
# Line width of the chosen ghost, as a multiple of the others' width.
CHOSEN_WIDTH_FACTOR = 2.0
# Diameter of a dot, in line widths.
DOT_DIAMETER = 3.0


class Ghost(NamedTuple):
    """One pose to draw.

    Attributes:
        name: Name of the solver.
        joints: World space, a float32 array of shape (m + 1, 3).
        colour: With alpha.
        is_chosen: Whether its row is chosen in the panel.
    """

    name: str
    joints: Any
    colour: Rgba
    is_chosen: bool = False


def find_ghosts(context: bpy.types.Context) -> list[Ghost]:
    """Return the ghosts to draw in a viewport; empty if nothing is compared, or they are off."""
    compared = last_comparison(context.window_manager)
    if not compared.show_ghosts or compared.chain is None:
        return []
    space = context.space_data
    if isinstance(space, bpy.types.SpaceView3D) and not space.overlay.show_overlays:
        return []
    colours = ghost_colours(context, len(compared.solvers))
    pairs = enumerate(zip(compared.solvers, colours, strict=True))
    return [
        Ghost(row.name, row.ghost(), (*colour, GHOST_ALPHA), i == compared.active_index)
        for i, (row, colour) in pairs
        if row.is_solved
    ]


def spread_names(places: Sequence[PixelPlace], line: float) -> list[PixelPlace]:
    """Return places of names that do not overlap; a name moves below the names before it.

    Args:
        places: Left ends of the names, which may overlap, pixels.
        line: Height of a line, pixels.
    """
    spread: list[PixelPlace] = []
    for x, y in places:
        while near := [
            b for a, b in spread if abs(x - a) < NAME_WIDTH * line and abs(y - b) < line
        ]:
            y = min(near) - line
        spread.append((x, y))
    return spread


def _chosen_last(drawn: Sequence[Ghost]) -> list[Ghost]:
    """Return the ghosts in the order of drawing: the chosen one last, over the others."""
    return sorted(drawn, key=lambda ghost: ghost.is_chosen)


def draw_in_scene() -> None:
    """Draw the lines of the ghosts."""
    context, drawn = bpy.context, find_ghosts(bpy.context)
    if not drawn:
        return
    size, width = (context.region.width, context.region.height), width_of(context, "ghost_width")
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE")
    for ghost in _chosen_last(drawn):
        batch = make_batch("LINE_STRIP", Pieces([ghost.joints], [ghost.colour]).join())
        assert batch is not None
        draw_lines(batch, size, CHOSEN_WIDTH_FACTOR * width if ghost.is_chosen else width)
    gpu.state.blend_set("NONE")


def draw_on_screen() -> None:
    """Draw the dots of the ghosts, and the names of their solvers."""
    context, drawn = bpy.context, find_ghosts(bpy.context)
    if not drawn:
        return
    # The scale is zero in background mode.
    scale, colours = context.preferences.system.ui_scale or 1.0, read_colours(context)
    dots, matrix = Pieces(), context.region_data.perspective_matrix
    for ghost in _chosen_last(drawn):
        dots.add(ghost.joints, ghost.colour)
    batch = make_batch("POINTS", dots.join())
    assert batch is not None
    gpu.state.blend_set("ALPHA")
    draw_dots(batch, matrix, DOT_DIAMETER * width_of(context, "ghost_width"), scale, colours.back)
    tips = np.array([ghost.joints[-1] for ghost in drawn])
    size = context.region.width, context.region.height
    pixels = find_pixels(tips, np.array(matrix), size)
    pixels[:, 0] += NAME_OFFSET * scale
    # Tips behind the eye have no pixels.
    visible = np.isfinite(pixels[:, 0]).nonzero()[0].tolist()
    places = spread_names(pixels[visible].tolist(), LINE_HEIGHT * scale)
    texts = [
        (pgettext_iface(drawn[i].name, LABEL_CONTEXT), drawn[i].colour, x, y)
        for i, (x, y) in zip(visible, places, strict=True)
    ]
    write(texts, scale, colours.plate)
    gpu.state.blend_set("NONE")
