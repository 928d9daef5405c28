"""Words beside their places in the viewport."""

from __future__ import annotations

import blf
import numpy as np
import numpy.typing as npt

from .colours import Colour
from .strokes import Word

Array = npt.NDArray[np.float64]

# Pixels at an interface scale of 1: the size of words, and how far from their places they stand.
TEXT, BESIDE = 12.0, 10.0
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


def draw_words(
    words: tuple[Word, ...], matrix: Array, size: tuple[int, int], scale: float, back: Colour
) -> None:
    """Write words beside their places, inside of the region."""
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
