"""Texts beside points of the viewport."""

from __future__ import annotations

from collections.abc import Sequence

import blf
import gpu
import numpy as np

from ..core.algebra.arithmetic import Array
from ..rig.reading.spaces import find_pixels
from .batches import AREA_SHADER, make_batch
from .colours import Rgba
from .strokes import Pieces, Word

# Text size, distance from a text to its place, and margin of its plate, in pixels at an interface
# scale of 1.
TEXT_SIZE, TEXT_OFFSET, PLATE_MARGIN = 12.0, 6.0, 4.0
FONT = 0
# Height of a line of text, pixels at an interface scale of 1.
LINE_HEIGHT = 21.0
# Two texts on one line may overlap if their left ends are nearer than this, in line heights.
LABEL_WIDTH = 12.0
PlacedText = tuple[str, Rgba, float, float]
"""A text, its colour, left end and lower edge, pixels."""
# The two triangles of a rectangle: indices of x and y into left, low, right and top.
CORNERS = np.array(((0, 1), (2, 1), (2, 3), (0, 1), (2, 3), (0, 3)))


def draw_words(
    words: Sequence[Word],
    matrix: Array,
    size: tuple[int, int],
    scale: float,
    plate: Rgba,
    *,
    is_spread: bool,
) -> None:
    """Write words on plates beside their places, inside the region.

    Args:
        words: Texts.
        matrix: Perspective matrix of the view, shape (4, 4).
        size: Of the region, pixels.
        scale: Interface scale.
        plate: Colour of the plates; all colours of chains are legible on it.
        is_spread: Whether words that would overlap are written below each other.
    """
    places = find_pixels(np.array([word.place for word in words]), matrix, size)
    blf.size(FONT, TEXT_SIZE * scale)
    around = (TEXT_OFFSET + PLATE_MARGIN) * scale
    visible: list[PlacedText] = []
    for word, (x, y) in zip(words, places.tolist(), strict=True):
        if not (0.0 <= x <= size[0] and 0.0 <= y <= size[1]):
            continue
        width, height = blf.dimensions(FONT, word.text)
        # Above the place, or below it if the text would leave the region.
        left, low = min(x + around, size[0] - width - around), y + around
        if low + height + around > size[1]:
            low = y - around - height
        visible.append((word.text, word.colour, left, low))
    _write(spread(visible, LINE_HEIGHT * scale) if is_spread else visible, scale, plate)


def spread(texts: Sequence[PlacedText], line: float) -> list[PlacedText]:
    """Return texts that do not overlap: one that would moves below the texts before it.

    ``line`` is the height of a line in pixels.
    """
    placed: list[PlacedText] = []
    for text, colour, x, y in texts:
        while near := [
            b for *_, a, b in placed if abs(x - a) < LABEL_WIDTH * line and abs(y - b) < line
        ]:
            y = min(near) - line
        placed.append((text, colour, x, y))
    return placed


def _write(texts: Sequence[PlacedText], scale: float, plate: Rgba) -> None:
    """Write texts of the present size on plates."""
    if not texts:
        return
    margin = PLATE_MARGIN * scale
    plates = []
    for text, _, left, low in texts:
        width, height = blf.dimensions(FONT, text)
        plates.append((left - margin, low - margin, left + width + margin, low + height + margin))
    pieces, corners = Pieces(), np.zeros((len(plates), 6, 3))
    corners[..., :2] = np.array(plates)[:, CORNERS]
    pieces.add(corners, plate)
    batch = make_batch("TRIS", pieces.join())
    if batch is not None:
        gpu.state.blend_set("ALPHA")
        batch.draw(gpu.shader.from_builtin(AREA_SHADER))
    for text, colour, left, low in texts:
        blf.position(FONT, left, low, 0.0)
        blf.color(FONT, *colour[:3], 1.0)
        blf.draw(FONT, text)
