"""Words beside their places in the viewport."""

from __future__ import annotations

from collections.abc import Sequence

import blf
import gpu
import numpy as np
import numpy.typing as npt

from .batches import AREAS, make_batch
from .colours import Colour
from .strokes import Pieces, Word

Array = npt.NDArray[np.float64]

# Pixels at an interface scale of 1: the size of words, how far from their places they stand, and
# how far their plates go beyond them.
TEXT, BESIDE, PADDING = 12.0, 6.0, 4.0
FONT = 0
# Two triangles of a rectangle, from left, low, right and top.
CORNERS = np.array(((0, 1), (2, 1), (2, 3), (0, 1), (2, 3), (0, 3)))


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
    words: tuple[Word, ...], matrix: Array, size: tuple[int, int], scale: float, plate: Colour
) -> None:
    """Write words on plates beside their places, inside of the region.

    Args:
        words: Texts.
        matrix: Of the view with its perspective, shape (4, 4).
        size: Of the region, pixels.
        scale: Of the interface.
        plate: Colour behind words, against which all colours of chains can be read.
    """
    places = find_pixels(np.array([word.place for word in words]), matrix, size)
    blf.size(FONT, TEXT * scale)
    around = (BESIDE + PADDING) * scale
    seen: list[tuple[str, Colour, float, float]] = []
    for word, (x, y) in zip(words, places.tolist(), strict=True):
        if not (0.0 <= x <= size[0] and 0.0 <= y <= size[1]):
            continue
        width, height = blf.dimensions(FONT, word.text)
        # Above the line that it tells of, and never beyond the edges.
        left, low = min(x + around, size[0] - width - around), y + around
        if low + height + around > size[1]:
            low = y - around - height
        seen.append((word.text, word.colour, left, low))
    write(seen, scale, plate)


def write(texts: Sequence[tuple[str, Colour, float, float]], scale: float, plate: Colour) -> None:
    """Write texts, each with its colour, left end and foot in pixels, on plates.

    Args:
        texts: What to write, and where.
        scale: Of the interface.
        plate: Colour behind them.
    """
    blf.size(FONT, TEXT * scale)
    padding = PADDING * scale
    plates = []
    for text, _, left, low in texts:
        width, height = blf.dimensions(FONT, text)
        plates.append(
            (left - padding, low - padding, left + width + padding, low + height + padding)
        )
    _draw_plates(plates, plate)
    for text, colour, left, low in texts:
        blf.position(FONT, left, low, 0.0)
        blf.color(FONT, *colour[:3], 1.0)
        blf.draw(FONT, text)


def _draw_plates(plates: list[tuple[float, float, float, float]], colour: Colour) -> None:
    """Draw rectangles of pixels behind words, each told by left, low, right and top."""
    if not plates:
        return
    pieces, corners = Pieces(), np.zeros((len(plates), 6, 3))
    corners[..., :2] = np.array(plates)[:, CORNERS]
    pieces.add(corners, colour)
    batch = make_batch("TRIS", pieces.join())
    if batch is not None:
        gpu.state.blend_set("ALPHA")
        batch.draw(gpu.shader.from_builtin(AREAS))
