"""Words beside their places in the viewport."""

from __future__ import annotations

from collections.abc import Sequence

import blf
import gpu
import numpy as np
import numpy.typing as npt

from ..core.algebra.arithmetic import Array
from .batches import AREAS, make_batch
from .colours import Colour
from .strokes import Pieces, Word

# Pixels at an interface scale of 1: size of the text, distance from its place, margin of its plate.
TEXT, BESIDE, PADDING = 12.0, 6.0, 4.0
FONT = 0
# The two triangles of a rectangle, as indices into its left, low, right and top.
CORNERS = np.array(((0, 1), (2, 1), (2, 3), (0, 1), (2, 3), (0, 3)))


def find_pixels(points: npt.NDArray[np.floating], matrix: Array, size: tuple[int, int]) -> Array:
    """Return where points (p, 3) are seen, in pixels, shape (p, 2); NaN for those behind the eye.

    Args:
        points: World space.
        matrix: Perspective matrix of the view, shape (4, 4).
        size: Of the region, pixels.
    """
    seen = points @ matrix[:3, :3].T + matrix[:3, 3]
    depth = points @ matrix[3, :3] + matrix[3, 3]
    depth = np.where(depth > 0.0, depth, np.nan)
    return (0.5 + 0.5 * seen[:, :2] / depth[:, None]) * size


def draw_words(
    words: Sequence[Word], matrix: Array, size: tuple[int, int], scale: float, plate: Colour
) -> None:
    """Write words on plates beside their places, moved so that they stay inside the region.

    Args:
        words: Texts.
        matrix: Perspective matrix of the view, shape (4, 4).
        size: Of the region, pixels.
        scale: Interface scale.
        plate: Colour of plates; all colours of chains can be read on it.
    """
    places = find_pixels(np.array([word.place for word in words]), matrix, size)
    blf.size(FONT, TEXT * scale)
    around = (BESIDE + PADDING) * scale
    seen: list[tuple[str, Colour, float, float]] = []
    for word, (x, y) in zip(words, places.tolist(), strict=True):
        if not (0.0 <= x <= size[0] and 0.0 <= y <= size[1]):
            continue
        width, height = blf.dimensions(FONT, word.text)
        # Above its line, or below where it would leave the region.
        left, low = min(x + around, size[0] - width - around), y + around
        if low + height + around > size[1]:
            low = y - around - height
        seen.append((word.text, word.colour, left, low))
    write(seen, scale, plate)


def write(texts: Sequence[tuple[str, Colour, float, float]], scale: float, plate: Colour) -> None:
    """Write texts on plates.

    Args:
        texts: Each with its colour, left end and lower edge, pixels.
        scale: Interface scale.
        plate: Colour of plates.
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
    """Draw rectangles behind words, each given by left, low, right and top in pixels."""
    if not plates:
        return
    pieces, corners = Pieces(), np.zeros((len(plates), 6, 3))
    corners[..., :2] = np.array(plates)[:, CORNERS]
    pieces.add(corners, colour)
    batch = make_batch("TRIS", pieces.join())
    if batch is not None:
        gpu.state.blend_set("ALPHA")
        batch.draw(gpu.shader.from_builtin(AREAS))
