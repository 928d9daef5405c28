"""Draws of the overlay in the first viewport of the file, without a window."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy
import gpu
import numpy as np
import numpy.typing as npt
import pytest

from blender_ik_addon.overlay import viewport
from blender_ik_addon.overlay.colours import read_colours
from blender_ik_addon.overlay.gathering import find_view, gather
from blender_ik_addon.overlay.overlay_cache import cache
from blender_ik_addon.overlay.strokes import Strokes
from tests.blender.gizmos.grabbed import in_viewport as in_first_viewport

Pixels = npt.NDArray[np.float64]
SIZE = 400
REACHABLE = (0.6, 0.5, 1.2)
needs_gpu = pytest.mark.skipif(
    not hasattr(gpu, "init"), reason="before 5.2 the module starts no graphics card by itself"
)


@contextmanager
def in_viewport() -> Iterator[None]:
    """Override the context with the first viewport; the cache is empty before and after."""
    cache.clear()
    with in_first_viewport():
        yield
    cache.clear()


def strokes() -> Strokes:
    """Return the strokes to draw now; those of changed rigs are gathered again."""
    cache.settle()
    colours = read_colours(bpy.context)
    view = find_view(bpy.context, cache, colours)
    return Strokes() if view is None else gather(bpy.context, cache, *view)


def draw(
    in_scene: Callable[[], None] = viewport.draw_in_scene,
    on_screen: Callable[[], None] = viewport.draw_on_screen,
) -> tuple[Pixels, list[tuple[str, str]]]:
    """Return the pixels that two callbacks draw, (h, w, 4), and the state after each of them."""
    view = bpy.context.region_data
    view.view_perspective = "ORTHO"
    view.view_rotation, view.view_distance = (0.5, 0.5, 0.5, 0.5), 8.0
    view.view_location = (0.0, 0.0, 1.0)
    view.update()
    image = gpu.types.GPUOffScreen(SIZE, SIZE)
    with image.bind():
        buffer = gpu.state.active_framebuffer_get()
        buffer.clear(color=(0.0, 0.0, 0.0, 0.0))
        with gpu.matrix.push_pop(), gpu.matrix.push_pop_projection():
            gpu.matrix.load_matrix(view.view_matrix)
            gpu.matrix.load_projection_matrix(view.window_matrix)
            in_scene()
        states = [(gpu.state.blend_get(), gpu.state.depth_test_get())]
        on_screen()
        states.append((gpu.state.blend_get(), gpu.state.depth_test_get()))
        pixels = buffer.read_color(0, 0, SIZE, SIZE, 4, 0, "FLOAT")
    array = np.array(pixels.to_list()).reshape(SIZE, SIZE, 4)
    image.free()
    return array, states


def around_point(pixels: Pixels, point: npt.ArrayLike) -> Pixels:
    matrix = np.array(bpy.context.region_data.perspective_matrix)
    place = (matrix @ [*np.asarray(point), 1.0])[:2] * 0.5 + 0.5
    column, row = (place * SIZE).astype(int).tolist()
    return pixels[row - 2 : row + 3, column - 2 : column + 3]
