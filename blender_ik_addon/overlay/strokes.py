"""Lines, areas, dots, rims and words, collected as arrays for GPU batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import gpu
import numpy as np
import numpy.typing as npt

from ..core.algebra.arithmetic import Array
from .colours import Rgba

Points = npt.NDArray[np.float32]

# Number of dashes of a line to a target or to a pole.
DASHES = 12
_SHARES = np.linspace(0.0, 1.0, 2 * DASHES)
# Matrix from the two ends of a line to the ends of its dashes, shape (6, 6 DASHES).
_MIXES = np.vstack([np.kron(share, np.eye(3)) for share in (1.0 - _SHARES, _SHARES)])


class Rim(NamedTuple):
    """A sphere in world space, radius in scene units; the view shows its outline."""

    centre: tuple[float, float, float]
    radius: float
    colour: Rgba


class Word(NamedTuple):
    """A short text at a place in world space."""

    place: tuple[float, float, float]
    text: str
    colour: Rgba


@dataclass(eq=False)
class Pieces:
    """Points of one kind of stroke and their colours, in parts that ``join`` puts together.

    Attributes:
        points: Arrays of shape (p, 3), one for each part.
        colours: For each part one colour, or one for each point, shape (p, 4).
        batch: The GPU batch of all parts once they are uploaded; None without points.
    """

    points: list[Array] = field(default_factory=list)
    colours: list[Rgba | Array] = field(default_factory=list)
    batch: gpu.types.GPUBatch | None = None

    def add(self, points: Array, colour: Rgba | Array) -> None:
        """Add a part: points, and one colour or one for each point."""
        self.points.append(points.reshape(-1, 3))
        self.colours.append(colour)

    def join(self) -> tuple[Points, Points] | None:
        """Return all points (p, 3) and colours (p, 4) in float32; None without points."""
        if not self.points:
            return None
        points = np.concatenate(self.points, dtype=np.float32, casting="same_kind")
        colours = np.empty((len(points), 4), dtype=np.float32)
        start = 0
        for part, colour in zip(self.points, self.colours, strict=True):
            colours[start : start + len(part)] = colour
            start += len(part)
        return points, colours


@dataclass(eq=False)
class Strokes:
    """All strokes of one viewport.

    Attributes:
        thick: Ends of wide lines, in pairs.
        thin: Ends of narrow lines.
        areas: Corners of triangles.
        dots: Centres of dots.
        rims: Outlines of spheres.
        words: Texts.
    """

    thick: Pieces = field(default_factory=Pieces)
    thin: Pieces = field(default_factory=Pieces)
    areas: Pieces = field(default_factory=Pieces)
    dots: Pieces = field(default_factory=Pieces)
    rims: list[Rim] = field(default_factory=list)
    words: list[Word] = field(default_factory=list)


def dash(starts: Array, ends: Array) -> Array:
    """Return lines from starts to ends (m, 3) as dashes of two points, shape (m, 6 DASHES)."""
    return np.concatenate((starts, ends), axis=1) @ _MIXES
