"""The poses that solvers were compared by, each in its own colour, its name at its tip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import bpy
import gpu
from bpy.app.translations import pgettext_iface
from bpy_extras.view3d_utils import location_3d_to_region_2d
from gpu_extras.batch import batch_for_shader

from ..preferences import ghost_colours, widths
from ..properties import OWN_WORDS, compared_chain, ghost_joints, kept_of
from .colours import Colour, read_colours
from .words import write

Place = tuple[float, float]

# In pixels at the usual interface scale: lines of text on plates, and from the tip to its name.
LINE = 21.0
ASIDE = 12.0
# Names this near to each other, in lines, would run into each other.
WIDE = 12.0
# Lines are a little see-through, as nobody stands there.
ALPHA = 0.85
# How much wider the chosen one is.
CHOSEN = 2.0


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
    """Return the poses to draw in a viewport; none while nothing is compared, or they are off."""
    kept = kept_of(context.window_manager)
    if not kept.solvers or not kept.show_ghosts or compared_chain(context.window_manager) is None:
        return []
    space = context.space_data
    if isinstance(space, bpy.types.SpaceView3D) and not space.overlay.show_overlays:
        return []
    colours = ghost_colours(context, len(kept.solvers))
    pairs = enumerate(zip(kept.solvers, colours, strict=True))
    return [
        Ghost(row.name, ghost_joints(row), (*colour, ALPHA), i == kept.active_index)
        for i, (row, colour) in pairs
        if row.is_solved
    ]


def side_by_side(places: Sequence[Place], line: float) -> list[Place]:
    """Return where names are drawn that would otherwise lie on each other: below the one before.

    Args:
        places: Where they were to begin, in pixels.
        line: Height of a line.
    """
    found: list[Place] = []
    for x, y in places:
        while near := [b for a, b in found if abs(x - a) < WIDE * line and abs(y - b) < line]:
            y = min(near) - line
        found.append((x, y))
    return found


def draw_poses() -> None:
    """Draw lines and dots in the scene."""
    found = ghosts(bpy.context)
    if not found:
        return
    width = widths(bpy.context).ghosts
    shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    shader.bind()
    shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
    # The chosen one lies on the others, which may be in the same place.
    found.sort(key=lambda each: each.is_chosen)
    for each in found:
        shader.uniform_float("lineWidth", CHOSEN * width if each.is_chosen else width)
        shader.uniform_float("color", each.colour)
        batch_for_shader(shader, "LINE_STRIP", {"pos": each.joints}).draw(shader)
    dots = gpu.shader.from_builtin("UNIFORM_COLOR")
    dots.bind()
    gpu.state.point_size_set(3.0 * width)
    for each in found:
        dots.uniform_float("color", each.colour)
        batch_for_shader(dots, "POINTS", {"pos": each.joints}).draw(dots)
    gpu.state.point_size_set(1.0)
    gpu.state.blend_set("NONE")


def draw_names() -> None:
    """Write the names of solvers on the screen."""
    context = bpy.context
    found = ghosts(context)
    region, view = context.region, context.region_data
    if not found or region is None or view is None:
        return
    scale = context.preferences.system.ui_scale
    tips = [location_3d_to_region_2d(region, view, each.joints[-1].tolist()) for each in found]
    seen = [(each, tip) for each, tip in zip(found, tips, strict=True) if tip is not None]
    begun = [(tip.x + ASIDE * scale, tip.y) for _, tip in seen]
    places = side_by_side(begun, LINE * scale)
    texts = [
        (pgettext_iface(each.name, OWN_WORDS), each.colour, x, y)
        for (each, _), (x, y) in zip(seen, places, strict=True)
    ]
    gpu.state.blend_set("ALPHA")
    write(texts, scale, read_colours(context).plate)
    gpu.state.blend_set("NONE")
