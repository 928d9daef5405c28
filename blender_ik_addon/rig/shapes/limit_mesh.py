"""The lines and triangles that draw the limits of joints, as indices of vertices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...core.algebra.arithmetic import Indices


class Stroke(enum.IntEnum):
    """What a line of a limit shows."""

    LIMIT = 0
    WHOLE_TURN = 1
    PRESENT = 2


class LimitMesh(NamedTuple):
    """Lines and triangles. Vertices are all points of outlines, then centres, then present places.

    Attributes:
        lines: Vertices at the ends of lines, in pairs, shape (2 l,).
        strokes: The ``Stroke`` of each of these, shape (2 l,).
        triangles: Vertices of the corners of areas, shape (3 t,).
    """

    lines: Indices
    strokes: Indices
    triangles: Indices


def make_mesh(
    stops: Sequence[int], is_closed: Sequence[bool], has_ends: Sequence[bool]
) -> LimitMesh:
    """Return the mesh of outlines, whose points follow one another.

    Args:
        stops: One past the last point of each outline.
        is_closed: Whether its last point is joined to its first one.
        has_ends: Whether it bounds an area; else it goes all around.
    """
    count, total, first = len(stops), stops[-1], 0
    lines: list[Indices] = []
    strokes: list[Stroke] = []
    triangles: list[Indices] = [np.zeros(0, dtype=np.int64)]
    for number, (stop, closed, bounds) in enumerate(zip(stops, is_closed, has_ends, strict=True)):
        centre, points = total + number, np.arange(first, stop)
        first = stop
        pieces = np.column_stack((points, np.roll(points, -1)))
        pieces = pieces if closed else pieces[:-1]
        sides = [centre, points[0], centre, points[-1]] if bounds and not closed else []
        lines += [pieces.ravel(), np.array([*sides, centre, centre + count], dtype=np.int64)]
        boundary = Stroke.LIMIT if bounds else Stroke.WHOLE_TURN
        strokes += [boundary] * (pieces.size + len(sides)) + [Stroke.PRESENT] * 2
        if bounds:
            triangles.append(np.column_stack((np.full(len(pieces), centre), pieces)).ravel())
    every = np.array(strokes, dtype=np.int64)
    return LimitMesh(np.concatenate(lines), every, np.concatenate(triangles))
