"""Dots and words: what keeps its size on the screen, wherever the view looks from."""

from __future__ import annotations

import math

import blf
import gpu
import numpy as np
import numpy.typing as npt

from .batches import AREAS, DOT, Drawn, make_batch
from .colours import Colour
from .strokes import Points, Word

Array = npt.NDArray[np.float64]

# Pixels at an interface scale of 1: how soft the edge of a dot is, and words.
SOFT, EDGE, TEXT, BESIDE = 1.0, 1.2, 12.0, 10.0
CORNERS = 14
FONT = 0


def find_pixels(points: npt.NDArray[np.floating], matrix: Array, size: tuple[int, int]) -> Array:
    """Return where points (p, 3) are seen, (p, 2), in pixels; NaN for those behind the eye.

    Args:
        points: World space.
        matrix: Of the view with its perspective, shape (4, 4).
        size: Of the region.
    """
    seen = points @ matrix[:3, :3].T + matrix[:3, 3]
    depth = points @ matrix[3, :3] + matrix[3, 3]
    depth = np.where(depth > 0.0, depth, np.nan)
    pixels: Array = (0.5 + 0.5 * seen[:, :2] / depth[:, None]) * size
    return pixels


def draw_dots(
    dots: tuple[Points, Points], matrix: Array, size: tuple[int, int], scale: float, back: Colour
) -> None:
    """Draw round dots with a soft edge, and a thin line of the background about each."""
    points, colours = dots
    centres = find_pixels(points, matrix, size)
    is_seen = ~np.isnan(centres[:, 0])
    centres, colours = centres[is_seen], colours[is_seen]
    if not len(centres):
        return
    backs = np.broadcast_to(np.array(back, dtype=np.float32), colours.shape)
    for radius, own in ((DOT + EDGE, backs), (DOT, colours)):
        batch = make_batch("TRIS", _round(centres, own, radius * scale, SOFT))
        if batch is not None:
            batch.draw(gpu.shader.from_builtin(AREAS))


def _round(centres: Array, colours: Points, radius: float, soft: float) -> tuple[Points, Points]:
    """Return triangles of discs of which the edge fades out over some pixels."""
    angles = np.linspace(0.0, math.tau, CORNERS + 1)
    ring = np.column_stack((np.cos(angles), np.sin(angles), np.zeros_like(angles)))
    inner, outer = ring * (radius - 0.5 * soft), ring * (radius + 0.5 * soft)
    a, b, c, d = inner[:-1], inner[1:], outer[:-1], outer[1:]
    corners = np.stack((np.zeros_like(a), a, b, a, c, d, a, d, b), axis=1).reshape(-1, 3)
    alphas = np.tile([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 1.0], CORNERS)
    flat = np.column_stack((centres, np.zeros(len(centres))))
    points = (flat[:, None] + corners).reshape(-1, 3).astype(np.float32)
    shaded = np.repeat(colours[:, None], len(corners), axis=1)
    shaded[..., 3] *= alphas
    return points, shaded.reshape(-1, 4).astype(np.float32)


def draw_words(
    words: tuple[Word, ...], matrix: Array, size: tuple[int, int], scale: float, back: Colour
) -> None:
    """Write words beside their places, inside of the region."""
    if not words:
        return
    places = find_pixels(np.array([word.place for word in words]), matrix, size)
    blf.size(FONT, TEXT * scale)
    blf.enable(FONT, blf.SHADOW)
    blf.shadow(FONT, 5, *back[:3], 0.9)
    blf.shadow_offset(FONT, 0, 0)
    for word, (x, y) in zip(words, places.tolist(), strict=True):
        if not (0.0 <= x <= size[0] and 0.0 <= y <= size[1]):
            continue
        width, height = blf.dimensions(FONT, word.text)
        left = min(x + BESIDE * scale, size[0] - width - BESIDE * scale)
        # Above the line that it tells of.
        low = min(y + BESIDE * scale, size[1] - height - BESIDE * scale)
        blf.position(FONT, left, low, 0.0)
        blf.color(FONT, *word.colour[:3], 1.0)
        blf.draw(FONT, word.text)
    blf.disable(FONT, blf.SHADOW)


def draw_pixels(
    drawn: Drawn, matrix: Array, size: tuple[int, int], scale: float, back: Colour
) -> None:
    """Draw dots and words in the pixels of the region."""
    if drawn.dots is not None:
        draw_dots(drawn.dots, matrix, size, scale, back)
    draw_words(drawn.words, matrix, size, scale, back)
