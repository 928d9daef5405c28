"""GPU batches of strokes, one for each kind. They can only be made inside a draw callback."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Literal, cast

import gpu
import numpy as np
from mathutils import Matrix, Vector

from .colours import Colour
from .strokes import Pieces, Points, Rim, Strokes

# Widths of thin lines and outlines, as shares of the line width of chains.
THIN, OUTLINE = 0.45, 0.33
# Points of a circle: with half as many, one that fills the window has corners that are seen.
ROUND = 128
Kind = Literal["LINES", "LINE_STRIP", "POINTS", "TRIS"]
LINES, AREAS = "POLYLINE_SMOOTH_COLOR", "SMOOTH_COLOR"


def upload(strokes: Strokes) -> Strokes:
    """Return strokes ready to be drawn, again until something changes."""
    for pieces in (strokes.thick, strokes.thin):
        pieces.batch = make_batch("LINES", pieces.join())
    strokes.areas.batch = make_batch("TRIS", strokes.areas.join())
    strokes.dots.batch = make_batch("POINTS", strokes.dots.join())
    return strokes


def make_batch(kind: Kind, arrays: tuple[Points, Points] | None) -> gpu.types.GPUBatch | None:
    """Return a batch of coloured points, lines or triangles; None without any."""
    if arrays is None:
        return None
    points, colours = arrays
    buffer = gpu.types.GPUVertBuf(vertex_format(), len(points))
    for name, values in (("pos", points), ("color", colours)):
        # The stubs do not know that arrays are buffers.
        buffer.attr_fill(id=name, data=cast("Sequence[float]", values))
    return gpu.types.GPUBatch(type=kind, buf=buffer)


def draw_scene(drawn: Strokes, size: tuple[int, int], width: float) -> None:
    """Draw areas and lines in the space of the scene.

    Args:
        drawn: What to draw, uploaded.
        size: Width and height of the region, pixels.
        width: Line width of chains, pixels.
    """
    if drawn.areas.batch is not None:
        drawn.areas.batch.draw(gpu.shader.from_builtin(AREAS))
    for pieces, share in ((drawn.thin, THIN), (drawn.thick, 1.0)):
        if pieces.batch is not None:
            draw_lines(pieces.batch, size, share * width)


def draw_lines(batch: gpu.types.GPUBatch, size: tuple[int, int], width: float) -> None:
    """Draw lines of a width in pixels."""
    shader = gpu.shader.from_builtin(LINES)
    shader.bind()
    shader.uniform_float("viewportSize", size)
    shader.uniform_float("lineWidth", width)
    batch.draw(shader)


def find_rim(rim: Rim, eye: Vector | None, ahead: Vector) -> Matrix | None:
    """Return the matrix from the unit circle in XY to a sphere's outline; None from inside it.

    Args:
        rim: The sphere.
        eye: Where a perspective view looks from; None for an orthographic one.
        ahead: Unit vector toward the viewer, for an orthographic view.
    """
    centre, radius = Vector(rim.centre), rim.radius
    if eye is not None:
        to_eye = eye - centre
        distance = to_eye.length
        if distance <= radius:
            return None
        ahead = to_eye / distance
        # The circle in which lines from the eye touch the sphere.
        centre = centre + ahead * (radius * radius / distance)
        radius *= math.sqrt(1.0 - (radius / distance) ** 2)
    turned = ahead.to_track_quat("Z", "Y").to_matrix().to_4x4()
    return Matrix.Translation(centre.to_tuple()) @ turned @ Matrix.Scale(radius, 4)


@lru_cache(maxsize=16)
def make_circle(colour: Colour) -> gpu.types.GPUBatch:
    """Return the unit circle in XY; cached by colour, as there are few."""
    pieces, angles = Pieces(), np.linspace(0.0, math.tau, ROUND + 1)
    pieces.add(np.column_stack((np.cos(angles), np.sin(angles), np.zeros_like(angles))), colour)
    circle = make_batch("LINE_STRIP", pieces.join())
    assert circle is not None
    return circle


@cache
def vertex_format() -> gpu.types.GPUVertFormat:
    """Return the vertex format of coloured points."""
    found = gpu.types.GPUVertFormat()
    found.attr_add(id="pos", comp_type="F32", len=3, fetch_mode="FLOAT")
    found.attr_add(id="color", comp_type="F32", len=4, fetch_mode="FLOAT")
    return found
