"""The GPU batches of strokes, one for each kind; only a draw callback can make them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, cast

import gpu
import numpy as np
from mathutils import Matrix, Vector

from .colours import Rgba
from .strokes import Pieces, Points, Rim, Strokes

# Widths of thin lines and outlines, as shares of the line width of chains.
THIN_SHARE, OUTLINE_SHARE = 0.45, 0.33
# Points of a circle. With half as many, a circle that fills the window shows corners.
CIRCLE_POINTS = 128
BatchKind = Literal["LINES", "LINE_STRIP", "POINTS", "TRIS"]
LINE_SHADER, AREA_SHADER = "POLYLINE_SMOOTH_COLOR", "SMOOTH_COLOR"


def upload(strokes: Strokes) -> Strokes:
    """Make the GPU batches of strokes, and return these; they can be drawn any number of times."""
    for pieces in (strokes.thick, strokes.thin):
        pieces.batch = make_batch("LINES", pieces.join())
    strokes.areas.batch = make_batch("TRIS", strokes.areas.join())
    strokes.dots.batch = make_batch("POINTS", strokes.dots.join())
    return strokes


def make_batch(kind: BatchKind, arrays: tuple[Points, Points] | None) -> gpu.types.GPUBatch | None:
    """Return a batch of coloured points, lines or triangles; None without points."""
    if arrays is None:
        return None
    points, colours = arrays
    buffer = gpu.types.GPUVertBuf(vertex_format(), len(points))
    for name, values in (("pos", points), ("color", colours)):
        # The stubs do not know that arrays are buffers.
        buffer.attr_fill(id=name, data=cast("Sequence[float]", values))
    return gpu.types.GPUBatch(type=kind, buf=buffer)


def draw_scene(strokes: Strokes, size: tuple[int, int], width: float) -> None:
    """Draw areas and lines in world space.

    The strokes are uploaded. The size of the region and the width of lines are in pixels.
    """
    if strokes.areas.batch is not None:
        strokes.areas.batch.draw(gpu.shader.from_builtin(AREA_SHADER))
    for pieces, share in ((strokes.thin, THIN_SHARE), (strokes.thick, 1.0)):
        if pieces.batch is not None:
            draw_lines(pieces.batch, size, share * width)


def draw_lines(batch: gpu.types.GPUBatch, size: tuple[int, int], width: float) -> None:
    """Draw lines of a width in pixels."""
    shader = gpu.shader.from_builtin(LINE_SHADER)
    shader.bind()
    shader.uniform_float("viewportSize", size)
    shader.uniform_float("lineWidth", width)
    batch.draw(shader)


def find_rim(rim: Rim, eye: Vector | None, to_viewer: Vector) -> Matrix | None:
    """Return the matrix from the unit circle in XY to a sphere's outline; None from inside it.

    ``eye`` is that of a perspective view, world space; None for an orthographic one, which needs
    the unit vector ``to_viewer``.
    """
    centre, radius = Vector(rim.centre), rim.radius
    if eye is not None:
        to_eye = eye - centre
        distance = to_eye.length
        if distance <= radius:
            return None
        to_viewer = to_eye / distance
        # Lines from the eye touch the sphere in this circle.
        centre = centre + to_viewer * (radius * radius / distance)
        radius *= math.sqrt(1.0 - (radius / distance) ** 2)
    rotation = to_viewer.to_track_quat("Z", "Y").to_matrix().to_4x4()
    return Matrix.Translation(centre.to_tuple()) @ rotation @ Matrix.Scale(radius, 4)


@lru_cache(maxsize=16)
def make_circle(colour: Rgba) -> gpu.types.GPUBatch:
    """Return the unit circle in XY; cached by colour, because few colours occur."""
    pieces, angles = Pieces(), np.linspace(0.0, math.tau, CIRCLE_POINTS + 1)
    pieces.add(np.column_stack((np.cos(angles), np.sin(angles), np.zeros_like(angles))), colour)
    circle = make_batch("LINE_STRIP", pieces.join())
    assert circle is not None
    return circle


@cache
def vertex_format() -> gpu.types.GPUVertFormat:
    """Return the vertex format of coloured points."""
    layout = gpu.types.GPUVertFormat()
    layout.attr_add(id="pos", comp_type="F32", len=3, fetch_mode="FLOAT")
    layout.attr_add(id="color", comp_type="F32", len=4, fetch_mode="FLOAT")
    return layout
