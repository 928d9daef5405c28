"""The draw callbacks of 3D viewports."""

from __future__ import annotations

from typing import Any

import bpy
import gpu
import numpy as np
from mathutils import Vector

from ..preferences.colours import width_of
from .batches import (
    OUTLINE_SHARE,
    THIN_SHARE,
    draw_lines,
    draw_scene,
    find_rim,
    make_circle,
    upload,
    vertex_format,
)
from .colours import Colours, read_colours
from .dots import draw_dots, make_shader
from .gathering import find_view, gather
from .ghosts import gather_ghosts
from .overlay_cache import cache, is_on
from .strokes import Strokes
from .viewport_labels import draw_words

# Maximum number of cached views. It exceeds the number of viewports, because each colour that a
# user tries makes a new view.
MAX_VIEWS = 32
# Diameter of a ghost's dot, in line widths.
GHOST_DOT = 3.0
# Blender's handles of the callbacks, needed to remove them.
_handles: list[Any] = []


def find_drawn(context: bpy.types.Context) -> tuple[Strokes, Colours] | None:
    """Return the strokes and colours of a context's viewport, cached while nothing changes."""
    scene = context.scene
    if scene is None or context.preferences is None or not is_on(scene):
        return None
    if not context.space_data.overlay.show_overlays:
        return None
    cache.settle()
    colours = read_colours(context)
    content = find_view(context, cache, colours)
    if content is None:
        return None
    view, rigs = content
    drawn = cache.drawn.get(view)
    if drawn is None:
        if len(cache.drawn) == MAX_VIEWS:
            cache.drawn.clear()
        drawn = cache.drawn[view] = upload(gather(context, cache, view, rigs))
    return drawn, colours


def _size(context: bpy.types.Context) -> tuple[int, int]:
    return context.region.width, context.region.height


def draw_in_scene() -> None:
    """Draw the lines, areas and rims of chains."""
    context = bpy.context
    content = find_drawn(context)
    if content is None:
        cache.last_drawn = None
        return
    drawn, colours = content
    size, view = _size(context), context.region_data
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("NONE")
    line_width, joint_size = width_of(context, "line_width"), width_of(context, "joint_size")
    # ``draw_on_screen`` uses the same strokes.
    cache.last_drawn = drawn, colours, joint_size
    draw_scene(drawn, size, line_width)
    view_to_world = view.view_matrix.inverted_safe()
    eye = view_to_world.translation if view.is_perspective else None
    to_viewer = view_to_world.to_3x3() @ Vector((0.0, 0.0, 1.0))
    for rim in drawn.rims:
        matrix = find_rim(rim, eye, to_viewer)
        if matrix is not None:
            with gpu.matrix.push_pop():
                gpu.matrix.multiply_matrix(matrix)
                draw_lines(make_circle(rim.colour), size, OUTLINE_SHARE * line_width)
    gpu.state.blend_set("NONE")


def draw_on_screen() -> None:
    """Draw the dots and words of chains."""
    context, content = bpy.context, cache.last_drawn
    if content is None:
        return
    cache.last_drawn = None
    _draw_dots_and_words(context, *content, is_spread=False)


def draw_ghosts_in_scene() -> None:
    """Draw the lines of ghosts."""
    context, strokes = bpy.context, gather_ghosts(bpy.context)
    if strokes is not None:
        gpu.state.blend_set("ALPHA")
        gpu.state.depth_test_set("NONE")
        # The width is that of thin lines; the chosen ghost is wider.
        width = width_of(context, "ghost_width") / THIN_SHARE
        draw_scene(upload(strokes), _size(context), width)
        gpu.state.blend_set("NONE")


def draw_ghosts_on_screen() -> None:
    """Draw the dots of ghosts, and the names of their solvers."""
    context, strokes = bpy.context, gather_ghosts(bpy.context)
    if strokes is not None:
        colours, width = read_colours(context), width_of(context, "ghost_width")
        _draw_dots_and_words(context, upload(strokes), colours, GHOST_DOT * width, is_spread=True)


def _draw_dots_and_words(
    context: bpy.types.Context, drawn: Strokes, colours: Colours, size: float, *, is_spread: bool
) -> None:
    """Draw dots, of a size in pixels, and words of uploaded strokes; see ``draw_words``."""
    matrix = context.region_data.perspective_matrix
    # The scale is zero in background mode.
    scale = context.preferences.system.ui_scale or 1.0
    gpu.state.blend_set("ALPHA")
    if drawn.dots.batch is not None:
        draw_dots(drawn.dots.batch, matrix, size, scale, colours.back)
    if drawn.words:
        view = np.array(matrix), _size(context), scale
        draw_words(drawn.words, *view, colours.plate, is_spread=is_spread)
    gpu.state.blend_set("NONE")


def register() -> None:
    """Add the draw callbacks."""
    add = bpy.types.SpaceView3D.draw_handler_add
    for draw in (draw_in_scene, draw_ghosts_in_scene):
        _handles.append(add(draw, (), "WINDOW", "POST_VIEW"))
    for draw in (draw_on_screen, draw_ghosts_on_screen):
        _handles.append(add(draw, (), "WINDOW", "POST_PIXEL"))


def unregister() -> None:
    """Remove the draw callbacks, and clear the caches of GPU data."""
    while _handles:
        bpy.types.SpaceView3D.draw_handler_remove(_handles.pop(), "WINDOW")
    make_shader.cache_clear()
    make_circle.cache_clear()
    vertex_format.cache_clear()
